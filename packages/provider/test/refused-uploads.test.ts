import { once } from 'node:events'
import { truncateSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ANYTHING, content, TestPlace } from './place.ts'

/** Far more than what is under way between two processes: most of it is not yet sent when the answer is there. */
const SIZE = 100 * 1024 ** 2

let place: TestPlace
let local: string
let path: string

beforeAll(async () => {
  place = await TestPlace.start()
  path = join(place.files, 'large')
  local = join(place.dir, 'local')
  writeFileSync(local, '')
  truncateSync(local, SIZE)
})
afterAll(() => place.close())

const refusalOf = (sent: Promise<unknown>): Promise<unknown> =>
  sent.then(
    () => 'it was done',
    ({ status, code }: { status: number; code: string }) => ({ status, code }),
  )

test.each([
  ['reader', 'forbid (principal, action, resource);', { status: 403, code: 'policy_denied' }],
  [
    'asking',
    'permit (principal, action, resource) when { context has cosigner && context.cosigner };',
    { status: 428, code: 'step_up_required' },
  ],
])('SPEC 7.2 an upload that is refused while it is sent is told why: %s', async (id, policy, expected) => {
  const client = (await place.agent(id, policy)).client()
  expect(await refusalOf(client.upload('/filesystem/file/write', { path }, local))).toEqual(expected)
  expect(await refusalOf(client.write(path, Buffer.alloc(SIZE)))).toEqual(expected)
})

/** A client that reads nothing before it has sent all, as many do. */
function uploadBlindly(size: number, token: string): Socket {
  const socket = connect(Number(new URL(place.serving.url).port), '127.0.0.1')
  const head = `POST /filesystem/file/write HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${size}\r\n\r\n`
  socket.write(head)
  return socket
}

test('so is a client that reads nothing before it has sent all, also when a part of it was taken', async () => {
  const agent = await place.agent('more', ANYTHING)
  const less = agent.client().sign('/filesystem/file/write', { path, ...content('less') })
  for (const [token, expected] of [
    ['none', /^HTTP\/1.1 401 [^]*"code":"token_malformed"/],
    [less, /^HTTP\/1.1 400 [^]*"code":"content_mismatch"/],
  ] as const) {
    // More than the kernel keeps for a connection; not so much that a busy machine is not through with it in time.
    const bytes = Buffer.alloc(16 * 1024 ** 2)
    const socket = uploadBlindly(bytes.length, token)
    await once(socket.end(bytes), 'finish')
    expect(await textOf(socket)).toMatch(expected)
  }
})

test('who never stops sending is not read for ever', async () => {
  const forever = function* (): Generator<Buffer> {
    for (;;) yield Buffer.alloc(1024 ** 2)
  }
  const socket = uploadBlindly(Number.MAX_SAFE_INTEGER, 'none').resume()
  await expect(pipeline(forever, socket)).rejects.toThrow()
})
