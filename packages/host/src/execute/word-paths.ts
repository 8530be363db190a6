import { lstatSync } from 'node:fs'
import { join, posix } from 'node:path'
import { below, type Root, ROOT } from '@cordon/policy'
import type { ShownPath } from '@cordon/tools'
import { Looks, realName } from '../real-name.ts'
import { readingsOf } from './readings.ts'
import { wordsIn } from './words.ts'

export interface WordPlaces {
  readonly root: Root
  readonly home: string
  /** Where mounts lead, and what they are called in the workspace. */
  readonly places: readonly { readonly path: string; readonly shown: string }[]
}

/** A word of a call, and what of the workspace it is about, for the person who is asked (decision 0448). */
export interface WordPath extends ShownPath {
  /** Where it leads that is not what is written: by a link, or by another spelling. */
  readonly leads: readonly string[]
  /** What it names as it is written. */
  readonly names: readonly string[]
}

export const isWord = (each: ShownPath | WordPath): each is WordPath => 'leads' in each

/** Another place than any that was shown. */
const UNKNOWN = 'nobody can say where'

/**
 * Decision 0408: where the words of a call lead, of a tool that opens files by itself. Any of them may be a path; one without a
 * link in the way leads to what is written. Of what is too much to look at nothing is known: it is asked about as a secret is.
 */
export function wordPaths(args: unknown, { root, home, places }: WordPlaces): readonly WordPath[] {
  const words = wordsIn(args)
  if (words === 'too many') return []
  const looks = new Looks()
  const namingLooks = new Looks() // what is said of a word takes nothing from what it is held to
  const tops = [{ path: root.path as string, shown: ROOT as string }, ...places]
  return words.map((word) => {
    const links = new Set<string>()
    const leads = new Set<string>()
    const names = new Set<string>()
    for (const given of readingsOf(word, root.path, home)) {
      const real = realName(given, looks)
      const name = real === undefined ? UNKNOWN : nameOf(real)
      const isLink = real !== join(given)
      if (isLink) links.add(name)
      const isOutside = word.startsWith('/') && name.startsWith('/') // nobody wants to read where `/bin/sh` leads
      const isAbout = real === undefined || (isLink ? !isOutside : isNamed(word, real))
      if (isAbout) (isWrittenAs(word, [name, real]) ? names : leads).add(name)
    }
    const place = links.size === 0 ? word : [...links].join(', ')
    return { path: word, place, leads: [...leads], names: [...names] }
  })

  /**
   * A word of a sentence may be that of a directory. One with a slash is taken for a path if its first step is there, or if it
   * climbs: then it is another file than it begins with, also where that would be made (decision 0456).
   */
  function isNamed(word: string, real: string): boolean {
    return tops.some((top) => {
      const inside = below(top.path, real)
      if (inside === undefined) return false
      if (!/[/\\%]/.test(word)) return standsAt(real, namingLooks) === 'file'
      return (
        climbs(word) ||
        isPadded(word) ||
        standsAt(join(top.path, inside.split('/', 1)[0]!), namingLooks) !== 'nothing'
      )
    })
  }

  function nameOf(path: string): string {
    const names = tops.flatMap((top) => {
      const inside = below(top.path, path)
      return inside === undefined ? [] : [posix.join(top.shown, inside)]
    })
    return names[0] ?? path
  }
}

const isWrittenAs = (word: string, names: readonly (string | undefined)[]): boolean =>
  names.some((name) => name !== undefined && [name, `./${name}`, `${name}/`].includes(word))

const climbs = (word: string): boolean => /[/\\]\.\.(?:[/\\]|$)/.test(word)

/** Longer than any one name can be, with steps that lead nowhere. */
const isPadded = (word: string): boolean => word.length > 255 && /(?:^|[/\\])\.{0,2}[/\\]/.test(word)

/** What is too much to look at may be one. */
function standsAt(path: string, looks: Looks): 'file' | 'directory' | 'nothing' {
  if (!looks.take(path)) return 'file'
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    return !stats ? 'nothing' : stats.isDirectory() ? 'directory' : 'file'
  } catch {
    return 'nothing' // no name of a file, or one that nobody here may look at
  }
}
