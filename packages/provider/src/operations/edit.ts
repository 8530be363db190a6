import { hash } from 'node:crypto'
import { Refusal } from '../errors.ts'
import type { Deadline } from '../pipeline/deadline.ts'
import type { ArgsOf } from './args.ts'
import { MOST_OUTPUT_BYTES } from './capped.ts'
import { mayKnowContent, requireMatch, requireSignedVersion } from './content.ts'
import { unifiedDiff } from './diff.ts'
import { TextFinder } from './finder.ts'
import type { Operation, Work } from './operation.ts'

/** Text of this size is edited in memory. */
const MOST_EDITED_BYTES = 8 * 1024 * 1024
/** By one edit. */
const MOST_REPLACED = 100_000
/** Others have their turn after so many of them. */
const A_TURN = 5000

interface Edited {
  readonly before: string
  readonly after: string
  readonly version: NonNullable<Work<'/filesystem/file/edit'>['place']['stat']>['version']
  readonly diff: string
}

/** What the file would be, and how that differs. Every `old` must be found, once unless `all` is said. */
export async function editedText(work: Work<'/filesystem/file/edit'>): Promise<Edited> {
  const { args, place, deadline } = work
  using file = place.anchor.open(place.inside)
  requireSignedVersion(work, file.stat.version)
  const bytes = file.readAll(MOST_EDITED_BYTES)
  await deadline.breathe()
  const before = bytes.toString('utf8')
  if (!Buffer.from(before).equals(bytes)) throw new Refusal('wrong_kind', 'it is not a text in UTF-8')
  requireMatch(args.if_match, { sha256: hash('sha256', bytes) }, work)
  let after = before
  for (const [i, edit] of args.edits.entries()) {
    after = await replaced(after, edit, i, deadline)
    await deadline.breathe()
  }
  const diff = await unifiedDiff(place.path, before, after, () => deadline.breathe())
  return { before, after, version: file.stat.version, diff }
}

/** SPEC 7.3: of a listing no more than this, and so of a diff; by characters, of which one may be three bytes. */
function cutDiff(diff: string): { diff: string; truncated?: true } {
  const most = MOST_OUTPUT_BYTES / 4
  return diff.length <= most
    ? { diff }
    : { diff: diff.slice(0, diff.lastIndexOf('\n', most) + 1), truncated: true }
}

type Edit = ArgsOf<'/filesystem/file/edit'>['edits'][number]

/** Nothing is built before it is known to fit: a short edit can ask for gigabytes. */
async function replaced(
  text: string,
  { old, new: replacement, all = false }: Edit,
  index: number,
  deadline: Deadline,
): Promise<string> {
  const places = placesOf(text, old)
  const found = places.length
  if (found > MOST_REPLACED)
    throw new Refusal('too_large', `edit ${index + 1}: its old text is there too often; write the file whole`)
  if (found === 0 || (found > 1 && !all))
    throw new Refusal(
      'changed',
      `edit ${index + 1}: its old text is ${found === 0 ? 'not there' : `there ${found} times`}; nothing was changed`,
      { edit: index, found },
    )
  if (text.length + found * (replacement.length - old.length) > MOST_EDITED_BYTES)
    throw new Refusal('too_large', 'the text would become too large')
  const between: string[] = []
  let from = 0
  for (const at of places) {
    if (between.push(text.slice(from, at)) % A_TURN === 0) await deadline.breathe()
    from = at + old.length
  }
  return [...between, text.slice(from)].join(replacement)
}

/** No further than one more than can be replaced. */
function placesOf(text: string, old: string): number[] {
  const finder = new TextFinder(old)
  const places: number[] = []
  for (let at = finder.next(text, 0); at >= 0; at = finder.next(text, at + old.length))
    if (places.push(at) > MOST_REPLACED) break
  return places
}

/** Replaces pieces of a text, all or none. What came of it is shown to who may read the file. */
export const editFile: Operation<'/filesystem/file/edit'> = {
  meaning: 'object',
  changes: true,
  run: async (work) => {
    const { args, place } = work
    const { before, after, version, diff } = await editedText(work)
    const bytes = Buffer.from(after)
    const states = {
      before: { sha256: hash('sha256', before), bytes: Buffer.byteLength(before) },
      after: { sha256: hash('sha256', bytes), bytes: bytes.length },
    }
    if (args.dry_run !== true) await place.anchor.writeStream(place.inside, [bytes], { expect: version })
    const shown = mayKnowContent(work) ? { sha256: states.after.sha256, ...cutDiff(diff) } : {}
    return {
      answer: {
        kind: 'json',
        value: { size: bytes.length, dry_run: args.dry_run === true, ...shown },
      },
      ...(args.dry_run === true ? { before: states.before } : states),
    }
  },
}
