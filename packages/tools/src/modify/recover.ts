import { setTimeout as sleep } from 'node:timers/promises'
import { FileError } from '@cordon/files'
import {
  type Context,
  CordonError,
  type Location,
  type RelPath,
  ROOT,
  showWhole,
  splitEntry,
} from '@cordon/policy'
import { Access } from '../access.ts'
import { Anchors } from '../anchors.ts'
import { count } from '../content.ts'
import {
  isWriterDead,
  type Journal,
  type JournalEntry,
  type JournalPlace,
  journalPlace,
  openJournal,
  type OpenedJournal,
  type Placed,
} from './journal.ts'
import { callsOf, Keys } from './keys.ts'

/** What a recovery found and did. */
export interface Recovery {
  /** Files brought to the state that their change had been decided for. */
  readonly completed: number
  /** Files that are again as they were: their change had met an error. */
  readonly takenBack: number
  /** What somebody changed, removed, led elsewhere or forbade since, and was left as it is. */
  readonly leftAlone: readonly string[]
  /** What stands where a journal would, and no change that is open made. */
  readonly unknown: readonly string[]
}

/** How long a journal whose writer may be alive is waited for. Completing it beside the writer is safe, only wasteful. */
const PATIENCE_MS = 5000
const JOURNAL_LIMIT = 256 * 1024 * 1024
/** Each costs one look; a policy with more places to change files in is searched in the first ones. */
const MOST_PLACES = 256

/**
 * Completes what an interrupted `fs_modify_file` left, within what this policy allows. Called by every
 * run of that tool, and by a host that wants it done earlier; one that has ended the writer has nothing to wait for.
 */
export async function recoverModifications(
  context: Context,
  told?: unknown,
  patience = PATIENCE_MS,
): Promise<Recovery> {
  using anchors = new Anchors()
  return await recover(new Access(context), anchors, new Keys(told), patience)
}

/**
 * Where the paths of a call lead now, of those that it may change: for who removes, when the call is over, what it has staged
 * there. Asked only then, a directory that became a link meanwhile would lead elsewhere (decision 0495).
 */
export function placesOf(context: Context, paths: readonly string[]): readonly Placed[] {
  return placedNow(paths, new Access(context))
}

export const placedNow = (paths: readonly string[], access: Access): readonly Placed[] =>
  paths.flatMap((path) => {
    const { anchor, inside } = orNothing(() => access.locate(path, 'update')) ?? {}
    return anchor === undefined || inside === undefined ? [] : [{ path, at: { anchor, inside } }]
  })

/** SPEC 6.4: removes what a call that is over had written beside the files that it was to change. */
export function removeStaged(context: Context, key: string, placed: readonly Placed[]): void {
  using anchors = new Anchors()
  sweepBeside(placed, callsOf([key]), new Access(context), anchors)
}

/** Each directory once: to list one costs. What leads elsewhere by now, or nowhere, is left to the next write there. */
export function sweepBeside(
  placed: readonly Placed[],
  ended: ReadonlySet<string>,
  access: Access,
  anchors: Anchors,
): void {
  const swept = new Set<string>()
  for (const each of placed)
    orNothing(() => {
      const location = whereDecided(each, access)
      if (!location) return
      const directory = splitEntry(location.inside)?.parent ?? location.inside
      const name = `${location.anchor}\0${directory}`
      if (swept.has(name)) return
      swept.add(name)
      anchors.of(location).sweepTemps(directory, ended)
    })
}

/** Where the path leads, if that is still where it led. Throws where this policy does not let it be changed any more. */
function whereDecided({ path, at }: Placed, access: Access): Location | undefined {
  const location = access.locate(path, 'update')
  return location.anchor === at.anchor && location.inside === at.inside ? location : undefined
}

/** Nothing is written, nor was, where a path does not lead. */
function orNothing<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}

export async function recover(
  access: Access,
  anchors: Anchors,
  keys: Keys,
  patience = PATIENCE_MS,
): Promise<Recovery> {
  const unknown: string[] = []
  const leftAlone: string[] = []
  const done = { forward: 0, undo: 0 }
  for (const rulePath of placesToLook(access)) {
    const place = openPlace(access, anchors, rulePath)
    const journal = place && (await abandonedJournal(place, keys, patience))
    if (!place || !journal) continue
    if (journal === 'unknown') {
      unknown.push(place.name)
      continue
    }
    for (const entry of journal.entries) {
      if (complete(access, anchors, journal, entry)) done[journal.direction]++
      else leftAlone.push(entry.path)
    }
    sweepBeside(journal.entries, callsOf([journal.key]), access, anchors)
    removeJournal(place, journal.id, keys)
    keys.close(journal.key)
  }
  return { completed: done.forward, takenBack: done.undo, leftAlone, unknown }
}

