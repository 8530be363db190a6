import { type FileVersion, FileError, type StagedFile } from '@cordon/files'
import { CordonError, type Location, ROOT, splitEntry } from '@cordon/policy'
import { type Access } from '../access.ts'
import { type Anchors } from '../anchors.ts'
import { count } from '../content.ts'
import { ToolError } from '../report.ts'
import {
  type Journal,
  type JournalEntry,
  type JournalPlace,
  journalPlace,
  newJournal,
  sealJournal,
} from './journal.ts'
import { callOf, type Keys } from './keys.ts'
import { removeJournal } from './recover.ts'

/** A file as it was read and as it shall be. */
export interface Change {
  readonly path: string
  readonly location: Location
  readonly version: FileVersion
  readonly old: Buffer
  readonly new: Buffer
}

/** Another run holds the journal's place: recover and start over with fresh contents. */
export class JournalTaken extends CordonError {
  readonly code = 'TOOL_JOURNAL_TAKEN'
  constructor() {
    super('other changes are being made all the time; try again later')
  }
}

/**
 * All of them or none (decision 0073). Until the journal is there, nothing has changed; from then on the
 * change is decided, and if this process dies the next run completes it from the journal.
 */
export async function commitChanges(
  changes: readonly Change[],
  access: Access,
  anchors: Anchors,
  keys: Keys,
): Promise<void> {
  const [first, ...others] = changes
  if (!first) return
  // One file needs no journal: its replacement is atomic by itself (SPEC 6.4).
  if (others.length === 0)
    return anchors.of(first.location).writeFile(first.location.inside, first.new, { expect: first.version })
  const staged: StagedFile[] = []
  try {
    // Every new content is on the disk before anything changes, so a full disk is found out in time.
    for (const change of changes) staged.push(stage(change, anchors, keys))
    const place = placeFor(changes, access, anchors)
    const journal = newJournal(changes.map(entryOf))
    takePlace(place, journal, keys)
    exchange(changes, staged, anchors, { place, journal, keys })
    finish({ place, journal, keys })
  } finally {
    for (const file of staged) await file.abort()
  }
}

const entryOf = ({ path, location: { anchor, inside }, old, new: next }: Change): JournalEntry => ({
  path,
  at: { anchor, inside },
  old,
  new: next,
})

/** Where the first of the files has a place for it. */
function placeFor(changes: readonly Change[], access: Access, anchors: Anchors): JournalPlace {
  for (const { location } of changes) {
    const place = journalPlace(access, anchors, access.governing(location.relative)?.path ?? ROOT)
    if (place) return place
  }
  throw new ToolError('mounts that lead to single files are changed one call each')
}

function stage({ location, new: content }: Change, anchors: Anchors, keys: Keys): StagedFile {
  const directory = splitEntry(location.inside)?.parent ?? location.inside
  const staged = anchors.of(location).stage(directory, callOf(keys.own))
  staged.writeNow(content)
  return staged
}

/** The moment of decision: the journal appears whole, or not at all. */
function takePlace(place: JournalPlace, journal: Journal, keys: Keys): void {
  const sealed = sealJournal(journal, place, keys)
  keys.use(keys.own)
  try {
    place.anchor.createExclusive(place.path, sealed, { mode: 0o600 })
  } catch (error) {
    if (error instanceof FileError && error.code === 'FILE_EXISTS') {
      keys.close(keys.own)
      throw new JournalTaken()
    }
    throw error
  }
}

interface Decided {
  readonly place: JournalPlace
  readonly journal: Journal
  readonly keys: Keys
}

/** Nothing is left to be done by its journal, wherever somebody may have put that. */
function finish({ place, journal, keys }: Decided): void {
  removeJournal(place, journal.id, keys)
  keys.close(keys.own)
}

function exchange(
  changes: readonly Change[],
  staged: readonly StagedFile[],
  anchors: Anchors,
  decided: Decided,
): void {
  for (const [i, change] of changes.entries()) {
    try {
      staged[i]?.commitNow(change.location.inside, { expect: change.version })
    } catch (error) {
      if (isNow(change, change.new, anchors)) continue // a run that found our journal was faster
      undo(changes.slice(0, i), anchors, decided)
      throw error
    }
  }
}

function undo(done: readonly Change[], anchors: Anchors, decided: Decided): void {
  const failed: CordonError[] = []
  turn(decided)
  for (const { location, old, new: written } of done.toReversed()) {
    try {
      const anchor = anchors.of(location)
      using file = anchor.open(location.inside)
      if (file.readAll().equals(written))
        anchor.writeFile(location.inside, old, { expect: file.stat.version })
    } catch (error) {
      if (!(error instanceof CordonError)) throw error
      failed.push(error)
    }
  }
  if (failed.length === 0) return finish(decided)
  throw new ToolError(`${count(failed.length, 'file')} could not be put back: ${failed[0]?.message}`)
}

/** For whoever would go on if this process died now. Whether that can be said or not, the files are put back. */
function turn({ place, journal, keys }: Decided): void {
  try {
    const turned: Journal = { ...journal, direction: 'undo' }
    place.anchor.writeFile(place.path, sealJournal(turned, place, keys), { mode: 0o600 })
  } catch (error) {
    if (!(error instanceof CordonError)) throw error
  }
}

function isNow({ location }: Change, content: Buffer, anchors: Anchors): boolean {
  try {
    return anchors.of(location).readFile(location.inside).equals(content)
  } catch (error) {
    if (error instanceof FileError) return false
    throw error
  }
}
