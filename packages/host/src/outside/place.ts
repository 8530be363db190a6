import { readlinkSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import type { OutsideConfig } from '@cordon/config'
import {
  below,
  type Capability,
  CordonError,
  type FsRule,
  lookAt,
  MOST_HOPS,
  type RelPath,
  shellWord,
  show,
} from '@cordon/policy'
import { isInSystem, type OutsideRule, whyNotOutside } from '@cordon/sandbox'
import { trailOf } from '@cordon/workspace'
import { WRITING } from '../compile/names.ts'
import { WHY_SECRET } from '../compile/own-secrets.ts'
import { isMadeMeanwhile } from '../confine/unfinished.ts'
import type { GuardSurvey } from '../guard/survey.ts'

/** A place that somebody asked for, in a flag or a profile (SPEC 4.8). */
export interface AskedPlace {
  /** As it was written; `~` is the home, and a relative one is meant from where the person stands. */
  readonly text: string
  readonly grants: ReadonlySet<Capability>
  /** `--read ~/shared`, or the line of a profile. */
  readonly origin: string
}

/** Where places are meant from, and what is never given away. */
export interface OutsideWorld {
  readonly cwd: string
  readonly home: string
  readonly guard: GuardSurvey
  /** Where runs that have not ended are written down. */
  readonly unfinished: string
}

/** How the rule for a place of a profile says where it is from. */
export const placeOrigin = ({ path, origin }: Pick<OutsideConfig, 'path' | 'origin'>): string =>
  `${origin} ${path}`

export class PlaceError extends CordonError {
  readonly code = 'FLAG'
  constructor(origin: string, why: string) {
    super(`${show(origin)}: ${why}`)
  }
}

/** `~` as a shell would read it: in `--read=~/x` and in a file no shell does. */
export const absolutePath = (text: string, { cwd, home }: Pick<OutsideWorld, 'cwd' | 'home'>): string =>
  text === '~' || text.startsWith('~/') ? join(home, text.slice(1)) : resolve(cwd, text)

/** As a person in this home would type it. */
export function typedPath(path: string, home: string): string {
  const inHome = below(home, path)
  if (inHome === undefined) return shellWord(path)
  return inHome === '.' ? '~' : `~/${shellWord(inHome)}`
}

/** A path in a message: with `~` for the home, as people write it. */
export function shownInHome(path: string, home: string): string {
  const inside = below(home, path)
  return show(inside === undefined || inside === '.' ? path : `~/${inside}`)
}

/** As `typedPath`, of a path in the workspace, by its name from where the person stands. Not quoted yet: it may be a part of a word. */
export function fromHere(path: string, cwd: string): string {
  const name = relative(cwd, path) || '.'
  return name.startsWith('-') ? `./${name}` : name
}

/**
 * The rule for a place that exists, at its canonical path: a link that is put there later leads nowhere. Undefined where
 * nothing has to be granted, because every program is shown it. Throws for what is never granted.
 */
export function outsideRule(asked: AskedPlace, world: OutsideWorld): OutsideRule | undefined {
  const { grants, origin } = asked
  const named = absolutePath(asked.text, world)
  const path = realPlace(named, origin, world)
  const writes = [...grants].some((each) => WRITING.has(each))
  const refuse = (why: string): never => {
    throw new PlaceError(origin, why)
  }
  if (path.includes('\ufffd')) refuse('its name is not valid UTF-8')
  const never = whyNeverGranted(path, { writes, guard: world.guard })
  if (never !== undefined) refuse(never)
  const stats = statSync(path)
  if (!stats.isDirectory() && !stats.isFile()) refuse('it is neither a file nor a directory')
  if (!writes && isInSystem(path)) {
    if (!isForAll(path)) refuse(WITHHELD)
    return undefined
  }
  return {
    outside: true,
    path: relativeToRoot(path),
    ...(named === path ? {} : { written: relativeToRoot(named) }),
    grants,
    external: false,
    origin,
  }
}

/**
 * Where a name leads. Issue 11: a link on the way that a command makes which may not is followed by nobody, also while that
 * command still runs. What such a command leaves is moved aside before its record goes, so the second look would miss it.
 */
export function realPlace(
  named: string,
  origin: string,
  { unfinished }: Pick<OutsideWorld, 'unfinished'>,
): string {
  const path = realpathSync.native(named)
  if (path === named) return path
  refuseMadeMeanwhile(named, origin, { unfinished })
  if (realpathSync.native(named) !== path) throw new PlaceError(origin, 'it leads elsewhere by now')
  return path
}

export function refuseMadeMeanwhile(
  named: string,
  origin: string,
  { unfinished }: Pick<OutsideWorld, 'unfinished'>,
): void {
  const made = trailOf('/', named).find(
    (step) => step.is === 'link' && isMadeMeanwhile(unfinished, step.path),
  )
  if (made)
    throw new PlaceError(
      origin,
      `${show(made.path)} is a link that was made while another command runs, which may not make it\n  fix: end that command; what it made there is then moved aside`,
    )
}

/** Of a path as it really is. */
export const isOwnSecret = (path: string, { guard }: Pick<OutsideWorld, 'guard'>): boolean =>
  guard.secret().some((place) => below(place, path) !== undefined)

/** Of the system, what every confined program does without (SPEC 4.3). */
export const WITHHELD = 'it is withheld from every confined program: not every user may read it'

interface Wanted {
  readonly writes: boolean
  readonly guard: GuardSurvey
}

/** Why no flag and no profile grants a place outside the workspace, and so none is suggested. Of a canonical path. */
export const whyNeverGranted = (path: string, wanted: Wanted): string | undefined =>
  whyNotOutside(path, { writes: wanted.writes, home: wanted.guard.home }) ?? whyOwn(path, wanted)

/** The same of what is Cordon's own, wherever the workspace lies. */
export function whyOwn(path: string, { writes, guard }: Wanted): string | undefined {
  if (isOwnSecret(path, { guard })) return WHY_SECRET
  return writes && guard.own().some((place) => below(place, path) !== undefined)
    ? 'Cordon keeps its own files there, and no command may write them'
    : undefined
}

/** For what a flag is not enough for: the command that names the place in a profile of the person's own. */
export const profileCommand = ({ path, grants }: Pick<FsRule, 'path' | 'grants'>, home: string): string =>
  `cordon config set --user profiles.mine.outside '+{ path = ${JSON.stringify(typedPath(`/${path}`, home))}, ${grants.has('create') ? 'read = true, write = true' : 'read = true'} }'`

/** SPEC 4.8: said when what is granted is not what was typed. */
export const ledElsewhere = ({ path, written, origin }: OutsideRule): string | undefined =>
  written === undefined
    ? undefined
    : `${show(origin ?? `/${written}`)} leads to ${show(`/${path}`)}, and that is granted`

/**
 * How a path of the workspace goes on outside of it: where its first link out leads to, and the rest as it was named. A flag for
 * that shows the links on the rest of the way, too. Undefined: it does not leave the workspace, or nobody knows where to.
 */
export function wayOut(path: string, root: string, hops = 0): string | undefined {
  const names = below(root, path)?.split('/') ?? []
  for (const i of names.keys()) {
    const link = join(root, ...names.slice(0, i + 1))
    if (lookAt(link)?.isSymbolicLink() !== true) continue
    if (hops === MOST_HOPS) return undefined
    const led = resolve(dirname(link), readlinkSync(link), ...names.slice(i + 1))
    return below(root, led) === undefined ? led : wayOut(led, root, hops + 1)
  }
  return undefined
}

export const relativeToRoot = (path: string): RelPath => below('/', path) ?? ('.' as RelPath)

export const isThere = (path: string): boolean => lookAt(path) !== undefined

const READ_BY_ALL = 0o004
const ENTER_BY_ALL = 0o001

/** The file itself, and that every directory above may be entered: what the baseline shows of the system (SPEC 4.3). */
export const isForAll = (path: string): boolean => isOpen(path, READ_BY_ALL) && isEntered(dirname(path))

const isEntered = (dir: string): boolean =>
  dir === '/' || (isOpen(dir, ENTER_BY_ALL) && isEntered(dirname(dir)))

/** What is not there is withheld from nobody; what we may not even look at is. */
function isOpen(path: string, mode: number): boolean {
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats === undefined || (stats.mode & mode) !== 0
  } catch {
    return false
  }
}
