import { type IncomingMessage, type RequestListener } from 'node:http'
import { type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Client, type Lab, rules, settled, startHttp, startLab, startRaw } from './lab.ts'

interface Heard {
  readonly line: string
  readonly headers: string[]
  readonly trailers: string[]
  readonly body: string
  readonly complete: boolean
}

interface World {
  readonly port: number
  readonly lab: Lab
  readonly heard: Heard[]
  readonly client: Client
  /** The server has the first piece of a body. */
  readonly begun: Promise<void>
}

/** A server that keeps what it was asked, and answers once it has heard all of it. */
async function startWorld(then: RequestListener = (_, res) => res.end('ok')): Promise<World> {
  const heard: Heard[] = []
  const begun = Promise.withResolvers<void>()
  const port = await startHttp((req, res) => {
    let body = ''
    req.on('error', () => {})
    req.on('data', (chunk: Buffer) => {
      body += chunk.toString('latin1')
      begun.resolve()
    })
    req.on('end', () => then(req, res))
    req.on('close', () => heard.push({ ...told(req), body, complete: req.complete }))
  })
  const lab = await startLab(rules({ host: 'a.example', port }))
  return { port, lab, heard, client: new Client(lab.port), begun: begun.promise }
}

const told = (req: IncomingMessage): { line: string; headers: string[]; trailers: string[] } => ({
  line: `${req.method} ${req.url}`,
  headers: req.rawHeaders,
  trailers: req.rawTrailers,
})

const ask = (method: string, port: number, path: string, ...lines: string[]): string =>
  [`${method} http://a.example:${port}${path} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n')
const DENIED = 'GET http://b.example/ HTTP/1.1\r\nHost: x\r\n\r\n'

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((go) => setTimeout(go, 5))
}

test('Expect: 100-continue is answered by the proxy when a rule allows, and the server is not asked to', async () => {
  const { port, heard, client, lab } = await startWorld()
  client.send(ask('POST', port, '/', 'Expect: 100-continue', 'Content-Length: 4'))
  expect(await client.takeHead()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  client.send('body')
  expect(await client.takeAnswer()).toMatchObject({ status: 'HTTP/1.1 200 OK', body: 'ok' })
  const headers = ['Host', `a.example:${port}`, 'Content-Length', '4', 'Connection', 'keep-alive']
  await until(() => heard.length === 1)
  expect(heard).toEqual([{ line: 'POST /', headers, trailers: [], body: 'body', complete: true }])
  expect(await settled(lab, 1)).toMatchObject([{ allowed: true, bytesUp: 4, bytesDown: 2 }])
})

test('Expect: 100-continue where no rule allows: the 403 comes first, and closes what may be out of step', async () => {
  const { port, heard, client, lab } = await startWorld()
  client.send(
    'POST http://b.example/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 900\r\n\r\n',
  )
  const { status, head } = await client.takeAnswer()
  expect([status, /^connection: .*$/im.exec(head)?.[0]]).toEqual([
    'HTTP/1.1 403 Forbidden',
    'Connection: close',
  ])
  // Whether this is the body or, as the client may think, the next request: nothing reaches a server.
  client.send(ask('GET', port, '/'))
  expect((await client.takeAll()).toString()).toBe('')
  expect([heard, lab.asked]).toEqual([[], []])
})

test('RFC 9110 §10.1.1 HTTP/1.0 knows no 100-continue', async () => {
  const { port, client } = await startWorld()
  client.send(
    `POST http://a.example:${port}/ HTTP/1.0\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody`,
  )
  expect((await client.takeAnswer()).status).toBe('HTTP/1.1 200 OK')
})

test('another expectation is refused, and so is all behind it', async () => {
  const { port, heard, client, lab } = await startWorld()
  client.send(ask('GET', port, '/', 'Expect: the-moon') + ask('GET', port, '/next'))
  expect((await client.takeAll()).toString().match(/^HTTP.*|^cordon.*/gm)).toEqual([
    'HTTP/1.1 400 Bad Request',
    'cordon: the request was refused: it expects something else than 100-continue.',
  ])
  expect([heard, lab.asked]).toEqual([[], []])
})

test('chunk extensions and trailers end at the proxy: the server gets the body alone, framed anew', async () => {
  const { port, heard, client } = await startWorld()
  client.send(
    ask('POST', port, '/up', 'Transfer-Encoding: chunked', 'Trailer: Host, X', 'TE: trailers') +
      '3;a=b;c="GET /evil HTTP/1.1"\r\nabc\r\n2;x\r\nde\r\n0;last\r\nHost: evil.example\r\nX: y\r\n\r\n',
  )
  expect((await client.takeAnswer()).status).toBe('HTTP/1.1 200 OK')
  client.send(DENIED)
  expect((await client.takeAnswer()).status).toBe('HTTP/1.1 403 Forbidden')
  const headers = ['Host', `a.example:${port}`, 'Transfer-Encoding', 'chunked', 'Connection', 'keep-alive']
  await until(() => heard.length === 1)
  expect(heard).toEqual([{ line: 'POST /up', headers, trailers: [], body: 'abcde', complete: true }])
})

