import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import {
  archiveConversation,
  type BlobRef,
  Blobs,
  collectBlobs,
  type ConversationRef,
  createConversation,
  eventsFile,
  forkConversation,
  type Keeping,
  lockFile,
  openConversation,
  removeConversation,
  type Resource,
  type Shelf,
  sweepBlobs,
  tryLock,
} from '@cordon/workspace'
import { expect, test } from 'vitest'
import { freshWorkspace, HOLDER } from './fixture.ts'

const AT = '2026-11-15T12:00:00.000Z'
const DELETE = { action: 'delete' } as const

async function fresh(): Promise<{ shelf: Shelf; blobs: Blobs }> {
  const { workspace } = await freshWorkspace()
  const shelf = { workspace, holder: HOLDER, now: (): Date => new Date() }
  return { shelf, blobs: new Blobs(shelf) }
}

/** Well formed, and of no conversation that there is. */
const otherThan = (id: string): string => id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))

/** Put, and then made two days old. */
async function putOld(blobs: Blobs, keeping: Keeping, text: string): Promise<BlobRef> {
  const store = blobs[keeping]
  const ref = await store.put(
    (async function* () {
      yield Buffer.from(text)
    })(),
  )
  const then = Date.now() / 1000 - 2 * 24 * 3600
  utimesSync(store.pathOf(ref.$blob), then, then)
  return ref
}

async function conversationWith(
  shelf: Shelf,
  keeping: Keeping,
  ...resources: Resource[]
): Promise<ConversationRef> {
  const ref = await createConversation(shelf, { keeping })
  const writer = await openConversation(shelf, ref, { wait: 0 })
  await writer.append([{ kind: 'request', at: AT, text: '', resources }])
  await writer.close()
  return ref
}

test('SPEC 6.2 what no event references is collected, whoever references it and in whatever way', async () => {
  const { shelf, blobs } = await fresh()
  const put = (keeping: Keeping, text: string): Promise<BlobRef> => putOld(blobs, keeping, text)
  const [a, b, c, d, e, f] = [
    await put('shared', 'a request in a shared conversation'),
    await put('local', 'a local one'),
    await put('shared', 'an archived one'),
    await put('shared', 'an event kind that nobody knows yet, deep inside'),
    await put('shared', 'a last line that a hand has broken'),
    await put('shared', 'a fork whose source is gone'),
  ] as const
  const garbage = [await put('shared', 'nobody'), await put('local', 'nobody either')]
  await conversationWith(shelf, 'shared', { uri: 'file:///a', text: a }, { uri: 'file:///b', blob: b })
  await conversationWith(shelf, 'local', { uri: 'file:///b', blob: b })
  await archiveConversation(shelf, await conversationWith(shelf, 'shared', { uri: 'file:///c', text: c }))
  const strange = await conversationWith(shelf, 'shared')
  appendFileSync(eventsFile(strange), `{"kind":"later","x":[{"y":{"$blob":"${d.$blob}","size":1}}]}\n`)
  appendFileSync(eventsFile(strange), `{"kind":"request","resources":[{"text":{"$blob":"${e.$blob}"`)
  const source = await conversationWith(shelf, 'shared', { uri: 'file:///f', text: f })
  await forkConversation(shelf, source)
  await removeConversation(shelf, source)

  const dry = await collectBlobs(shelf, { action: 'dry-run' })
  expect([...dry.garbage].sort()).toEqual(garbage.map((ref) => ref.$blob).sort())
  expect(garbage.map((ref) => blobs.shared.has(ref.$blob) || blobs.local.has(ref.$blob))).toEqual([
    true,
    true,
  ])
  expect(await collectBlobs(shelf, DELETE)).toEqual(dry)
  expect(dry).toMatchObject({ referenced: 6, recent: 0 })
  expect(garbage.map((ref) => blobs.shared.has(ref.$blob) || blobs.local.has(ref.$blob))).toEqual([
    false,
    false,
  ])
  for (const ref of [a, c, d, e, f]) expect(blobs.shared.has(ref.$blob)).toBe(true)
  expect(blobs.local.has(b.$blob)).toBe(true)
})

test('SPEC 6.2 the recent is skipped, and what was put again counts as recent', async () => {
  const { shelf, blobs } = await fresh()
  const old = await putOld(blobs, 'shared', 'old')
  const again = await putOld(blobs, 'shared', 'again')
  await blobs.shared.put(
    (async function* () {
      yield Buffer.from('again')
    })(),
  )
  expect(await collectBlobs(shelf, DELETE)).toMatchObject({ garbage: [old.$blob], recent: 1 })
  expect(blobs.shared.has(again.$blob)).toBe(true)
})

