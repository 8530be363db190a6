import { FileError } from '@cordon/files'
import { show, showWhole } from '@cordon/policy'
import { Access } from '../access.ts'
import { type Anchors } from '../anchors.ts'
import { type AsShown } from '../as-shown.ts'
import { count, success, text } from '../content.ts'
import { defineTool } from '../define-tool.ts'
import { DESCRIPTIONS } from '../descriptions.ts'
import { type Change, commitChanges, JournalTaken } from '../modify/commit.ts'
import { editsOf, type FileEdit, MODIFY_PARAMETERS } from '../modify/edits.ts'
import { describeRecovery, recover } from '../modify/recover.ts'
import { type Tool } from '../protocol.ts'
import { ToolError } from '../report.ts'
import { type Seen } from '../seen.ts'
import { decode } from '../text/encoding.ts'

const LARGEST = 16 * 1024 * 1024
const LARGEST_SUM = 64 * 1024 * 1024
const MOST_FILES = 500
const MOST_TRIES = 20

export const fsModifyFile: Tool = defineTool({
  name: 'fs_modify_file',
  description: DESCRIPTIONS.fs_modify_file,
  parameters: MODIFY_PARAMETERS,
  describe: (args) =>
    `change ${[...new Set(editsOf(args).map(({ path }) => path))].map(showWhole).join(', ')}`,
  async run(args, context, { anchors, shown, options }) {
    const edits = editsOf(args)
    const access = new Access(context)
    const key = typeof options['journal_key'] === 'string' ? options['journal_key'] : ''
    const notes: string[] = []
    for (let attempt = 1; ; attempt++) {
      notes.push(...describeRecovery(await recover(access, anchors, key)))
      const changes = prepare(edits, access, anchors, shown)
      const real = changes.filter((change) => !change.old.equals(change.new))
      try {
        await commitChanges(real, access, anchors, key)
        return success(text([...real.map(describeChange), ...unchanged(changes), ...notes].join('\n')))
      } catch (error) {
        // Somebody else was faster, and nothing of ours is left: start over with what is there now.
        const overtaken = error instanceof FileError && error.code === 'FILE_CHANGED'
        if ((!overtaken && !(error instanceof JournalTaken)) || attempt === MOST_TRIES) throw error
      }
    }
  },
})

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
