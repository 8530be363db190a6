import { setTimeout as sleep } from 'node:timers/promises'
import { FileError } from '@cordon/files'
import { CordonError, show, showWhole } from '@cordon/policy'
import { Access } from '../access.ts'
import { type Anchors } from '../anchors.ts'
import { type AsShown } from '../as-shown.ts'
import { count, success, text } from '../content.ts'
import { defineTool } from '../define-tool.ts'
import { DESCRIPTIONS } from '../descriptions.ts'
import { type Change, commitChanges, JournalTaken } from '../modify/commit.ts'
import { editsOf, type FileEdit, MODIFY_PARAMETERS } from '../modify/edits.ts'
import { Keys } from '../modify/keys.ts'
import { describeRecovery, placedNow, recover, sweepBeside } from '../modify/recover.ts'
import { type Tool, type ToolIo, type ToolResult } from '../protocol.ts'
import { reportError, ToolError } from '../report.ts'
import { type Seen } from '../seen.ts'
import { decode } from '../text/encoding.ts'

const LARGEST = 16 * 1024 * 1024
const LARGEST_SUM = 64 * 1024 * 1024
const MOST_FILES = 500
const MOST_TRIES = 20
/** Between two tries, while something that is not known stands in the journal's place: five seconds in all. */
const UNKNOWN_MS = 250

export const fsModifyFile: Tool = defineTool({
  name: 'fs_modify_file',
  description: DESCRIPTIONS.fs_modify_file,
  parameters: MODIFY_PARAMETERS,
  describe: (args) =>
    `change ${[...new Set(editsOf(args).map(({ path }) => path))].map(showWhole).join(', ')}`,
  async run(args, context, io) {
    const keys = new Keys(io.options['journal_keys'])
    const result = await modify(editsOf(args), new Access(context), io, keys).catch((error: unknown) => {
      if (!(error instanceof CordonError)) throw error
      return reportError(error, 'fs_modify_file', { arguments: args, root: context.data.root })
    })
    // Without a host, nobody has anything to forget.
    return io.options['journal_keys'] === undefined ? result : { ...result, closed: keys.closed }
  },
})

async function modify(
  edits: readonly FileEdit[],
  access: Access,
  { anchors, shown }: ToolIo,
  keys: Keys,
): Promise<ToolResult> {
  const notes: string[] = []
  const paths = edits.map(({ path }) => path)
  // In the directories that this call changes itself.
  if (keys.ended.size > 0) sweepBeside(placedNow(paths, access), keys.ended, access, anchors)
  for (let attempt = 1; ; attempt++) {
    const recovery = await recover(access, anchors, keys)
    const unknown = recovery.unknown.map(show)
    notes.push(...describeRecovery(recovery))
    const changes = prepare(edits, access, anchors, shown)
    const real = changes.filter((change) => !change.old.equals(change.new))
    try {
      await commitChanges(real, access, anchors, keys)
      const ignored = unknown.map((name) => `${name} was ignored: no change that this call knows of made it.`)
      return success(
        text([...real.map(describeChange), ...unchanged(changes), ...notes, ...ignored].join('\n')),
      )
    } catch (error) {
      // Somebody else was faster, and nothing of ours is left: start over with what is there now.
      const isTaken = error instanceof JournalTaken
      const overtaken = error instanceof FileError && error.code === 'FILE_CHANGED'
      if (!overtaken && !isTaken) throw error
      const isInTheWay = isTaken && unknown.length > 0
      if (attempt === MOST_TRIES) throw isInTheWay ? inTheWay(unknown) : error
      // Of a change that began after this call, and will soon be done; or of nobody.
      if (isInTheWay) await sleep(UNKNOWN_MS)
    }
  }
}

const inTheWay = (names: readonly string[]): ToolError =>
  new ToolError(
    `several files cannot be changed at once: ${names.join(', ')} is in the way, and no change that this call knows of made it; if it still is when you try again, look at it and remove it`,
  )

/** Checks, reads and computes everything before anything is written. */
function prepare(edits: readonly FileEdit[], access: Access, anchors: Anchors, shown: AsShown): Change[] {
  // By the canonical name: two spellings of one file must not be two changes of it.
  const byName = new Map<string, Change>()
  let sum = 0
  for (const { path, apply } of edits) {
    const location = access.locate(path, 'update')
    const earlier = byName.get(location.relative)
    const change = earlier ?? { path, location, ...read(path, location, anchors) }
    // What was shown is held against the very bytes that are edited.
    shown.require(path, location, () => seenAs(change))
    const next = Buffer.from(apply(textOf(path, earlier?.new ?? change.old)))
    sum += earlier ? 0 : change.old.length + next.length
    if (sum > LARGEST_SUM)
      throw new ToolError(`the files are larger than ${LARGEST_SUM} bytes together; change fewer at once`)
    byName.set(location.relative, { ...change, new: next })
    if (byName.size > MOST_FILES) throw new ToolError(`more than ${MOST_FILES} files at once`)
  }
  return [...byName.values()].toSorted((a, b) => (a.location.relative < b.location.relative ? -1 : 1))
}

function read(
  path: string,
  location: Change['location'],
  anchors: Anchors,
): Pick<Change, 'version' | 'old' | 'new'> {
  using file = anchors.of(location).open(location.inside)
  const old = file.readAll(LARGEST)
  textOf(path, old)
  return { version: file.stat.version, old, new: old }
}

const seenAs = ({ version, old }: Pick<Change, 'version' | 'old'>): Seen => ({
  kind: 'file',
  size: old.length,
  version,
  content: old,
})

function textOf(path: string, bytes: Buffer): string {
  const decoded = decode(bytes, 'utf-8')
  if (decoded === undefined || decoded.includes('\0'))
    throw new ToolError(`${show(path)} is not UTF-8 text, so it cannot be changed as text`)
  return decoded
}

function describeChange({ location, old, new: next }: Change): string {
  const [before, after] = [old, next].map((bytes) => bytes.toString('utf8').split('\n').length) as [
    number,
    number,
  ]
  const lines =
    after === before ? 'same number of lines' : `${after > before ? '+' : ''}${count(after - before, 'line')}`
  return `changed ${show(location.relative)} (${lines})`
}

const unchanged = (changes: readonly Change[]): string[] =>
  changes
    .filter((change) => change.old.equals(change.new))
    .map(({ location }) => `${show(location.relative)} is as it was: the new text is the old text`)