test.for(['line', 'long line', 'missing log', 'link'])(
  'SPEC 6.2 a conversation that cannot be read stops it before anything is deleted: %s',
  async (how) => {
    const { shelf, blobs } = await fresh()
    const garbage = await putOld(blobs, 'shared', 'nobody')
    const ref = await conversationWith(shelf, 'local')
    if (how === 'line') writeFileSync(eventsFile(ref), `broken\n${readFileSync(eventsFile(ref), 'utf8')}`)
    // What such a line refers to is not known (decision 0382).
    if (how === 'long line')
      appendFileSync(eventsFile(ref), `${JSON.stringify({ kind: 'note', text: 'x'.repeat(2 ** 26) })}\n`)
    const odd = join(shelf.workspace.shared, 'conversations', otherThan(ref.id))
    mkdirSync(join(odd, '..'), { recursive: true })
    if (how === 'missing log') mkdirSync(odd)
    if (how === 'link') symlinkSync('/tmp', odd)
    await expect(collectBlobs(shelf, DELETE)).rejects.toMatchObject({ code: 'CONVERSATION_UNREADABLE' })
    expect(blobs.shared.has(garbage.$blob)).toBe(true)
  },
)

test('it stops while a conversation is being made, and not for one that a crash left', async () => {
  const { shelf, blobs } = await fresh()
  await putOld(blobs, 'shared', 'nobody')
  const id = otherThan((await conversationWith(shelf, 'shared')).id)
  mkdirSync(join(shelf.workspace.shared, 'conversations', `.new-${id}`))
  const maker = tryLock(lockFile(shelf.workspace, id), { what: 'x', holder: HOLDER })!
  await expect(collectBlobs(shelf, DELETE)).rejects.toThrow('it is being made; try again')
  maker.release()
  expect((await collectBlobs(shelf, DELETE)).garbage).toHaveLength(1)
})

test('one collection at a time, and names that are not ours are left alone', async () => {
  const { shelf, blobs } = await fresh()
  await putOld(blobs, 'shared', 'nobody')
  const ours = join(blobs.shared.dir, 'ab/cd')
  mkdirSync(ours, { recursive: true })
  for (const name of ['README', `${'0'.repeat(59)}.blob.gz`, `${'0'.repeat(60)}.blob`]) {
    writeFileSync(join(ours, name), '')
    utimesSync(join(ours, name), 0, 0)
  }
  const other = tryLock(lockFile(shelf.workspace, 'gc'), { what: 'x', holder: HOLDER })!
  await expect(collectBlobs(shelf, DELETE)).rejects.toMatchObject({ code: 'LOCK_HELD' })
  other.release()
  expect((await collectBlobs(shelf, DELETE)).garbage).toHaveLength(1)
  expect(readdirSync(ours)).toHaveLength(3)
})

test('the files of one conversation, for staging', async () => {
  const { shelf, blobs } = await fresh()
  const a = await putOld(blobs, 'shared', 'a')
  const ref = await conversationWith(
    shelf,
    'shared',
    { uri: 'file:///a', text: a },
    { uri: 'file:///a2', text: a },
  )
  expect(await blobs.filesOf(ref)).toEqual([
    join(ref.dir, 'events.jsonl'),
    join(ref.dir, 'meta.json'),
    blobs.shared.pathOf(a.$blob),
  ])
})

test.each(['blobs', 'pair', 'pairs'])(
  'decision 0495: a clone whose %s lead to another workspace: nothing of that one is collected or swept',
  async (link) => {
    const [{ shelf }, other] = [await fresh(), await fresh()]
    const ref = await putOld(other.blobs, 'shared', 'of the other workspace')
    const [first, second] = [ref.$blob.slice(0, 2), ref.$blob.slice(2, 4)]
    const putting = join(other.blobs.shared.dir, '.put-0123456789abcdef')
    writeFileSync(putting, 'is being put')
    const below = { blobs: 'blobs', pair: `blobs/${first}`, pairs: `blobs/${first}/${second}` }[link]!
    const path = join(shelf.workspace.shared, below)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(join(other.shelf.workspace.shared, below), path)
    expect(await collectBlobs(shelf, DELETE)).toEqual({ referenced: 0, recent: 0, garbage: [], bytes: 0 })
    await sweepBlobs(shelf)
    expect(other.blobs.shared.has(ref.$blob)).toBe(true)
    expect(readFileSync(putting, 'utf8')).toBe('is being put')
  },
)
