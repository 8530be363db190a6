import { lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { OutsideConfig } from '@cordon/config'
import { type OutsideRule } from '@cordon/sandbox'
import { WRITING } from '../compile/names.ts'
import { absolutePath, isThere, outsideRule, type OutsideWorld, PlaceError } from './place.ts'

/** SPEC 4.8, `replace = true`: a file that its program replaces by a rename. It is copied in, and written back. */
export interface ReplacedFile {
  /** On the host, in a directory without links on the way. The file itself may be missing, and is no link. */
  readonly path: string
  readonly origin: string
}

export interface ProfilePlaces {
  readonly rules: readonly OutsideRule[]
  readonly replaced: readonly ReplacedFile[]
}

/** What a profile has outside the workspace. What is not there yet is left out, or made where its program needs it. */
export function profilePlaces(places: readonly OutsideConfig[], world: OutsideWorld): ProfilePlaces {
  const replaced = places.filter(({ replace }) => replace).map((place) => replacedFile(place, world))
  const rules = places
    .filter(({ replace, grants }) => !replace && grants.size > 0)
    .flatMap(({ path: text, grants, origin }): OutsideRule[] => {
      const path = absolutePath(text, world)
      const writes = [...grants].some((each) => WRITING.has(each))
      if (text.endsWith('/') && writes && !isThere(path)) mkdirSync(path, { recursive: true, mode: 0o700 })
      if (!isThere(path)) return []
      const rule = outsideRule({ text, grants, origin: `${origin} ${text}` }, world)
      return rule ? [rule] : []
    })
  return { rules, replaced }
}

function replacedFile({ path: text, origin, grants }: OutsideConfig, world: OutsideWorld): ReplacedFile {
  const named = absolutePath(text, world)
  const dir = realpathSync.native(dirname(named))
  // A dotfile that is a link into a repository of dotfiles: that one is replaced, and the link stays.
  const path = lstatSync(named, { throwIfNoEntry: false })?.isSymbolicLink()
    ? realpathSync.native(named)
    : join(dir, basename(named))
  if (isThere(path)) {
    if (!lstatSync(path).isFile())
      throw new PlaceError(`${origin} ${text}`, 'only a file can be written back')
    outsideRule({ text: path, grants, origin: `${origin} ${text}` }, world) // it throws for what is never granted
  }
  return { path, origin }
}
