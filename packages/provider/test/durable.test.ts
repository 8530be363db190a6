import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Command } from '../src/commands.ts'
import type { Serving } from '../src/http/serve.ts'
import { openAmbientDatabase } from '../src/storage/database.ts'
import { type Agent, ANYTHING, content, send, type Sent, TestPlace } from './place.ts'

/** The embedded database, whose way to the disk a test can hold back. */
let place: TestPlace
let serving: Serving
let agent: Agent
/** Calls that wait for the disk, while it is held; undefined while it is not. */
let waiting: (() => void)[] | undefined

beforeAll(async () => {
  place = await TestPlace.start()
  const database = await openAmbientDatabase(place.choice)
  const flush = async (): Promise<void> => {
    if (waiting) await new Promise<void>((resolve) => waiting!.push(resolve))
    await database.flush()
  }
  serving = await place.serve({ database: { ...database, flush } })
  agent = await place.agent('durable', ANYTHING)
})
afterAll(async () => {
  release()
  await serving.stop()
  await place.close()
})

function release(): void {
  const held = waiting
  waiting = undefined
  for (const each of held ?? []) each()
}

/** Lets those go that wait now; who comes after them waits. */
const releaseOnce = (): void => {
  for (const each of waiting!.splice(0)) each()
}

const inChain = async (kind: string, path: string): Promise<boolean> => {
  const rows = await place.database.queries.selectFrom('audit_records').select('body').execute()
  return rows.some(({ body }) => {
    const record = JSON.parse(body) as Record<string, unknown>
    return record['kind'] === kind && record['path'] === path
  })
}

const contentOf = (dir: string): unknown[] =>
  readdirSync(dir, { recursive: true })
    .map(String)
    .toSorted()
    .map((name) => [name, statSync(join(dir, name)).isFile() ? readFileSync(join(dir, name), 'utf8') : ''])

describe('SPEC 7.6 nothing is changed before its intent is on the disk, nor answered before its outcome is', () => {
  test.each<[Command, string, object, string?]>([
    ['/filesystem/file/write', 'a', content('new'), 'new'],
    ['/filesystem/file/create', 'new', content('new'), 'new'],
    ['/filesystem/file/edit', 'a', { edits: [{ old: 'a', new: 'b' }] }],
    ['/filesystem/file/delete', 'a', {}],
    ['/filesystem/file/move', 'a', { destination: 'b' }],
    ['/filesystem/file/copy', 'a', { destination: 'b' }],
    ['/filesystem/dir/create', 'new', {}],
    ['/filesystem/dir/delete', 'empty', {}],
    ['/filesystem/dir/delete_recursive', 'full', {}],
  ])('%s', async (command, name, more, body) => {
    const dir = join(place.files, command.slice(1).replaceAll('/', '-'))
    for (const each of ['empty', 'full']) mkdirSync(join(dir, each), { recursive: true })
    for (const each of ['a', 'full/f']) writeFileSync(join(dir, each), 'a')
    const before = contentOf(dir)
    const path = join(dir, name)
    const to = 'destination' in more ? { destination: join(dir, String(more.destination)) } : {}

    waiting = []
    let answer: Sent | undefined
    const asked = send(
      agent,
      command,
      { path, ...more, ...to },
      { url: serving.url, ...(body === undefined ? {} : { body }) },
    ).then((sent) => (answer = sent))
    await expect.poll(() => inChain('intent', path)).toBe(true)
    await sleep(100)
    expect([answer, contentOf(dir)]).toEqual([undefined, before])

    releaseOnce()
    await expect.poll(() => inChain('outcome', path)).toBe(true)
    expect(contentOf(dir)).not.toEqual(before)
    await sleep(50)
    expect(answer).toBeUndefined()

    release()
    expect((await asked).code).toBe('ok')
  })
})
