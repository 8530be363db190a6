import { existsSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type BlobRef,
  Blobs,
  collectBlobs,
  type ConversationRef,
  createConversation,
  findConversation,
  listConversations,
  openConversation,
  readConversation,
  removeConversation,
  type Shelf,
  sweepBlobs,
  sweepConversations,
} from '@cordon/workspace'
import { expect, test } from 'vitest'
import { freshWorkspace, HOLDER, kill, linesOf, startChild } from './fixture.ts'

/** `npm run soak:workspace` sets 500. */
const ROUNDS = Number(process.env['CORDON_ROUNDS'] ?? 2)

interface Acknowledged {
  readonly started?: string
  readonly event?: string
  readonly blob?: BlobRef
  readonly fork?: string
}

test('SPEC 6.1, 6.2 kill -9 at any point of append, put, fork, remove and collect', async () => {
  const { base, workspace } = await freshWorkspace()
  const shelf: Shelf = { workspace, holder: HOLDER, now: () => new Date() }
  const conversations = {
    a: await createConversation(shelf, { keeping: 'shared' }),
    b: await createConversation(shelf, { keeping: 'local' }),
  }
  const events = { a: [] as string[], b: [] as string[] }
  const referenced: BlobRef[] = []
  const store = new Blobs(shelf)
  for (let round = 0; round < ROUNDS; round++) {
    const blobs: BlobRef[] = []
    const forks: { id: string; of: 'a' | 'b'; events: number }[] = []
    const churn = async (name: 'a' | 'b'): Promise<void> => {
      const args = [workspace.root, join(base, 'data'), conversations[name].id, `${name}${round}`]
      const child = startChild('churn', args)
      for await (const line of linesOf(child)) {
        const acknowledged = JSON.parse(line) as Acknowledged
        // One of them is killed wherever it is, the other after it has done something, however slow the machine is.
        const isTime = name === 'a' ? acknowledged.event !== undefined : acknowledged.started !== undefined
        if (isTime) void sleep(Math.random() * 250).then(() => kill(child))
        if (acknowledged.blob) blobs.push(acknowledged.blob)
        if (acknowledged.event !== undefined) {
          events[name].push(acknowledged.event)
          referenced.push(acknowledged.blob!)
        }
        if (acknowledged.fork !== undefined)
          forks.push({ id: acknowledged.fork, of: name, events: events[name].length })
      }
    }
    await Promise.all([churn('a'), churn('b')])
    await sweepConversations(shelf)
    await sweepBlobs(shelf)
    expect(leftovers(base)).toEqual([])
    const ids = listConversations(shelf).map(({ id }) => `${id}.lock`)
    const locks = readdirSync(join(workspace.local, 'locks')).filter((name) =>
      /^[0-9a-z]{16}\.lock$/.test(name),
    )
    expect(locks.filter((name) => !ids.includes(name))).toEqual([])
    for (const name of ['a', 'b'] as const) {
      const kept = await requestsOf(conversations[name])
      // In order, each once; an event that was not acknowledged in time may be there as well.
      expect(kept.filter((text) => events[name].includes(text))).toEqual(events[name])
    }
    for (const fork of forks)
      expect((await requestsOf(findConversation(shelf, fork.id))).length).toBeGreaterThanOrEqual(fork.events)
    for (const ref of listConversations(shelf)) {
      await requestsOf(ref) // whatever is listed can be read
      if (ref.id !== conversations.a.id && ref.id !== conversations.b.id) await removeConversation(shelf, ref)
    }
    for (const blob of blobs) expect(await store.read({ blob }, 1e9)).toHaveLength(blob.size)
    // From now on only being referenced keeps them, from the collections of the next rounds and from this one.
    for (const blob of referenced) utimesSync(store.shared.pathOf(blob.$blob), 0, 0)
    await collectBlobs(shelf, { action: 'delete' })
    expect(referenced.filter((blob) => !store.shared.has(blob.$blob))).toEqual([])
  }
  expect(referenced.length).toBeGreaterThan(0)
  for (const blob of referenced) expect(await store.read({ blob }, 1e9)).toHaveLength(blob.size)
})

async function requestsOf(ref: ConversationRef): Promise<string[]> {
  const texts: string[] = []
  for await (const event of readConversation(ref)) if (event.kind === 'request') texts.push(event.text)
  return texts
}

const leftovers = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.tmp$|put-|\.new-|\.rm-/.test(path),
  )

test('two processes on one conversation: one waits its turn, and both are kept whole', async () => {
  const { base, workspace } = await freshWorkspace()
  const shelf: Shelf = { workspace, holder: HOLDER, now: () => new Date() }
  const ref = await createConversation(shelf, { keeping: 'shared' })
  const run = async (name: string): Promise<void> => {
    const child = startChild('append', [workspace.root, join(base, 'data'), ref.id, name, '20'])
    for await (const _ of linesOf(child));
  }
  await Promise.all([run('x'), run('y')])
  const kept = (await requestsOf(ref)).map((text) => text.split(' ')[0])
  const first = kept[0]!.startsWith('x') ? ['x', 'y'] : ['y', 'x']
  expect(kept).toEqual(first.flatMap((name) => Array.from({ length: 20 }, (_, i) => `${name}-${i}`)))
})

test('a process that does not want to wait is told which one holds the conversation', async () => {
  const { base, workspace } = await freshWorkspace()
  const shelf: Shelf = { workspace, holder: HOLDER, now: () => new Date() }
  const ref = await createConversation(shelf, { keeping: 'shared' })
  const child = startChild('append', [workspace.root, join(base, 'data'), ref.id, 'x'])
  for await (const _ of linesOf(child)) break
  await expect(openConversation(shelf, ref, { wait: 0 })).rejects.toMatchObject({
    code: 'LOCK_HELD',
    holder: { pid: child.pid, command: 'append' },
  })
  await kill(child)
  await (await openConversation(shelf, ref, { wait: 0 })).close()
  expect(existsSync(join(workspace.local, 'locks', `${ref.id}.lock`))).toBe(true)
})
