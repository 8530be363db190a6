import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { COMMANDS } from '../src/commands.ts'
import { signInvocation } from '../src/tokens/invocation.ts'
import { type Agent, ANYTHING, TestPlace } from './place.ts'
import { killProcess, type ProviderProcess, startProcess } from './process.ts'

/** 5,000 in CI; `npm run soak:provider` sends 100,000. */
/** Nearly all of the time is spent waiting for what does not say where it ends. */
const AT_ONCE = 100
const INPUTS = Number(process.env['CORDON_FUZZ_INPUTS'] ?? 5000)
/** The same inputs each time, but for the keys; `CORDON_SEED=random` looks for new ones. */
const SEED = Number(
  process.env['CORDON_FUZZ_SEED'] ??
    (process.env['CORDON_SEED'] === 'random' ? Date.now() % 1e9 : 20_261_116),
)

let place: TestPlace
let agent: Agent
let provider: ProviderProcess

beforeAll(async () => {
  place = await TestPlace.start()
  agent = await place.agent('one', ANYTHING)
  const limits = JSON.stringify({ requestsPerMinute: 1e9, concurrent: 1e6, bytesPerMinute: 1e13 })
  await place.database.queries.updateTable('apps').set({ limits }).execute()
  provider = await startProcess(place.dataDir, place.choice)
})
afterAll(async () => {
  await killProcess(provider, 'SIGTERM')
  await place.close()
})

/** Small and repeatable: mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

test(
  `${INPUTS} inputs (seed ${SEED}): no 500, no hang, no memory that grows`,
  { timeout: 600_000 + INPUTS * 20 },
  async () => {
    const random = randomFrom(SEED)
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
    const port = Number(new URL(provider.url).port)
    const statuses = new Map<string, number>()
    const rss = (): number => {
      return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${provider.child.pid}/status`, 'utf8'))?.[1])
    }
    let warm = 0
    const one = async (input: Buffer): Promise<void> => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(input)
      // What does not say where it ends is ended by us; what does is answered and closed by the server.
      const hurry = setTimeout(() => socket.end(), 1000)
      const pieces: Buffer[] = []
      socket.on('data', (piece) => pieces.push(piece))
      const timer = setTimeout(() => socket.destroy(new Error('hang')), 120_000)
      let hung = false
      socket.once('error', (error) => (hung = error.message === 'hang'))
      await once(socket, 'close').catch(() => undefined)
      clearTimeout(timer)
      clearTimeout(hurry)
      expect(hung, input.toString('latin1').slice(0, 2000)).toBe(false)
      const status = /^HTTP\/1\.1 (\d+)/.exec(Buffer.concat(pieces).toString('latin1'))?.[1] ?? 'none'
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      expect(['500', '502', '503'], `${status}: ${input.toString('latin1').slice(0, 3000)}`).not.toContain(
        status,
      )
    }
    for (let sent = 0; sent < INPUTS; sent += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, () => one(makeInput())))
      if (sent <= INPUTS / 3) warm = Math.max(warm, rss())
    }
    const after = rss()
    expect(after - warm, `${warm} KiB, then ${after}`).toBeLessThan(64 * 1024)
    expect((await fetch(new URL('/readyz', provider.url))).status).toBe(200)
    console.log(
      `seed ${SEED}: ${[...statuses]
        .toSorted()
        .map(([status, count]) => `${status}: ${count}`)
        .join(', ')}`,
    )

    function makeInput(): Buffer {
      const command = pick(COMMANDS)
      const route =
        random() < 0.8
          ? command
          : pick([
              '/',
              '/openapi.json',
              '/approvals/x',
              '/metrics',
              '/%00',
              '//',
              '/filesystem',
              `/approvals/${'a'.repeat(5000)}`,
            ])
      const token =
        random() < 0.7 ? mutate(makeToken(command)) : pick(['', 'C', 'Cgg', 'x'.repeat(70_000), '\u00ff'])
      const body = random() < 0.3 ? 'x'.repeat(Math.floor(random() * 200)) : ''
      const length = random() < 0.9 ? body.length : pick([-1, 1e9, 3])
      const method =
        random() < 0.85 ? 'POST' : pick(['GET', 'PUT', 'OPTIONS', 'HEAD', 'DELETE', 'PATCH', 'X'])
      const more =
        random() < 0.2
          ? `${pick(['Range: bytes=0-', 'If-Match: *', 'Transfer-Encoding: chunked', 'Expect: 100-continue', 'Content-Encoding: gzip', 'X: \u0001'])}\r\n`
          : ''
      const text = `${method} ${route} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${length}\r\n${more}\r\n${body}`
      const bytes = Buffer.from(text, 'latin1')
      if (random() < 0.1)
        for (let i = 0; i < 5; i++) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
      return bytes
    }

    function makeToken(command: (typeof COMMANDS)[number]): string {
      const path = pick([
        place.files,
        `${place.files}/a`,
        `${place.files}/../x`,
        '/',
        '',
        `${place.files}/\u202e`,
        `${place.files}/${'n'.repeat(300)}`,
        `${place.files}/${'d/'.repeat(100)}x`,
      ])
      const values = [
        path,
        0,
        -1,
        1e308,
        true,
        null,
        [],
        {},
        'x',
        Number.MAX_SAFE_INTEGER,
        '\u0000',
        ['x'],
        { old: 'a', new: 'b' },
      ]
      const keys = [
        'path',
        'destination',
        'overwrite',
        'dry_run',
        'if_match',
        'sha256',
        'size',
        'start',
        'length',
        'edits',
        'text',
        'depth',
        'parents',
        'hash',
        'cosigner',
        '__proto__',
        'constructor',
      ]
      const args: Record<string, unknown> = random() < 0.85 ? { path } : {}
      for (let i = random() < 0.5 ? 0 : Math.floor(random() * 4); i > 0; i--)
        Object.defineProperty(args, pick(keys), {
          value: pick(values),
          enumerable: true,
          configurable: true,
          writable: true,
        })
      try {
        return signInvocation({
          key: agent.key,
          chain: agent.delegations,
          command,
          args,
          expires: Math.floor(Date.now() / 1000) + pick([60, 60, 60, -5, 1e6]),
        })
      } catch {
        return 'Cunsignable'
      }
    }

    function mutate(token: string): string {
      if (random() < 0.65) return token
      const bytes = Buffer.from(token.slice(1), 'base64url')
      for (let i = Math.floor(random() * 4); i >= 0; i--) {
        const at = Math.floor(random() * bytes.length)
        if (random() < 0.5) bytes[at] = Math.floor(random() * 256)
        else bytes.copyWithin(at, Math.floor(random() * bytes.length))
      }
      return `C${bytes.subarray(0, random() < 0.1 ? Math.floor(random() * bytes.length) : bytes.length).toString('base64url')}`
    }
  },
)