/** `whose` change it was: the words that say so begin the sentence. */
export function describeRecovery(
  { completed, takenBack, leftAlone }: Recovery,
  whose = 'An earlier change',
): string[] {
  const named = leftAlone.slice(0, MOST_NAMED).map(showWhole).join(', ')
  const others = leftAlone.length > MOST_NAMED ? ` and ${leftAlone.length - MOST_NAMED} more` : ''
  return [
    ...(completed > 0
      ? [`${whose} that was interrupted has been completed (${count(completed, 'file')}).`]
      : []),
    ...(takenBack > 0
      ? [`${whose} that met an error has been taken back (${count(takenBack, 'file')}).`]
      : []),
    ...(leftAlone.length > 0 ? [`Changed by somebody since, and left alone: ${named}${others}.`] : []),
  ]
}

const MOST_NAMED = 20

/** Where a rule lets files be changed, and no later one for the same path takes that back: what is closed cannot be looked into. */
function placesToLook(access: Access): RelPath[] {
  if (access.rules.length === 0) return [ROOT]
  const paths = new Set(access.rules.map(({ path }) => path))
  return [...paths].filter((path) => access.governing(path)?.grants.has('update')).slice(0, MOST_PLACES)
}

/** Undefined: it is not there, or not where the rule says. Then nothing was changed in it. */
const openPlace = (access: Access, anchors: Anchors, rulePath: RelPath): JournalPlace | undefined =>
  orNothing(() => journalPlace(access, anchors, rulePath))

/** The journal there, once its writer is done with it or gone. Undefined when there is none. */
async function abandonedJournal(
  place: JournalPlace,
  keys: Keys,
  patience: number,
): Promise<OpenedJournal | 'unknown' | undefined> {
  for (;;) {
    const journal = readJournal(place, keys)
    if (journal === 'unknown') return journal
    if (!journal || isWriterDead(journal.value) || Date.now() - journal.since >= patience)
      return journal?.value
    await sleep(50)
  }
}

function readJournal(
  place: JournalPlace,
  keys: Keys,
): { value: OpenedJournal; since: number } | 'unknown' | undefined {
  try {
    using file = place.anchor.open(place.path)
    const value = openJournal(file.readAll(JOURNAL_LIMIT), place, keys)
    return value ? { value, since: file.stat.modifiedMs } : 'unknown'
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    if (error.code === 'FILE_NOT_FOUND') return undefined
    if (NO_JOURNAL.has(error.code)) return 'unknown'
    throw error
  }
}

/** Of what is no journal of ours, whoever put it there: a link, a directory, a pipe, or more than we would ever write. */
const NO_JOURNAL: ReadonlySet<string> = new Set<FileError['code']>([
  'FILE_IS_LINK',
  'FILE_NOT_REGULAR',
  'FILE_TOO_LARGE',
  'FILE_NO_PERMISSION',
])

/** Whether the file now is as decided. A file that is neither as before nor as after is somebody else's work. */
function complete(access: Access, anchors: Anchors, { direction }: Journal, entry: JournalEntry): boolean {
  const [from, to] = direction === 'forward' ? [entry.old, entry.new] : [entry.new, entry.old]
  try {
    const location = whereDecided(entry, access)
    if (!location) return false
    const { inside } = location
    const anchor = anchors.of(location)
    using file = anchor.open(inside)
    const content = file.readAll(JOURNAL_LIMIT)
    if (content.equals(to)) return true
    if (!content.equals(from)) return false
    anchor.writeFile(inside, to, { expect: file.stat.version })
    return true
  } catch (error) {
    if (error instanceof FileError && error.code === 'FILE_NO_SPACE') throw error // try again later, nothing is lost
    if (error instanceof CordonError) return false
    throw error
  }
}

/** Only that very journal: another run may have completed it and put its own in the place. */
export function removeJournal(place: JournalPlace, id: string, keys: Keys): void {
  const there = readJournal(place, keys)
  if (!there || there === 'unknown' || there.value.id !== id) return
  try {
    place.anchor.unlink(place.path)
  } catch (error) {
    if (!(error instanceof FileError && error.code === 'FILE_NOT_FOUND')) throw error
  }
}
