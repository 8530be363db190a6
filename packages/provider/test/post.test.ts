/** What a client puts on the wire (decision 0425): Node adds nothing to headers that it is given as they are sent. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { bytesOf, parseAddress, post } from '../src/client/post.ts'

interface Got {
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
}

async function send(
  listenOn: string,
  body?: Uint8Array | Readable,
): Promise<Got & { readonly port: number }> {
  const server = createServer(async (asked, answer) => {
    const { rawHeaders } = asked
    const headers = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1]!]] : []))
    answer.end(JSON.stringify({ headers, body: (await bytesOf(asked)).toString() }))
  }).listen(0, listenOn)
  onTestFinished(() => server.close().closeAllConnections())
  await once(server, 'listening')
  const { port, family } = server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${listenOn}]` : listenOn
  const answer = await post(parseAddress(`http://${host}:${port}`), '/filesystem/file/read', 'Cabc', body)
  return { port, ...(JSON.parse((await bytesOf(answer)).toString()) as Got) }
}

const ALWAYS = (host: string): string[][] => [
  ['Host', host],
  ['Authorization', 'Bearer Cabc'],
]
const KEPT = ['Connection', 'keep-alive']

test('a request says whom it asks, by what right, and that nothing follows; the connection is kept', async () => {
  const { port, ...got } = await send('127.0.0.1')
  expect(got).toEqual({
    headers: [...ALWAYS(`127.0.0.1:${port}`), ['Content-Length', '0'], KEPT],
    body: '',
  })
})

test('with content it says how much, in bytes; at an address of IPv6, too', async () => {
  const { port, ...got } = await send('::1', Buffer.from('größer'))
  expect(got).toEqual({
    headers: [...ALWAYS(`[::1]:${port}`), ['Content-Length', '8'], KEPT],
    body: 'größer',
  })
})

test('a stream, whose length is not known, comes whole', async () => {
  const { port, ...got } = await send('127.0.0.1', Readable.from([Buffer.from('one '), Buffer.from('two')]))
  expect(got).toEqual({
    headers: [...ALWAYS(`127.0.0.1:${port}`), KEPT, ['Transfer-Encoding', 'chunked']],
    body: 'one two',
  })
})

test('what is no address of HTTP is not asked', async () => {
  await expect(post(parseAddress('ftp://127.0.0.1'), '/', 'C')).rejects.toThrow(
    'Protocol "ftp:" not supported. Expected "http:"',
  )
})
