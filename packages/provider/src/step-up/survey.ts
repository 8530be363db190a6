import { hash } from 'node:crypto'
import { FileError } from '@cordon/files'
import type { State } from '../audit/record.ts'
import type { Command } from '../commands.ts'
import { Refusal } from '../errors.ts'
import type { AnyArgs } from '../operations/args.ts'
import {
  changedSinceFound,
  isReplaced,
  MOST_HASHED_BYTES,
  requireMatch,
  signedContent,
} from '../operations/content.ts'
import { unifiedDiff } from '../operations/diff.ts'
import { missingAbove } from '../operations/directories.ts'
import { editedText } from '../operations/edit.ts'
import type { Work } from '../operations/operation.ts'
import { requireParent, requirePossible } from '../operations/possible.ts'
import { letterOf } from '../operations/tree.ts'
import type { Deadline } from '../pipeline/deadline.ts'
import type { Place } from '../pipeline/places.ts'
import type { ApprovalRequest } from './request.ts'
import { soughtBy, surveyDirectory } from './survey-directory.ts'

export interface Surveyed {
  /** A hash over everything that would be touched, as it is now. */
  readonly content: string
  /** What a no is for in the place of that: one to look into a directory is for the directory, whatever comes or goes in it. */
  readonly meant?: string
  /** What it would come to beyond that; see `Meaning`. */
  readonly wanted?: string
  readonly request: ApprovalRequest
  /** What to do once it is signed: the body may have been read to show it. */
  readonly work: Work<Command>
}

/** Contents of this size are read to be compared. */
const MOST_COMPARED_BYTES = 2 ** 20
/** A person can be shown so much of a diff; what is left out is counted and said. */
const MOST_DIFF_CHARACTERS = 128 * 1024
/** Of one line; whoever shows it shows all that is left of it. */
const MOST_LINE_CHARACTERS = 4096

/** SPEC 7.5: the real blast radius, found by looking. */
export async function surveyWork(command: Command, asked: Work<Command>): Promise<Surveyed> {
  const { place, destination, deadline, may } = asked
  const args: AnyArgs = asked.args
  requireWorthAsking(command, asked)
  const common = {
    path: place.path,
    ...(destination ? { destination: destination.path } : {}),
    ...otherArguments(args),
  }
  const below = await surveyDirectory(command, asked)
  if (below) return { ...below, request: { ...common, ...below.request }, work: asked }
  const touched = [place, ...(destination?.stat ? [destination] : [])]
  const states = []
  for (const each of touched) states.push(await boundState(each, deadline))
  // The rest of what must fail: the content was read for the signature anyway.
  if (states[0]?.sha256 !== undefined && may('/filesystem/file/read', place))
    requireMatch(args.if_match, states[0], asked)
  const { diff, unshown, wanted, work } = await surveyText(command, asked)
  const kinds = touched.map(({ stat }) => stat?.kind ?? MADE[command])
  const links = kinds.filter((kind) => kind === 'link').length
  const above = command === '/filesystem/dir/create' && args.parents === true ? missingAbove(place) : []
  const directories = kinds.filter((kind) => kind === 'directory').length
  return {
    content: hash('sha256', JSON.stringify([states, args.sha256 ?? null])),
    ...(wanted === undefined ? {} : { wanted }),
    request: {
      ...common,
      files: kinds.filter((kind) => kind !== undefined).length - directories,
      directories: directories + above.length,
      ...(links > 0 ? { links } : {}),
      bytes: args.size ?? touched.reduce((sum, { stat }) => sum + (stat?.kind === 'file' ? stat.size : 0), 0),
      ...(command === '/filesystem/file/write' && place.stat?.kind === 'file'
        ? { bytesNow: place.stat.size }
        : {}),
      paths: [...above.map(({ path }) => path), ...touched.map(({ path }) => path)],
      kinds: [...above.map(() => 'directory' as const), ...kinds].map(letterOf).join(''),
      ...replacedBy(command, asked),
      ...(diff === undefined ? {} : capDiff(diff)),
      ...(unshown === undefined ? {} : { unshown }),
    },
    work,
  }
}

/** Shown as what they come to: the canonical paths, the diff, the bytes. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set(['path', 'destination', 'edits', 'sha256', 'size'])

/** SPEC 7.5: all that is signed for is shown, also an argument that nobody thought of here. */
function otherArguments(args: object): Pick<ApprovalRequest, 'also'> {
  const others = Object.entries(args).filter(
    ([name, value]) => !SHOWN_ELSEWHERE.has(name) && value !== undefined,
  )
  if (others.length === 0) return {}
  const shown = others.map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return { also: Object.fromEntries(shown) as Record<string, string> }
}

interface Bound extends State {
  readonly kind?: string | null
  readonly version?: string
}

/**
 * What the signature is for: of a file its content, or where that is too large to be read the very file at this very
 * moment. Of a link the very link, and so where it leads. Always of what was found, and never of what came since: the
 * page shows what was found.
 */
async function boundState({ anchor, inside, stat }: Place, deadline: Deadline): Promise<Bound> {
  if (stat === undefined || stat.kind === 'directory') return { kind: stat?.kind ?? null }
  if (stat.kind !== 'file' || stat.size > MOST_HASHED_BYTES) return { kind: stat.kind, version: stat.version }
  try {
    const { sha256, size, version } = await anchor.hash(inside, { signal: deadline.signal })
    if (version === stat.version) return { sha256, bytes: size }
  } catch (error) {
    if (!isReplaced(error)) throw error
  }
  throw changedSinceFound()
}

