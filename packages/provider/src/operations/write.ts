import { splitEntry } from '@cordon/policy'
import { Refusal } from '../errors.ts'
import { requireMatch, signedContent, stateOf } from './content.ts'
import type { Done, Operation, Work } from './operation.ts'

/** Makes a file or replaces one, whole: nobody ever sees a part of it (SPEC 6.4). */
export const writeFile: Operation<'/filesystem/file/write'> = {
  meaning: 'object',
  changes: true,
  run: async (work) => {
    const { args, place, deadline } = work
    const before = await stateOf(place, deadline, args.if_match === undefined ? 'if small enough' : 'always')
    requireMatch(args.if_match, before, work)
    // Who said what must be there gets exactly that, and so does who signed for a diff; else the last writer wins.
    const signed = work.cosigned ? (place.stat?.version ?? 'missing') : undefined
    const expect = args.if_match === undefined ? signed : place.stat?.version
    await store(work, expect === undefined ? {} : { expect })
    return stored(work, before)
  },
}

/** Only where nothing has that name: of two, one succeeds. */
export const createFile: Operation<'/filesystem/file/create'> = {
  meaning: 'object',
  changes: true,
  run: async (work) => {
    await store(work, { expect: 'missing' })
    return stored(work, undefined)
  },
}

type Writing = Work<'/filesystem/file/write'> | Work<'/filesystem/file/create'>

async function store(
  { args, place, deadline, body }: Writing,
  options: Parameters<Writing['place']['anchor']['writeStream']>[2],
): Promise<void> {
  if (!splitEntry(place.inside))
    throw new Refusal('wrong_kind', 'the delegation’s own directory is not a file')
  await place.anchor.writeStream(place.inside, signedContent(body, args, deadline), options)
}

const stored = ({ args: { sha256, size } }: Writing, before: Done['before']): Done => ({
  answer: { kind: 'json', value: { sha256, size } },
  ...(before ? { before } : {}),
  after: { sha256, bytes: size },
})
