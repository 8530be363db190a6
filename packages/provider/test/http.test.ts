import { spawn, spawnSync } from 'node:child_process'
import { createHash, hash } from 'node:crypto'
import {
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ANSWERS, ERROR_BODY } from '../src/http/answers.ts'
import { COMMANDS, type Command, toolNameOf } from '../src/commands.ts'
import { REFUSALS } from '../src/errors.ts'
import { serveProvider } from '../src/http/serve.ts'
import { signInvocation } from '../src/tokens/invocation.ts'
import { type Agent, ANYTHING, content, readSent, send, type Sent, TestPlace } from './place.ts'
import { killProcess, startProcess } from './process.ts'

let place: TestPlace
let agent: Agent
let files: string

beforeAll(async () => {
  place = await TestPlace.start(undefined, { operationMs: 300_000 }) // many at once, on a busy machine
  files = place.files
  agent = await place.agent('one', ANYTHING)
  await unlimited(place)
})
afterAll(() => place.close())

async function unlimited({ database }: TestPlace): Promise<void> {
  const limits = JSON.stringify({ requestsPerMinute: 1e9, concurrent: 1e6, bytesPerMinute: 1e13 })
  await database.queries.updateTable('apps').set({ limits }).execute()
  await database.queries
    .updateTable('meta')
    .set((row) => ({ value: row('value', '+', 1) }))
    .where('name', '=', 'generation')
    .execute()
}

const write = (path: string, text: string, more: object = {}): Promise<Sent> =>
  send(agent, '/filesystem/file/write', { path, ...content(text), ...more }, { body: text })
async function lastOutcome(): Promise<unknown> {
  const rows = await place.database.queries
    .selectFrom('audit_records')
    .select('body')
    .orderBy('seq', 'desc')
    .limit(1)
    .execute()
  return JSON.parse(rows[0]!.body)
}

const json = ({ body }: Sent): unknown => JSON.parse(body.toString())

