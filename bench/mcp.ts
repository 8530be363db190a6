/** Calls through the gateway against the same calls to the bare server, by the same client of the SDK (issue 14). */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { median, pretty } from './measure.ts'

const ROOT = join(import.meta.dirname, '..')
const CORDON = join(ROOT, 'packages/cli/bin/cordon.cjs')
const module = (name: string): string =>
  join(ROOT, 'node_modules/@modelcontextprotocol', name, 'dist/index.js')
const EVERYTHING = module('server-everything')
const FILES = module('server-filesystem')
const PLAIN = join(import.meta.dirname, 'plain-server.ts')

const base = mkdtempSync(join(tmpdir(), 'cordon-bench-'))
const cwd = join(base, 'w')
const env = { PATH: process.env['PATH'] ?? '' }

function configure(servers: Readonly<Record<string, string>>): void {
  mkdirSync(join(base, '.config/cordon'), { recursive: true })
  mkdirSync(join(base, 'plain'), { recursive: true })
  mkdirSync(cwd, { recursive: true })
  writeFileSync(join(cwd, 'a.txt'), 'hello\n'.repeat(100))
  const texts = Object.entries(servers).map(
    ([name, more]) => `[providers.mcp.${name}]\ncommand = ${JSON.stringify(process.execPath)}\n${more}\n`,
  )
  writeFileSync(
    join(base, '.config/cordon/config.toml'),
    `[conversation.tools."*"]\nrun = "unattended"\n${texts.join('')}`,
  )
}

async function connect(args: readonly string[], home = base): Promise<{ client: Client; pid: number }> {
  const client = new Client({ name: 'bench', version: '1' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...args],
    env: { ...env, HOME: home },
    cwd,
    stderr: 'ignore',
  })
  await client.connect(transport)
  return { client, pid: transport.pid ?? 0 }
}

const gateway = (home?: string): ReturnType<typeof connect> => connect([CORDON, 'mcp', 'serve'], home)
const call = (client: Client, name: string, args: Record<string, unknown>) => (): Promise<unknown> =>
  client.request({ method: 'tools/call', params: { name, arguments: args } })

/** In turns, so that whatever else the machine does hits both. */
async function compare(
  title: string,
  ours: () => Promise<unknown>,
  theirs: () => Promise<unknown>,
  {
    atMost,
    orMore = 0,
    rounds,
    warm = 3,
    after,
  }: { atMost: number; orMore?: number; rounds: number; warm?: number; after?: () => Promise<unknown> },
): Promise<void> {
  const times: [number[], number[]] = [[], []]
  for (let round = -warm; round < rounds; round++)
    for (const [i, side] of [ours, theirs].entries()) {
      const start = process.hrtime.bigint()
      await side()
      if (round >= 0) times[i as 0 | 1].push(Number(process.hrtime.bigint() - start))
      await after?.()
    }
  const [a, b] = [median(times[0]), median(times[1])]
  const held = a / b <= atMost || (orMore > 0 && a - b <= orMore)
  const bound = orMore > 0 ? `≤ ${atMost}, or ${pretty(orMore)} more` : `≤ ${atMost}`
  console.log(
    `${title}: ${pretty(a)} against ${pretty(b)}, ratio ${(a / b).toFixed(2)}  (${held ? 'within' : 'MISSES'} ${bound})`,
  )
}

/**
 * As a person calls, with pauses: the process for the next call is there before the next call is. Each call has a pause of its
 * own before it, so that no call runs beside the start of a process. Beside it what to expect of a process which is used once:
 * the first call of the bare server, whose code has never run before, against a later one.
 */
async function compareSpare(
  client: Client,
  title: string,
  prefix: string,
  bare: Client,
  argv: readonly string[],
): Promise<void> {
  const message = { message: 'hello' }
  const paused = async (act: () => Promise<unknown>): Promise<number> => {
    await new Promise((resolve) => setTimeout(resolve, 2500))
    const start = process.hrtime.bigint()
    await act()
    return Number(process.hrtime.bigint() - start)
  }
  const [spare, stateful, first, later]: [number[], number[], number[], number[]] = [[], [], [], []]
  const tool = (server: string): string => `${prefix}${server}_echo`
  await call(client, tool('spare'), message)()
  for (let round = 0; round < ROUNDS; round++) {
    spare.push(await paused(call(client, tool('spare'), message)))
    stateful.push(await paused(call(client, tool('everything'), message)))
    const { client: started } = await connect(argv)
    first.push(await paused(call(started, 'echo', message)))
    await started.close()
    later.push(await paused(call(bare, 'echo', message)))
  }
  const [a, b, c, d] = [median(spare), median(stateful), median(first), median(later)]
  console.log(
    `a stateless call with a spare process against a stateful one, with pauses, ${title}: ${pretty(a)} against ${pretty(b)}, ratio ${(a / b).toFixed(2)}  (${a / b <= 1.5 ? 'within' : 'MISSES'} ≤ 1.5)`,
  )
  console.log(
    `  the first call of a bare server against a later one: ${pretty(c)} against ${pretty(d)}, ratio ${(c / d).toFixed(2)}`,
  )
  // Decision 0573: nothing that a server may be asked before its call makes that one its second, so this is what compares.
  console.log(
    `  the spare process against the first call of a bare server: ${pretty(a)} against ${pretty(c)}, ratio ${(a / c).toFixed(2)}  (${a / c <= 1.5 ? 'within' : 'MISSES'} ≤ 1.5)`,
  )
  // Decision 0397: of a process that is used once the call is its first; what a stateful call takes more than a bare one is added.
  const least = c + b - d
  console.log(
    `  so about ${pretty(least)} against ${pretty(b)} is to be expected, ratio ${(least / b).toFixed(2)}; it takes ${(a / least).toFixed(2)} times that`,
  )
}

