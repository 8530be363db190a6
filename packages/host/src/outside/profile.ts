import { lstatSync, mkdirSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { OutsideConfig } from '@cordon/config'
import { type Capability, FsIndex, type RelPath } from '@cordon/policy'
import { nameOf, type OutsideRule } from '@cordon/sandbox'
import { trailOf } from '@cordon/workspace'
import { type LedPlace, refuseLedElsewhere } from './led.ts'
import {
  absolutePath,
  isThere,
  outsideRule,
  type OutsideWorld,
  PlaceError,
  placeOrigin,
  realPlace,
  relativeToRoot,
} from './place.ts'

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

/**
 * What a profile has outside the workspace. What is not there yet is not granted, or made where its program needs it; but a
 * place that has less than what lies around it has less also while it is missing, and so have the links that lead to it
 * (decision 0450). `led` is where links led when a person was asked about them.
 */
export function profilePlaces(
  places: readonly OutsideConfig[],
  led: readonly LedPlace[],
  world: OutsideWorld,
  missing: MissingPlaces,
): ProfilePlaces {
  const replaced = places.filter(({ replace }) => replace).map((place) => replacedFile(place, led, world))
  const named = places.filter(({ replace }) => !replace).map((place) => lookFor(place, led, world, missing))
  const granted = named.flatMap(({ rule }) => rule ?? [])
  const index = new FsIndex(granted)
  const narrowing = named.flatMap(({ grants, origin, ways, written }) =>
    ways
      .map((path): OutsideRule => ({
        outside: true,
        path: relativeToRoot(path),
        written, // so that the links on the way stay as they are (decision 0520)
        grants,
        external: false,
        origin,
      }))
      .filter((rule) => withholds(rule, index.governing(rule.path)?.grants)),
  )
  return { rules: [...granted, ...narrowing], replaced }
}

/** What becomes of a place that its program needs and that is not there: who only asks is answered as if it were made. */
export type MissingPlaces = 'make' | 'as if made' | 'leave'

interface NamedPlace {
  readonly grants: ReadonlySet<Capability>
  readonly origin: string
  /** What is granted there. */
  readonly rule: OutsideRule | undefined
  /** The other paths that the name stands for: links on the way, and the place itself where nothing is granted. */
  readonly ways: readonly string[]
  readonly written: RelPath
}

function lookFor(
  place: OutsideConfig,
  led: readonly LedPlace[],
  world: OutsideWorld,
  missing: MissingPlaces,
): NamedPlace {
  const { path: text, grants } = place
  const path = absolutePath(text, world)
  const origin = placeOrigin(place)
  const written = relativeToRoot(path)
  if (text.endsWith('/') && grants.size > 0 && !isThere(path)) {
    if (missing === 'as if made')
      return { grants, origin, rule: asIfMade(path, grants, origin), ways: [], written }
    if (missing === 'make') mkdirSync(path, { recursive: true, mode: 0o700 })
  }
  const steps = trailOf('/', path)
  const isGranted = grants.size > 0 && steps.at(-1)?.is !== 'missing'
  const rule = isGranted ? outsideRule({ text, grants, origin }, world) : undefined
  if (rule) refuseLedElsewhere({ origin, named: path, path: nameOf(rule) }, led)
  return {
    grants,
    origin,
    rule,
    ways: (isGranted ? steps.slice(0, -1) : steps).map((step) => step.path),
    written,
  }
}

const asIfMade = (path: string, grants: ReadonlySet<Capability>, origin: string): OutsideRule => ({
  outside: true,
  path: relativeToRoot(resolve(path)),
  grants,
  external: false,
  origin,
})

/** Whether a rule lacks something that is granted around it. */
const withholds = ({ grants }: OutsideRule, around: ReadonlySet<Capability> | undefined): boolean =>
  around !== undefined && [...around].some((each) => !grants.has(each))

function replacedFile(
  { path: text, origin, grants }: OutsideConfig,
  led: readonly LedPlace[],
  world: OutsideWorld,
): ReplacedFile {
  const named = absolutePath(text, world)
  const place = `${origin} ${text}`
  const dir = realPlace(dirname(named), place, world)
  // A dotfile that is a link into a repository of dotfiles: that one is replaced, and the link stays.
  const path = lstatSync(named, { throwIfNoEntry: false })?.isSymbolicLink()
    ? realPlace(named, place, world)
    : join(dir, basename(named))
  refuseLedElsewhere({ origin: place, named, path }, led)
  if (isThere(path)) {
    if (!lstatSync(path).isFile()) throw new PlaceError(place, 'only a file can be written back')
    outsideRule({ text: path, grants, origin: place }, world) // it throws for what is never granted
  }
  return { path, origin }
}