describe('SPEC 7.2 content', () => {
  test('ranges, with the length of the whole', async () => {
    const path = join(files, 'ranged')
    writeFileSync(path, '0123456789')
    const read = (args: object): Promise<Sent> => send(agent, '/filesystem/file/read', { path, ...args })
    const part = await read({ start: 2, length: 3 })
    expect([part.status, part.body.toString(), part.headers.get('content-range')]).toEqual([
      206,
      '234',
      'bytes 2-4/10',
    ])
    const whole = await read({})
    expect([whole.status, whole.headers.get('etag')]).toEqual([200, `"${hash('sha256', '0123456789')}"`])
    expect((await read({ start: 8, length: 100 })).body.toString()).toBe('89')
    for (const empty of [{ start: 10 }, { start: 11 }, { length: 0 }, { start: 3, length: 0 }]) {
      const { status, code, headers, error, message } = await read(empty)
      expect([status, code, headers.get('content-range'), error['size'], message]).toEqual([
        416,
        'range_not_satisfiable',
        'bytes */10', // RFC 9110 15.5.17
        10,
        'there is no byte in that range: the file has 10',
      ])
    }
    writeFileSync(path, '')
    for (const all of [{}, { start: 0 }, { length: 0 }, { length: 5 }])
      expect(await read(all)).toMatchObject({ status: 200, body: Buffer.alloc(0) })
    expect((await read({ start: 1 })).headers.get('content-range')).toBe('bytes */0')
    writeFileSync(path, '0123456789')
    expect((await read({ start: -1 })).code).toBe('args_invalid')
  })

  test('If-Match on read, write, edit and delete', async () => {
    const path = join(files, 'matched')
    writeFileSync(path, 'one')
    const [good, bad] = [content('one').sha256, content('other').sha256]
    expect((await send(agent, '/filesystem/file/read', { path, if_match: good })).body.toString()).toBe('one')
    expect(await send(agent, '/filesystem/file/read', { path, if_match: bad })).toMatchObject({
      status: 409,
      code: 'changed',
    })
    expect((await write(path, 'two', { if_match: bad })).code).toBe('changed')
    expect(readFileSync(path, 'utf8')).toBe('one')
    expect((await write(path, 'two', { if_match: good })).code).toBe('ok')
    const edits = [{ old: 'two', new: 'three' }]
    expect((await send(agent, '/filesystem/file/edit', { path, edits, if_match: good })).code).toBe('changed')
    expect((await send(agent, '/filesystem/file/delete', { path, if_match: good })).code).toBe('changed')
    expect(
      (await send(agent, '/filesystem/file/delete', { path, if_match: content('two').sha256 })).code,
    ).toBe('ok')
    expect((await write(join(files, 'missing'), 'x', { if_match: good })).code).toBe('changed')
  })

  test('content that is not what was signed changes nothing', async () => {
    const path = join(files, 'signed')
    writeFileSync(path, 'old')
    for (const body of ['neW', 'other', 'new and more', 'ne', '']) {
      const sent = await send(agent, '/filesystem/file/write', { path, ...content('new') }, { body })
      expect(sent, body).toMatchObject({ status: 400, code: 'content_mismatch' })
    }
    expect(readFileSync(path, 'utf8')).toBe('old')
    expect(readdirSync(files).filter((name) => name.includes('tmp'))).toEqual([])
  })

  test('an edit is all or nothing', async () => {
    const path = join(files, 'edit')
    writeFileSync(path, 'a b a')
    const edit = (edits: object[]): Promise<Sent> => send(agent, '/filesystem/file/edit', { path, edits })
    const twice = await edit([
      { old: 'b', new: 'c' },
      { old: 'a', new: 'x' },
    ])
    expect(twice).toMatchObject({
      status: 409,
      message: 'edit 2: its old text is there 2 times; nothing was changed',
    })
    expect((await edit([{ old: 'nope', new: '' }])).message).toBe(
      'edit 1: its old text is not there; nothing was changed',
    )
    expect(readFileSync(path, 'utf8')).toBe('a b a')
    expect((await edit([{ old: 'a', new: '$&$1', all: true }])).code).toBe('ok')
    expect(readFileSync(path, 'utf8')).toBe('$&$1 b $&$1')
  })

  test('1,000 concurrent writers of one file: it is always one of theirs, whole', async () => {
    const path = join(files, 'contended')
    const texts = Array.from({ length: 1000 }, (_, i) => `${i} `.repeat(500))
    const reading = new AbortController()
    const reader = (async () => {
      while (!reading.signal.aborted) {
        const { code, body } = await send(agent, '/filesystem/file/read', { path })
        if (code === 'ok') expect(texts).toContain(body.toString())
        await pause(20)
      }
    })()
    for (let at = 0; at < texts.length; at += 250) {
      const all = await Promise.all(texts.slice(at, at + 250).map((text) => write(path, text)))
      expect(all.filter(({ code }) => code !== 'ok')).toEqual([])
    }
    reading.abort()
    await reader
    expect(texts).toContain(readFileSync(path, 'utf8'))
    // With If-Match, exactly one of those who saw the same content wins.
    const if_match = content(readFileSync(path, 'utf8')).sha256
    const rivals = await Promise.all(
      Array.from({ length: 50 }, (_, i) => write(path, `rival ${i}`, { if_match })),
    )
    expect(rivals.filter(({ code }) => code === 'ok').length).toBe(1)
    expect(new Set(rivals.map(({ code }) => code))).toEqual(new Set(['ok', 'changed']))
  })
})