const ROUNDS = 9

const words = (...list: readonly string[]): string => `arguments = ${JSON.stringify(list)}\n`

try {
  configure({
    everything: words(EVERYTHING),
    fresh: `${words(EVERYTHING)}stateful = false\n`,
    spare: `${words(EVERYTHING)}stateful = false\nspare = true\n`,
    plain_everything: words(PLAIN),
    plain_spare: `${words(PLAIN)}stateful = false\nspare = true\n`,
  })
  const { client } = await gateway()
  await client.listTools()
  const bare = await connect([EVERYTHING])
  const files = await connect([FILES, cwd])
  const message = { message: 'hello' }
  await compare(
    'a stateful call',
    call(client, 'everything_echo', message),
    call(bare.client, 'echo', message),
    {
      atMost: 2,
      orMore: 5e5,
      rounds: 500,
      warm: 300,
    },
  )
  // What of that is the SDK's: nothing but two ends of it, and the call handed on (decision 0356).
  const passed = await connect([join(import.meta.dirname, 'pass-through.ts'), EVERYTHING])
  const fresh = await connect([EVERYTHING]) // as little used as that one's
  await compare(
    '  the same through a gateway that only hands it on',
    call(passed.client, 'echo', message),
    call(fresh.client, 'echo', message),
    { atMost: 2, orMore: 5e5, rounds: 500, warm: 300 },
  )
  await Promise.all([passed.client.close(), fresh.client.close()])
  // By a gateway that nobody configured: what may be secret is looked up for every call (decision 0365).
  const plain = await gateway(join(base, 'plain'))
  await compare(
    'fs_read_file against server-filesystem',
    call(plain.client, 'fs_read_file', { path: 'a.txt' }),
    call(files.client, 'read_text_file', { path: join(cwd, 'a.txt') }),
    { atMost: 1.5, rounds: 200, warm: 300 },
  )
  await plain.client.close()
  // Until the answer, as with ours: the end of the process is not waited for there either.
  let started: Client | undefined
  const whole = async (): Promise<void> => {
    started = (await connect([EVERYTHING])).client
    await call(started, 'echo', message)()
  }
  await compare(
    'a stateless call against spawn, initialize and call',
    call(client, 'fresh_echo', message),
    whole,
    {
      atMost: 1.25,
      rounds: 15,
      after: async () => started?.close(),
    },
  )
  await compareSpare(client, 'server-everything', '', bare.client, [EVERYTHING])
  // Decision 0502: with a server whose first call is no dearer than the next, what is left is Cordon's own.
  const plainBare = await connect([PLAIN])
  await compareSpare(client, 'a server without schemas', 'plain_', plainBare.client, [PLAIN])
  await plainBare.client.close()
  await Promise.all([client.close(), bare.client.close(), files.client.close()])

  const start = async (count: number): Promise<{ time: number; pid: number; client: Client }> => {
    configure(Object.fromEntries(Array.from({ length: count }, (_, i) => [`s${i}`, words(EVERYTHING)])))
    rmSync(join(base, '.local'), { recursive: true, force: true })
    const began = process.hrtime.bigint()
    const opened = await gateway()
    await opened.client.listTools()
    return { ...opened, time: Number(process.hrtime.bigint() - began) }
  }
  const one = await start(1)
  await one.client.close()
  const ten = await start(10)
  await ten.client.close()
  const bareTen = process.hrtime.bigint()
  const bareServers = await Promise.all(Array.from({ length: 10 }, () => connect([EVERYTHING])))
  await Promise.all(bareServers.map(({ client: each }) => each.listTools()))
  const bareTime = Number(process.hrtime.bigint() - bareTen)
  await Promise.all(bareServers.map(({ client: each }) => each.close()))
  console.log(
    `gateway to its first list: ${pretty(one.time)} with one server, ${pretty(ten.time)} with ten; ten bare servers at once: ${pretty(bareTime)}`,
  )
  const twenty = await start(20)
  const rss = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${twenty.pid}/status`, 'utf8'))?.[1] ?? 'NaN'
  console.log(`the gateway's own memory with twenty idle servers: ${Math.round(Number(rss) / 1024)} MiB`)
  await twenty.client.close()
} finally {
  rmSync(base, { recursive: true, force: true })
}
