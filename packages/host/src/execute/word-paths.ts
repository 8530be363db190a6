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

/** Another place than any that was shown. */
const UNKNOWN = 'nobody can say where'

/**
 * Decision 0408: where the words of a call lead, of a tool that opens files by itself. Any of them may be a path; one without a
 * link in the way leads to what is written. Of what is too much to look at nothing is known: it is asked about as a secret is.
 */
export function wordPaths(args: unknown, { root, home, places }: WordPlaces): readonly ShownPath[] {
  const words = wordsIn(args)
  if (words === 'too many') return []
  const looks = new Looks()
  const tops = [{ path: root.path as string, shown: ROOT as string }, ...places]
  return words.map((word) => {
    const leads = readingsOf(word, root.path, home).flatMap((given) => {
      const real = realName(given, looks)
      if (real === undefined) return [UNKNOWN]
      return real === join(given) ? [] : [nameOf(real)]
    })
    return { path: word, place: leads.length === 0 ? word : [...new Set(leads)].join(', ') }
  })

  function nameOf(path: string): string {
    const names = tops.flatMap((top) => {
      const inside = below(top.path, path)
      return inside === undefined ? [] : [posix.join(top.shown, inside)]
    })
    return names[0] ?? path
  }
}