describe('what is too big', () => {
  test('SPEC 7.3 a directory of 200,000 entries is listed as far as a mebibyte goes', async () => {
    const dir = join(files, 'many')
    mkdirSync(dir)
    const script = `import os\nfor i in range(200000): os.close(os.open(f"${dir}/entry-number-{i}", os.O_CREAT|os.O_WRONLY))`
    await once(spawn('python3', ['-c', script]), 'exit')
    for (const command of ['/filesystem/dir/list', '/filesystem/dir/tree'] as const) {
      const sent = await send(agent, command, { path: dir })
      const { truncated, entries } = json(sent) as { truncated: boolean; entries: unknown[] }
      expect({ code: sent.code, truncated }).toEqual({ code: 'ok', truncated: true })
      expect(entries.length).toBeGreaterThan(5000)
      expect(sent.body.length).toBeLessThanOrEqual(1024 * 1024)
    }
    await once(spawn('rm', ['-rf', dir]), 'exit')
  })

  test('a read of 10 GiB of nothing streams, and memory does not grow; cut short, the record says so', async () => {
    const path = join(files, 'sparse')
    writeFileSync(path, '')
    truncateSync(path, 10 * 1024 ** 3)
    const provider = await startProcess(place.dataDir, place.choice)
    const rss = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${provider.child.pid}/status`, 'utf8'))?.[1])
    const client = agent.client(provider.url)
    await client.readText(join(files, 'ranged'))
    const before = rss()
    const { stream, length, sha256 } = await client.read(path)
    expect({ length, sha256 }).toEqual({ length: 10 * 1024 ** 3, sha256: undefined })
    let [bytes, most] = [0, 0]
    for await (const piece of stream) {
      bytes += piece.length
      most = Math.max(most, rss())
      if (bytes > 512 * 1024 ** 2) break // the rest is the same
    }
    expect(most - before).toBeLessThan(200 * 1024)
    const part = await client.read(path, { start: 10 * 1024 ** 3 - 5 })
    expect((await buffer(part.stream)).length).toBe(5)
    await expect
      .poll(async () => {
        const rows = await place.database.queries
          .selectFrom('audit_records')
          .select('body')
          .orderBy('seq', 'desc')
          .limit(6)
          .execute()
        return rows.map(({ body }) => (JSON.parse(body) as { code?: string }).code)
      })
      .toContain('client_gone')
    await killProcess(provider, 'SIGTERM')
  })
})

describe('slow clients', () => {
  test('30 s per operation: an upload that stalls is answered, and leaves nothing', async () => {
    const impatient = await place.serve({ operationMs: 500 })
    const path = join(files, 'stalled')
    const args = { path, ...content('never comes') }
    const token = signInvocation({
      key: agent.key,
      chain: agent.delegations,
      command: '/filesystem/file/write',
      args,
      expires: Math.floor(Date.now() / 1000) + 60,
    })
    const socket = connect(Number(new URL(impatient.url).port), '127.0.0.1')
    socket.write(
      `POST /filesystem/file/write HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: 11\r\n\r\nnev`,
    )
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1.1 504 [^]*"code":"timed_out"/)
    socket.destroy()
    expect(readdirSync(files)).not.toContain('stalled')
    await impatient.stop()
  })

  test('a reader that stops reading is let go, and the record says so', async () => {
    const impatient = await place.serve({ operationMs: 5000, slowestBytesPerSecond: 1024 ** 3 })
    const path = join(files, 'unread')
    writeFileSync(path, '')
    truncateSync(path, 256 * 1024 ** 2) // more than all buffers on the way hold
    const { stream } = await agent.client(impatient.url).read(path)
    const reader = stream[Symbol.asyncIterator]()
    await reader.next()
    await expect.poll(lastOutcome, { interval: 500 }).toMatchObject({ result: 'failed', code: 'client_gone' })
    const rest = (async () => {
      for (;;) if ((await reader.next()).done) return
    })()
    await expect(rest).rejects.toThrow('aborted')
    await impatient.stop()
  })

  test('the attack: connections that say nothing: the oldest of too many go, and who asks is answered', async () => {
    const port = Number(new URL(place.serving.url).port)
    const sockets: Socket[] = []
    const heard = new Map<Socket, string>()
    for (let i = 0; i < 1100; i++) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined)
      socket.on('data', (data: Buffer) => heard.set(socket, data.toString()))
      await once(socket, 'connect')
      sockets.push(socket)
    }
    await expect.poll(() => sockets.slice(0, 50).every((socket) => socket.closed)).toBe(true)
    expect(heard.size).toBe(0) // not because their headers took too long
    const last = sockets.at(-1)!
    last.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await expect.poll(() => heard.get(last)).toMatch(/^HTTP\/1.1 200 /)
    for (const socket of sockets) socket.destroy()
  })

  test('headers that do not come', async () => {
    const socket = connect(Number(new URL(place.serving.url).port), '127.0.0.1')
    socket.write('POST /filesystem/file/read HTTP/1.1\r\nHost: x\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1.1 408 /)
    socket.destroy()
  })
})

// Before the clock is set ahead and back, below: a provider whose clock is behind is not ready.
test('metrics count by command and code, and name nobody', async () => {
  const text = await (await fetch(new URL('/metrics', place.serving.url))).text()
  expect(text).toMatch(/cordon_requests_total\{command="\/filesystem\/file\/read",code="ok"\} \d+\n/)
  expect(text).toContain('cordon_ready 1\n')
  expect(text).not.toContain(files)
  expect(text).not.toContain('did:key')
})

describe('limits of an app', () => {
  // What was used comes back with the time.
  beforeAll(() => place.stopClock())
  afterAll(() => place.startClock())

  const limited = async (id: string, limits: object): Promise<Agent> => {
    const own = await place.agent(id, ANYTHING)
    const all = { requestsPerMinute: 1e9, concurrent: 1e6, bytesPerMinute: 1e13, ...limits }
    await place.database.queries
      .updateTable('apps')
      .set({ limits: JSON.stringify(all) })
      .where('id', '=', id)
      .execute()
    await place.database.queries
      .updateTable('meta')
      .set((row) => ({ value: row('value', '+', 1) }))
      .where('name', '=', 'generation')
      .execute()
    return own
  }
  test('requests a minute, which come back', async () => {
    const own = await limited('rate', { requestsPerMinute: 3 })
    const ask = (): Promise<Sent> => send(own, '/filesystem/file/stat', { path: files })
    const codes = []
    for (let i = 0; i < 5; i++) codes.push((await ask()).code)
    expect(codes).toEqual(['ok', 'ok', 'ok', 'rate_limited', 'rate_limited'])
    const refused = await ask()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '20'])
    expect((await send(agent, '/filesystem/file/stat', { path: files })).code).toBe('ok') // others do not suffer
    place.shift = 25_000
    expect((await ask()).code).toBe('ok')
    place.shift = 0
  })

  test('at once', async () => {
    const own = await limited('parallel', { concurrent: 2 })
    interface Stuck {
      readonly sent: Promise<Sent>
      readonly go: () => void
      isOver: boolean
    }
    const stuck = (): Stuck => {
      let go = (): void => {}
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(Buffer.from('x'))
          go = () => (controller.enqueue(Buffer.from('y')), controller.close())
        },
      })
      const path = join(files, `stuck-${Math.random()}`)
      const sent = send(own, '/filesystem/file/write', { path, ...content('xy') }, { body })
      const made: Stuck = { sent, go: () => go(), isOver: false }
      void sent.then(() => (made.isOver = true))
      return made
    }
    let running = [stuck(), stuck()]
    await expect
      .poll(async () => {
        // The question itself may have taken the place of one of them.
        running = running.map((each) => (each.isOver ? stuck() : each))
        return (await send(own, '/filesystem/file/stat', { path: files })).code
      })
      .toBe('too_many_at_once')
    for (const { go } of running) go()
    expect((await Promise.all(running.map(({ sent }) => sent))).map(({ code }) => code)).toEqual(['ok', 'ok'])
    expect((await send(own, '/filesystem/file/stat', { path: files })).code).toBe('ok')
  })

  test('bytes a minute count when they are announced: several at once, and what fails, cost the same', async () => {
    const upload = (own: Agent, more: object = {}): Promise<Sent> => {
      const args = { path: join(files, 'announced'), ...content('x'.repeat(150)), ...more }
      return send(own, '/filesystem/file/write', args, { body: 'x'.repeat(150) })
    }
    const wrong = await limited('announced-wrong', { bytesPerMinute: 100 })
    expect((await upload(wrong, { sha256: '0'.repeat(64) })).code).toBe('content_mismatch')
    expect((await upload(wrong)).code).toBe('rate_limited')

    const twice = await limited('announced-twice', { bytesPerMinute: 100 })
    const codes = (await Promise.all([upload(twice), upload(twice)])).map(({ code }) => code)
    expect(codes.sort()).toEqual(['ok', 'rate_limited'])

    const never = await limited('announced-never', { bytesPerMinute: 1000 })
    expect((await upload(never, { size: 10 ** 12 })).code).toBe('content_mismatch')
    expect((await upload(never)).code).toBe('ok') // what never came is not counted
  })

  test('bytes a minute', async () => {
    const own = await limited('bytes', { bytesPerMinute: 100 })
    writeFileSync(join(files, 'bytes'), 'x'.repeat(150))
    expect((await send(own, '/filesystem/file/read', { path: join(files, 'bytes') })).code).toBe('ok')
    expect((await send(own, '/filesystem/file/read', { path: join(files, 'bytes') })).code).toBe(
      'rate_limited',
    )
  })

  test('what a client left unread is given back', async () => {
    const own = await limited('unread-bytes', { bytesPerMinute: 64 * 1024 ** 2 })
    const path = join(files, 'left-unread')
    writeFileSync(path, '')
    truncateSync(path, 1024 ** 3)
    const { stream } = await own.client().read(path)
    await once(stream, 'readable')
    expect((await send(own, '/filesystem/file/stat', { path })).code).toBe('rate_limited') // until it is known
    stream.destroy()
    await expect.poll(async () => (await send(own, '/filesystem/file/stat', { path })).code).toBe('ok')
  })
})

describe('SPEC 7.2 the OpenAPI document', () => {
  let document: {
    openapi: string
    paths: Record<string, { post?: { operationId: string; responses: object } }>
    components: { schemas: Record<string, { properties: object }> }
  }
  beforeAll(async () => {
    document = (await (await fetch(new URL('/openapi.json', place.serving.url))).json()) as typeof document
  })

  test('describes every command, its arguments and every status there is', () => {
    expect(document.openapi).toBe('3.1.0')
    for (const command of COMMANDS) {
      const { post } = document.paths[command]!
      expect(post?.operationId).toBe(toolNameOf(command))
      const statuses = Object.keys(post!.responses).map(Number)
      for (const status of Object.values(REFUSALS)) expect(statuses).toContain(status)
      expect(Object.keys(document.components.schemas[`${toolNameOf(command)}Args`]!.properties)).toContain(
        'path',
      )
    }
    expect(
      Object.keys(document.paths)
        .filter((path) => path.startsWith('/filesystem'))
        .toSorted(),
    ).toEqual(COMMANDS.toSorted())
  })

  test('and every command answers as it says', async () => {
    const dir = join(files, 'api')
    mkdirSync(dir)
    const at = (name: string): string => join(dir, name)
    const calls: readonly [Command, object, string?][] = [
      ['/filesystem/file/create', { path: at('a'), ...content('text') }, 'text'],
      ['/filesystem/file/write', { path: at('a'), ...content('text') }, 'text'],
      ['/filesystem/file/edit', { path: at('a'), edits: [{ old: 'text', new: 'texts' }] }],
      ['/filesystem/file/stat', { path: at('a'), hash: true }],
      ['/filesystem/file/stat', { path: dir }],
      ['/filesystem/file/search', { path: dir, text: 'TEXT', ignore_case: true }],
      ['/filesystem/file/copy', { path: at('a'), destination: at('b') }],
      ['/filesystem/file/move', { path: at('b'), destination: at('c') }],
      ['/filesystem/dir/create', { path: at('d') }],
      ['/filesystem/dir/list', { path: dir }],
      ['/filesystem/dir/tree', { path: dir, depth: 2 }],
      ['/filesystem/dir/delete', { path: at('d') }],
      ['/filesystem/file/delete', { path: at('c') }],
      ['/filesystem/dir/delete_recursive', { path: dir, dry_run: true }],
      ['/filesystem/dir/delete_recursive', { path: dir }],
    ]
    for (const [command, args, body] of calls) {
      const sent = await send(
        agent,
        command,
        args as Record<string, unknown>,
        body === undefined ? {} : { body },
      )
      expect(sent.code, command).toBe('ok')
      const read = ANSWERS[command]!.safeParse(json(sent))
      expect(read.error, command).toBeUndefined()
    }
    expect(new Set([...calls.map(([command]) => command), '/filesystem/file/read']).size).toBe(
      COMMANDS.length,
    )
    const refused = await send(agent, '/filesystem/file/read', { path: at('gone') })
    expect(ERROR_BODY.safeParse(json(refused)).error).toBeUndefined()
  })
})

test('what is not there, and methods that are not', async () => {
  expect(await readSent(await fetch(new URL('/nope', place.serving.url)))).toMatchObject({
    status: 404,
    code: 'not_found',
  })
  expect((await fetch(new URL('/filesystem/file/read', place.serving.url))).status).toBe(404)
})

test('it listens elsewhere than on loopback only with TLS or when told to, and then speaks TLS', async () => {
  const options = {
    database: place.database,
    dir: place.dataDir,
    host: '0.0.0.0',
    port: 0,
    version: 'x',
    log: () => {},
  }
  await expect(serveProvider(options)).rejects.toThrow(
    'will not listen on 0.0.0.0 without TLS: tokens and contents would be readable\n  fix: --tls-cert and --tls-key, or --plain-http behind a proxy that does TLS',
  )
  const dir = mkdtempSync(join(tmpdir(), 'cordon-tls-'))
  const made = spawnSync('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-subj',
    '/CN=localhost',
    '-days',
    '2',
    '-keyout',
    join(dir, 'key'),
    '-out',
    join(dir, 'cert'),
  ])
  expect(made.status).toBe(0)
  const tls = { cert: readFileSync(join(dir, 'cert')), key: readFileSync(join(dir, 'key')) }
  const serving = await place.serve({ host: '0.0.0.0', tls })
  const { port } = new URL(serving.url)
  const answer = await new Promise<number>((resolve, reject) => {
    httpsRequest(
      { host: '127.0.0.1', port, path: '/healthz', ca: tls.cert, servername: 'localhost' },
      (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      },
    )
      .on('error', reject)
      .end()
  })
  expect(answer).toBe(200)
  await serving.stop()
  const plain = await place.serve({ host: '0.0.0.0', plain: true })
  await plain.stop()
})

test('a big write streams: memory does not grow, and its hash is what was sent', async () => {
  const local = join(place.dir, 'local')
  writeFileSync(local, '')
  truncateSync(local, 400 * 1024 ** 2)
  const path = join(files, 'big')
  const provider = await startProcess(place.dataDir, place.choice)
  const rss = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${provider.child.pid}/status`, 'utf8'))?.[1])
  const client = agent.client(provider.url)
  await client.write(path, 'warm')
  const before = rss()
  let most = 0
  const watch = setInterval(() => (most = Math.max(most, rss())), 20)
  const { sha256, size } = await client.upload('/filesystem/file/write', { path }, local)
  clearInterval(watch)
  expect(size).toBe(400 * 1024 ** 2)
  expect(most - before).toBeLessThan(200 * 1024)
  const digest = createHash('sha256')
  for await (const piece of createReadStream(path)) digest.update(piece as Buffer)
  expect(digest.digest('hex')).toBe(sha256)
  await killProcess(provider, 'SIGTERM')
})
