import { type ConversationEvent, type Resource } from '@cordon/workspace'
import { expect, test } from 'vitest'
import {
  attachmentsIn,
  type Blocks,
  deliverBlocks,
  findAttachments,
  readBlocks,
  sortAdded,
} from '../../src/attachment/blocks.ts'

const at = '2026-11-15T12:00:00.000Z'
const attach = (...resources: Resource[]): ConversationEvent => ({ kind: 'attach', at, resources })
const request = (...resources: Resource[]): ConversationEvent => ({
  kind: 'request',
  at,
  text: 'x',
  resources,
})
const turn: ConversationEvent = { kind: 'turn', at }

async function* of(events: readonly ConversationEvent[]): AsyncGenerator<ConversationEvent> {
  yield* events
}
const blocksOf = (...events: ConversationEvent[]): Promise<Blocks> => readBlocks(of(events))

const file = (uri: string, text: string): Resource => ({ uri, text })
const [downloads, desktop] = ['a', 'b'].map((digit) => `external:${digit.repeat(64)}/report.pdf`) as [
  string,
  string,
]

const outcome = async (before: ConversationEvent[], ...resources: Resource[]): Promise<unknown[]> =>
  sortAdded(await blocksOf(...before), resources, at).map(({ outcome: how, delivery }) =>
    delivery.kind === 'reference' ? [how, delivery.text] : [how, delivery.kind],
  )

test('RFD D03 the deduplication table, by row, on what is attached', async () => {
  const before = [attach(file(downloads, 'one')), turn, request()]
  // Same file, attached twice, content unchanged: yes, yes, dedup.
  expect(await outcome(before, file(downloads, 'one'))).toEqual([
    ['unchanged', `[${downloads} is unchanged; its content is in turn 1]`],
  ])
  // Same file, attached twice, content changed: no dedup, both are kept.
  expect(await outcome(before, file(downloads, 'two'))).toEqual([['attached', 'full']])
  const both = attachmentsIn(await blocksOf(...before, attach(file(downloads, 'two'))))
  expect(both.map(({ uri, resource }) => [uri, resource.text])).toEqual([
    [downloads, 'one'],
    [downloads, 'two'],
  ])
  // Same filename, different directories; and the same file on different machines: no dedup, though the content is the same.
  expect(await outcome(before, file(desktop, 'one'))).toEqual([['attached', 'full']])
})

test('twice in one command, and back to an earlier content', async () => {
  expect(await outcome([], file('file:///a', '1'), file('file:///a', '1'))).toEqual([
    ['attached', 'full'],
    ['unchanged', '[file:///a is unchanged; its content is earlier in this turn]'],
  ])
  // The newest is the other one, so it has to be said; that the content is known is said, too.
  const before = [attach(file('file:///a', '1')), turn, request(file('file:///a', '2'))]
  expect(await outcome(before, file('file:///a', '1'))).toEqual([
    ['attached', '[file:///a is unchanged; its content is in turn 1]'],
  ])
  const after = attachmentsIn(await blocksOf(...before, attach(file('file:///a', '1'))))
  expect(after.map(({ resource }) => resource.text)).toEqual(['2', '1'])
})

test('SPEC 6.3 a later identical block is a reference, wherever the first came from', async () => {
  const result: ConversationEvent = {
    kind: 'tool_result',
    at,
    id: '1',
    outcome: 'success',
    text: '',
    resources: [file('file:///a', '1')],
  }
  const blocks = await blocksOf(turn, request(), result, turn, request(file('file:///a', '1')), result)
  expect(deliverBlocks(blocks).map(({ delivery, by, turn: n }) => [by, n, delivery.kind])).toEqual([
    ['tool', 1, 'full'],
    ['person', 2, 'reference'],
    ['tool', 2, 'reference'],
  ])
  expect(attachmentsIn(blocks).map(({ turn: n }) => n)).toEqual([2])
})

test('a reference never points at what was taken out', async () => {
  const one = file('file:///a', '1')
  const blocks = await blocksOf(turn, request(one))
  const { checksum } = blocks.list[0]!
  const gone: ConversationEvent = { kind: 'detach', at, uri: one.uri, checksum }
  const after = await blocksOf(turn, request(one), gone, attach(one), turn, request(one))
  expect(deliverBlocks(after).map(({ delivery, turn: n }) => [n, delivery.kind])).toEqual([
    [1, 'detached'],
    [2, 'full'],
    [2, 'reference'],
  ])
  expect(attachmentsIn(await blocksOf(turn, request(one), gone))).toEqual([])
  // What a tool brought at that time is part of what was said, and stays.
  const said: ConversationEvent = {
    kind: 'tool_result',
    at,
    id: '1',
    outcome: 'success',
    text: '',
    resources: [one],
  }
  const talk = deliverBlocks(await blocksOf(turn, said, request(one), gone))
  expect(talk.map(({ by, delivery }) => [by, delivery.kind])).toEqual([
    ['tool', 'full'],
    ['person', 'detached'],
  ])
  // Only that content.
  const other: ConversationEvent = { ...gone, checksum: '0'.repeat(64) }
  expect(attachmentsIn(await blocksOf(turn, request(one), other)).length).toBe(1)
})

test('what is attached is described: size, form and origin, also of what a person wrote into the file by hand', async () => {
  const blocks = await blocksOf(
    attach(
      { uri: 'file:///a', text: 'ä' },
      { uri: downloads, blob: Buffer.from([1, 2, 3]).toString('base64'), mimeType: 'image/png' },
      { uri: 'https://a.example:8443/x', text: '' },
      { uri: 'command:ls', text: 'x' },
      { uri: 'other:thing' },
    ),
  )
  expect(attachmentsIn(blocks).map(({ size, form, origin }) => [size, form, origin])).toEqual([
    [2, 'text', { kind: 'workspace' }],
    [3, 'blob', { kind: 'outside' }],
    [0, 'text', { kind: 'web', host: 'a.example:8443' }],
    [1, 'text', { kind: 'command' }],
    [0, 'blob', { kind: 'other' }],
  ])
})

test('an attachment is found by its URI, by the end of it, and by its checksum', async () => {
  const list = attachmentsIn(
    await blocksOf(
      attach(
        file('file:///src/%C3%A4%20b.md', '1'),
        file('file:///src/deep/x.md', '2'),
        file('file:///x.md', '3'),
      ),
      attach(file(downloads, '4'), file(desktop, '5'), file('file:///x.md', '6')),
    ),
  )
  const found = (asked: string, sum?: string): unknown[] =>
    findAttachments(list, asked, sum).map(({ resource }) => resource.text)
  expect(found('file:///x.md')).toEqual(['3', '6'])
  expect(found('src/ä b.md')).toEqual(['1'])
  expect(found('ä b.md')).toEqual(['1'])
  expect(found('deep/x.md')).toEqual(['2'])
  expect(found('report.pdf')).toEqual(['4', '5'])
  expect(found('eport.pdf')).toEqual([])
  expect(found('')).toEqual([])
  const { checksum } = list.find(({ resource }) => resource.text === '3')!
  expect(found('file:///x.md', checksum.slice(0, 8))).toEqual(['3'])
  expect(found('file:///x.md', 'ffff')).toEqual([])
})