for (const [name, chunks] of Object.entries({
  'a size that is no number': 'z\r\n',
  'a negative size': '-1\r\n',
  'a size past all numbers': `${'f'.repeat(17)}\r\n`,
  'a size in another notation': '0x3\r\nabc\r\n',
  'data past its size': '3\r\nabcdef\r\n0\r\n\r\n',
  'a bare LF behind the size': '3\nabc\r\n0\r\n\r\n',
  'a bare LF in an extension': '3;a\nb\r\nabc\r\n0\r\n\r\n',
  'a space behind the size': '3 ;a\r\nabc\r\n0\r\n\r\n',
  'endless extensions': `3;${'a'.repeat(20_000)}\r\nabc\r\n0\r\n\r\n`,
  'endless trailers': `0\r\n${`X: ${'y'.repeat(1000)}\r\n`.repeat(40)}\r\n`,
  'a length among the trailers': '0\r\nContent-Length: 99\r\n\r\n',
  'a broken trailer': '0\r\nX y\r\n\r\n',
}))
  test(`a chunked body that can be read in two ways is never a whole one for the server: ${name}`, async () => {
    const { port, heard, client, lab, begun } = await startWorld()
    client.send(`${ask('POST', port, '/up', 'Transfer-Encoding: chunked')}3\r\nabc\r\n`)
    await begun
    client.send(chunks + ask('GET', port, '/next'))
    expect((await client.takeAll()).toString()).toBe('')
    await until(() => heard.length > 0)
    expect(heard).toMatchObject([{ line: 'POST /up', complete: false }])
    expect(await settled(lab, 2)).toMatchObject([
      { allowed: false, reason: expect.stringMatching(/^not a valid HTTP request \(HPE_/) },
      { allowed: true },
    ])
  })

const LEAVE = ['end', 'destroy', 'resetAndDestroy'] as const
for (const leave of LEAVE)
  for (const framing of ['Content-Length: 10', 'Transfer-Encoding: chunked'])
    test(`a body that ends before its end is never whole for the server: ${leave}, ${framing}`, async () => {
      const { port, heard, client, lab, begun } = await startWorld()
      client.send(`${ask('POST', port, '/', framing)}4\r\nbod`)
      await begun
      client.socket[leave]()
      await until(() => heard.length > 0)
      expect(heard).toMatchObject([{ line: 'POST /', complete: false }])
      expect(await settled(lab, 1)).toMatchObject([{ allowed: true, bytesDown: 0 }])
    })

test('what follows a body of a stated length is a request of its own, decided anew', async () => {
  const { port, heard, client, lab } = await startWorld()
  client.send(`${ask('POST', port, '/up', 'Content-Length: 4')}body${DENIED}${ask('GET', port, '/next')}`)
  expect((await client.takeAnswer()).status).toBe('HTTP/1.1 200 OK')
  expect((await client.takeAnswer()).status).toBe('HTTP/1.1 403 Forbidden')
  expect((await client.takeAnswer()).status).toBe('HTTP/1.1 200 OK')
  await until(() => heard.length === 2)
  expect(heard.map(({ line, body }) => [line, body]).toSorted()).toEqual([
    ['GET /next', ''],
    ['POST /up', 'body'],
  ])
  expect(new Set(lab.asked)).toEqual(new Set(['a.example']))
})

for (const surplus of ['junk', '/next HTTP/1.1\r\n\r\n', '\0\r\n\r\n'])
  test(`what follows a body and is no request is refused: ${JSON.stringify(surplus)}`, async () => {
    const { port, heard, client, lab } = await startWorld()
    client.send(`${ask('POST', port, '/up', 'Content-Length: 4')}body`)
    expect((await client.takeAnswer()).status).toBe('HTTP/1.1 200 OK')
    client.send(surplus)
    client.socket.end()
    expect((await client.takeAll()).toString().split('\r\n')[0]).toBe('HTTP/1.1 400 Bad Request')
    await until(() => heard.length > 0)
    expect(heard.map(({ line, body }) => [line, body])).toEqual([['POST /up', 'body']])
    expect(await settled(lab, 2)).toMatchObject([{ allowed: true, bytesUp: 4 }, { allowed: false }])
  })

for (const [name, status] of [
  ['no content', '204 No Content'],
  ['not modified', '304 Not Modified'],
] as const)
  for (const framing of ['Content-Length: 40', 'Transfer-Encoding: chunked'])
    test(`an answer that has no body ends with its head, whatever the server says: ${name}, ${framing}`, async () => {
      const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'
      const port = await startRaw((socket) =>
        socket.on('data', () => void socket.write(`HTTP/1.1 ${status}\r\n${framing}\r\n\r\n${evil}`)),
      )
      const lab = await startLab(rules({ host: 'a.example', port }))
      const client = new Client(lab.port)
      for (let round = 0; round < 2; round++) {
        const head = await client.send(ask('GET', port, '/')).takeHead()
        expect(head.split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`)
        // A client that believed it would take the next answer, of another server, for this body.
        if (name === 'no content') expect(head).not.toMatch(/content-length|transfer-encoding/i)
      }
      expect((await client.send(DENIED).takeAnswer()).status).toBe('HTTP/1.1 403 Forbidden')
      expect(await settled(lab, 3)).toMatchObject([{ bytesDown: 0 }, { bytesDown: 0 }, { allowed: false }])
    })

for (const [name, head] of Object.entries({
  'long, counted': `Content-Length: ${1 << 30}`,
  chunked: 'Transfer-Encoding: chunked',
}))
  test(`a client that leaves in the middle of an answer takes the server's connection along: ${name}`, async () => {
    const sent = 3 << 20
    const servers: Socket[] = []
    const port = await startRaw((socket) => {
      servers.push(socket)
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`)
        if (name === 'chunked') socket.write(`${(1 << 30).toString(16)}\r\n`)
        socket.write(Buffer.alloc(sent, 'y'))
      })
    })
    const lab = await startLab(rules({ host: 'a.example', port }))
    const clients = LEAVE.map(() => new Client(lab.port).send(ask('GET', port, '/')))
    for (const [i, client] of clients.entries()) {
      await client.takeHead()
      await client.take(sent)
      client.socket[LEAVE[i]!]()
    }
    await until(
      () => servers.length === 3 && servers.every((socket) => socket.destroyed || socket.readableEnded),
    )
    expect(await settled(lab, 3)).toMatchObject([
      { allowed: true, bytesUp: 0, bytesDown: sent },
      { allowed: true, bytesUp: 0, bytesDown: sent },
      { allowed: true, bytesUp: 0, bytesDown: sent },
    ])
  })

for (const [name, head, part] of [
  ['counted', 'Content-Length: 1000', 'y'.repeat(10)],
  ['chunked', 'Transfer-Encoding: chunked', `a\r\n${'y'.repeat(10)}\r\n`],
] as const)
  test(`a client that leaves in the middle of its upload asked for one thing only: ${name}`, async () => {
    const heard: Buffer[] = []
    const port = await startRaw((socket) => socket.on('data', (chunk: Buffer) => heard.push(chunk)))
    const lab = await startLab(rules({ host: 'a.example', port }))
    for (const [i, leave] of LEAVE.entries()) {
      const client = new Client(lab.port).send(ask('POST', port, '/', head)).send(part)
      await until(() => Buffer.concat(heard).toString().split('y'.repeat(10)).length === i + 2)
      client.socket[leave]()
    }
    const once = { kind: 'http', allowed: true }
    const decisions = await settled(lab, LEAVE.length)
    expect(decisions).toMatchObject(LEAVE.map(() => once))
  })

test('decision 0053: a switch to anything but WebSocket is not offered, and the request goes on without', async () => {
  const { port, heard, client } = await startWorld()
  client.send(ask('GET', port, '/', 'Connection: Upgrade', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQ'))
  expect(await client.takeAnswer()).toMatchObject({ status: 'HTTP/1.1 200 OK', body: 'ok' })
  client.send(DENIED)
  expect((await client.takeAnswer()).status).toBe('HTTP/1.1 403 Forbidden')
  await until(() => heard.length > 0)
  expect(heard.map(({ headers }) => headers)).toEqual([
    ['Host', `a.example:${port}`, 'Connection', 'keep-alive'],
  ])
})

const WEBSOCKET = ['Connection: Upgrade', 'Upgrade: websocket']
for (const [name, request, status] of [
  ['another method', (port: number) => ask('POST', port, '/', ...WEBSOCKET), '400 Bad Request'],
  ['a body', (port: number) => ask('GET', port, '/', 'Content-Length: 4', ...WEBSOCKET), '400 Bad Request'],
  [
    'a chunked body',
    (port: number) => ask('GET', port, '/', 'Transfer-Encoding: chunked', ...WEBSOCKET),
    '400 Bad Request',
  ],
  ['no rule', () => DENIED.replace('\r\n\r\n', `\r\n${WEBSOCKET.join('\r\n')}\r\n\r\n`), '403 Forbidden'],
] as const)
  test(`decision 0053: a WebSocket is refused with ${name}, and what follows means nothing`, async () => {
    const { port, heard, client, lab } = await startWorld()
    client.send(request(port) + ask('GET', port, '/next'))
    const answers = (await client.takeAll()).toString().match(/^HTTP.*/gm)
    expect(answers).toEqual([`HTTP/1.1 ${status}`])
    expect([heard, lab.asked]).toEqual([[], []])
    expect(await settled(lab, 1)).toMatchObject([{ allowed: false, bytesUp: 0, bytesDown: 0 }])
  })