/** SPEC 7.5: that something is lost is not to be guessed from a number of files. */
function replacedBy(
  command: Command,
  { args, place, destination }: Work<Command>,
): Pick<ApprovalRequest, 'replaces'> {
  const { overwrite }: AnyArgs = args
  const there = command === '/filesystem/file/write' ? place : overwrite === true ? destination : undefined
  return there?.stat ? { replaces: true } : {}
}

/** What is made where there is nothing yet. */
const MADE: Readonly<Partial<Record<Command, 'file' | 'directory'>>> = {
  '/filesystem/file/write': 'file',
  '/filesystem/file/create': 'file',
  '/filesystem/dir/create': 'directory',
}

/**
 * A person is not asked to sign for what must fail. Where the agent may not look, it is asked all the same: whether there
 * is a file would be told by the refusal.
 */
function requireWorthAsking(command: Command, work: Work<Command>): void {
  const { place, destination, may } = work
  const maySee = [place, ...(destination ? [destination] : [])].every((each) =>
    may('/filesystem/file/stat', each),
  )
  if (maySee) {
    requirePossible(command, work)
    const { parents }: AnyArgs = work.args
    const madeAt = destination ?? (MADE[command] ? place : undefined)
    if (madeAt) requireParent(madeAt, { parents: parents === true })
  }
  if (command !== '/filesystem/dir/delete' || !place.stat || !may('/filesystem/dir/list', place)) return
  if (place.anchor.listSome(place.inside, { entries: 1, bytes: 4096 }).entries.length > 0)
    throw new Refusal('not_empty', 'the directory is not empty: use dir_delete_recursive')
}

/** What an edit or a write would change. Of large contents, and of what is no text, a person is told that they are not shown. */
async function surveyText(
  command: Command,
  work: Work<Command>,
): Promise<Pick<ApprovalRequest, 'diff' | 'unshown'> & Pick<Surveyed, 'wanted' | 'work'>> {
  if (command === '/filesystem/file/edit') return { ...(await surveyEdit(work)), work }
  if (command === '/filesystem/file/search') return { wanted: soughtBy(work), work }
  const isWrite = command === '/filesystem/file/write' || command === '/filesystem/file/create'
  const { args, place, deadline, body } = work as Work<'/filesystem/file/write'>
  if (!isWrite) return { work }
  if (args.size > MOST_COMPARED_BYTES || (place.stat?.size ?? 0) > MOST_COMPARED_BYTES)
    return { work, unshown: 'too large' }
  // Read now, and kept for when it is done: what is shown is what was signed, to the byte.
  const pieces: Uint8Array[] = []
  for await (const piece of signedContent(body, args, deadline)) pieces.push(Buffer.from(piece))
  const content = Buffer.concat(pieces)
  const kept = { ...work, body: once(content) }
  const [before, after] = [textOf(foundBytes(work)), textOf(content)]
  if (before === undefined || after === undefined) return { work: kept, unshown: 'not text' }
  return { diff: await unifiedDiff(place.path, before, after, () => deadline.breathe()), work: kept }
}

/**
 * Whether its old text is there is told to who may read. For others a person is asked all the same, and told that it is not;
 * and a no is for the edit as they spelled it: that another one would come to the same would tell what is there.
 */
async function surveyEdit(
  work: Work<'/filesystem/file/edit'>,
): Promise<Pick<ApprovalRequest, 'diff' | 'unshown'> & Pick<Surveyed, 'wanted'>> {
  const { args, place, deadline, may } = work
  const spelled = JSON.stringify(args.edits.map((edit) => [edit.old, edit.new]))
  try {
    const { diff, after } = await editedText(work)
    return { diff, wanted: may('/filesystem/file/read', place) ? hash('sha256', after) : spelled }
  } catch (error) {
    deadline.check()
    const isAbout = error instanceof Refusal || error instanceof FileError
    if (!isAbout || may('/filesystem/file/read', place)) throw error
    return { unshown: 'not what the edit expects', wanted: spelled }
  }
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content
}

/** SPEC 7.5: a client chooses when its body comes, and what lies there by then is not what is signed for. */
function foundBytes({ place }: Work<Command>): Buffer {
  const { stat } = place
  if (stat?.kind !== 'file') return Buffer.alloc(0)
  try {
    using file = place.anchor.open(place.inside)
    const bytes = file.readAll(MOST_COMPARED_BYTES)
    if (file.stat.version === stat.version) return bytes
  } catch (error) {
    if (!isReplaced(error)) throw error
  }
  throw changedSinceFound()
}

function textOf(bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8')
  return Buffer.from(text).equals(bytes) && !text.includes('\0') ? text : undefined
}

/** One endless line must not push everything else out of sight. */
function capDiff(diff: string): Pick<ApprovalRequest, 'diff' | 'diffLeftOut'> {
  let leftOut = 0
  let left = MOST_DIFF_CHARACTERS
  const kept: string[] = []
  for (const line of diff.split('\n')) {
    const shown = line.slice(0, Math.max(0, Math.min(MOST_LINE_CHARACTERS, left)))
    leftOut += line.length - shown.length
    left -= shown.length + 1
    if (left >= 0 || shown !== '') kept.push(shown)
  }
  return { diff: kept.join('\n'), ...(leftOut > 0 ? { diffLeftOut: leftOut } : {}) }
}
