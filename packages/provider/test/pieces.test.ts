import { once } from 'node:events'
import { createServer, request, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { ProviderClient } from '../src/client/client.ts'
import { ReceivedBody, sendPieces } from '../src/http/pieces.ts'
import { interruptible } from '../src/operations/interruptible.ts'
import { mintDelegation } from '../src/tokens/delegation.ts'
import { SigningKey } from '../src/tokens/key.ts'
import { parsePrefix } from '../src/tokens/prefix.ts'

const MIB = 1024 * 1024

/** Somewhere to send to, which ends with the test. */
async function serve(answer: RequestListener): Promise<URL> {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

test('a piece of a body is given back when the next is asked for, and all of them are counted', async () => {
  const given: Uint8Array[] = []
  const url = await serve(async (incoming, outgoing) => {
    const body = new ReceivedBody(incoming)
    let atHand = 0
    for await (const piece of body) {
      given.push(piece)
      atHand = Math.max(atHand, given.filter(({ byteLength }) => byteLength > 0).length)
    }
    outgoing.end(`${body.bytes} bytes, ${atHand} at hand`)
  })
  const answer = await fetch(url, { method: 'POST', body: Buffer.alloc(8 * MIB, 'x') })
  expect(await answer.text()).toBe(`${8 * MIB} bytes, 1 at hand`)
  expect(given.length).toBeGreaterThan(8)
  expect(given.every(({ byteLength }) => byteLength === 0)).toBe(true)
})

test('of a body that was stopped early nothing more is kept', async () => {
  const url = await serve(async (incoming, outgoing) => {
    const stop = new AbortController()
    for await (const _ of interruptible(new ReceivedBody(incoming), stop.signal)) break
    outgoing.end(`${incoming.listenerCount('data')} listeners`)
  })
  const answer = await fetch(url, { method: 'POST', body: Buffer.alloc(MIB) })
  expect(await answer.text()).toBe('0 listeners')
})

test('memory that a piece shares with others is left alone', async () => {
  const shared = Buffer.alloc(1024, 'x')
  const url = await serve(async (incoming, outgoing) => {
    incoming.push(shared.subarray(0, 10)) // as Node's own small buffers are
    for await (const _ of new ReceivedBody(incoming));
    outgoing.end(`${shared.length}`)
  })
  expect(await (await fetch(url, { method: 'POST', body: 'and more' })).text()).toBe('1024')
})

test('a client that goes away ends the body with an error, not as if it were whole', async () => {
  const ended = Promise.withResolvers<string>()
  const url = await serve(async (incoming) => {
    try {
      for await (const _ of new ReceivedBody(incoming)) client.destroy()
      ended.resolve('whole')
    } catch (error) {
      ended.resolve((error as Error).message)
    }
  })
  const client = request(url, { method: 'POST', headers: { 'content-length': '100' } })
  client.on('error', () => {})
  client.write('a part')
  expect(await ended.promise).toBe('aborted')
})

/** All in the same memory, as `OpenFile.pieces` does it. */
async function* letters(bytes: number): AsyncGenerator<Uint8Array> {
  const one = Buffer.alloc(bytes)
  for (const letter of 'abcdefgh') yield one.fill(letter)
}

test('the next piece is asked for when this one was taken: a slow reader gets what was sent', async () => {
  const stop = new AbortController().signal
  const url = await serve((_, outgoing) => sendPieces(outgoing, { pieces: letters(4 * MIB), stop }, 32 * MIB))
  const got: Buffer[] = []
  const response = await fetch(url)
  await pause(50) // the buffers on the way are full; longer or shorter changes nothing but how hard this is
  for await (const piece of response.body!) got.push(Buffer.from(piece))
  const runs = [
    ...Buffer.concat(got)
      .toString('latin1')
      .matchAll(/(.)\1*/gs),
  ]
  expect(runs.map(([run, letter]) => `${run.length} ${letter}`)).toEqual(
    Array.from('abcdefgh', (letter) => `${4 * MIB} ${letter}`),
  )
})

test('fewer bytes than were promised, a stop, or a client that is gone: cut, and the pieces are ended', async () => {
  for (const how of ['short', 'stop', 'gone'] as const) {
    const stop = new AbortController()
    const ended = Promise.withResolvers<void>()
    const url = await serve(async (_, outgoing) => {
      const pieces = (async function* () {
        try {
          yield* letters(4 * MIB)
        } finally {
          ended.resolve()
        }
      })()
      outgoing.writeHead(200, { 'content-length': 64 * MIB })
      await sendPieces(outgoing, { pieces, stop: stop.signal }, 64 * MIB)
    })
    const response = await fetch(url)
    const reader = response.body!.getReader()
    await reader.read()
    if (how === 'stop') stop.abort()
    if (how === 'gone') await reader.cancel()
    else
      await expect(
        (async () => {
          while (!(await reader.read()).done);
        })(),
      ).rejects.toThrow('terminated')
    await ended.promise
  }
})

test('a client may begin to read late: a collection meanwhile does not empty the content', async () => {
  const url = await serve((_, outgoing) => void outgoing.end('all of it'))
  const provider = SigningKey.generate()
  const key = SigningKey.generate()
  const terms = { audience: key.did, prefix: parsePrefix('/f'), command: '/filesystem', expires: 2 ** 40 }
  const delegations = [mintDelegation(provider, terms)]
  const client = new ProviderClient({ url: url.href, key, delegations: () => delegations })
  const { stream } = await client.read('/f/a')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let turn = 0; turn < 10; turn++) {
    collect()
    await new Promise(setImmediate) // what was collected is told in a turn of its own
  }
  expect(await text(stream)).toBe('all of it')
})
