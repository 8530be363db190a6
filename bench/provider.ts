/**
 * Issue 15: warm authorised reads of a 4 KiB file against a bare Node server that only reads the file; the cost of a
 * decision by the number of policies and apps; two providers on one PostgreSQL against one; memory of 1 GiB both ways;
 * our MCP tool against `@modelcontextprotocol/server-filesystem`, and the least that two processes can take for it.
 * Servers, PostgreSQL and the load are processes of their own; providers are the built program (`npm run build`).
 * Arguments pick parts: `read mcp decide apps two big`.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readFile,
  readFileSync,
  realpathSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import {
  Admin,
  type DatabaseChoice,
  type Delegation,
  decide,
  loadPolicies,
  ProviderClient,
  SigningKey,
  signInvocation,
  Wallet,
} from '@cordon/provider'
import { type Postgres, startPostgres } from '../packages/provider/test/postgres.ts'
import { median, pretty } from './measure.ts'

const CONNECTIONS = 64
/** As many tools as an agent calls at once. */
const IN_FLIGHT = 8
const REQUESTS = 6000
const ROUNDS = 9
const children: ChildProcess[] = []
const CORDON = fileURLToPath(new URL('../packages/cli/bin/cordon', import.meta.url))

async function main(wanted: readonly string[]): Promise<void> {
  const parts: Record<string, () => Promise<void>> = {
    read: benchRead,
    mcp: benchMcp,
    decide: benchDecide,
    apps: benchApps,
    two: benchTwo,
    big: benchBig,
  }
  for (const [name, part] of Object.entries(parts))
    if (wanted.length === 0 || wanted.includes(name)) await part()
}

async function runBare(file: string): Promise<void> {
  const server = createServer((_, response) => readFile(file, (__, bytes) => response.end(bytes)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

interface Server {
  readonly child: ChildProcess
  readonly url: string
}

/** As a person starts it. */
async function startProvider({ dir, choice }: Pick<Setting, 'dir' | 'choice'>): Promise<Server> {
  const where = 'url' in choice ? ['--database', choice.url] : []
  const argv = ['provider', 'serve', '--dir', dir, '--port', '0', ...where]
  const child = spawn(CORDON, argv, { stdio: ['ignore', 'pipe', 'ignore'] }) // becomes Node: the same process
  children.push(child)
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listening on (\S+)$/.exec(line)?.[1]
    if (url !== undefined) return { child, url }
  }
  throw new Error('the provider did not start')
}

/** Processor time of a whole process so far, in microseconds. */
function cpuOf({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 1e4
}

/** The most memory since it was asked last, in MiB. */
function peakOf({ pid }: ChildProcess): number {
  const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  return Number(peak) / 1024
}

interface Load {
  /** Each connection goes round its own. */
  readonly urls: readonly string[]
  readonly tokens: readonly string[]
  readonly requests: number
}

/** Raw sockets, so that the client costs little: one request a connection, the next when its answer is complete. */
async function runLoad(): Promise<void> {
  const work = async ({ urls, tokens, requests }: Load): Promise<object> => {
    let next = 0
    const times: number[] = []
    const failed = new Map<string, number>()
    const begunAll = performance.now()
    const one = (i: number): Promise<void> =>
      new Promise((resolve, reject) => {
        const { hostname, port } = new URL(urls[i % urls.length]!)
        const socket = connect(Number(port), hostname)
        let got = Buffer.alloc(0)
        let begun = 0
        const ask = (): void => {
          const at = next++
          if (at >= requests) return (socket.end(), resolve())
          begun = performance.now()
          const token = tokens.length > 0 ? `Authorization: Bearer ${tokens[at]}\r\n` : ''
          socket.write(`POST /filesystem/file/read HTTP/1.1\r\nHost: x\r\n${token}Content-Length: 0\r\n\r\n`)
        }
        socket.on('data', (piece) => {
          got = got.length === 0 ? piece : Buffer.concat([got, piece])
          const end = got.indexOf('\r\n\r\n')
          if (end < 0) return
          const head = got.toString('latin1', 0, end)
          const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
          // Chunked: a bare server that was given no length.
          const complete = Number.isNaN(length)
            ? got.subarray(-5).toString('latin1') === '0\r\n\r\n'
            : got.length >= end + 4 + length
          if (!complete) return
          const status = head.slice(9, 12)
          if (status !== '200') failed.set(status, (failed.get(status) ?? 0) + 1)
          times.push(performance.now() - begun)
          got = Buffer.alloc(0)
          ask()
        })
        socket.on('error', reject).on('connect', ask)
      })
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => one(i)))
    times.sort((a, b) => a - b)
    return {
      perSecond: requests / ((performance.now() - begunAll) / 1000),
      p50: times[Math.floor(times.length / 2)],
      p99: times[Math.floor(times.length * 0.99)],
      failed: Object.fromEntries(failed),
    }
  }
  process.on('message', (load) => void work(load as Load).then((result) => process.send!(result)))
  process.send!('ready')
}

interface Rate {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly failed: Record<string, number>
}

async function start(...args: string[]): Promise<{ child: ChildProcess; said: { url: string } }> {
  const child = fork(fileURLToPath(import.meta.url), args, { execArgv: ['--conditions=cordon-source'] })
  children.push(child)
  const [said] = (await once(child, 'message')) as [{ url: string }]
  return { child, said }
}

const measure = async (loader: ChildProcess, load: Load): Promise<Rate> => {
  loader.send(load)
  return ((await once(loader, 'message')) as [Rate])[0]
}

interface Setting {
  readonly dir: string
  readonly file: string
  readonly choice: DatabaseChoice
  readonly key: SigningKey
  readonly delegation: Delegation
}

async function prepare(choice?: DatabaseChoice): Promise<Setting> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-bench-')))
  const files = join(dir, 'files')
  mkdirSync(files)
  const file = join(files, 'four.bin')
  writeFileSync(file, Buffer.alloc(4096, 0x61))
  const data = join(dir, 'data')
  const chosen = choice ?? { file: join(data, 'provider.db') }
  const admin = await Admin.open({ choice: chosen, dir: data, by: 'bench' })
  const key = SigningKey.generate()
  await admin.createApp({
    id: 'bench',
    did: key.did,
    limits: { requestsPerMinute: 1e9, concurrent: 1e6, bytesPerMinute: 1e15 },
  })
  await admin.setPolicy({
    scope: 'bench',
    name: 'main',
    text: `permit (principal, action, resource) when { resource in Directory::"${files}" };
forbid (principal, action == Action::"/filesystem/file/delete", resource) unless { context has cosigner && context.cosigner };
permit (principal, action == Action::"/filesystem/dir/list", resource);`,
  })
  const { delegation } = await admin.mint('bench', { prefix: files })
  await admin.close()
  return { dir: data, file, choice: chosen, key, delegation }
}

const sign = ({ key, delegation, file }: Setting, count: number): string[] =>
  Array.from({ length: count }, () =>
    signInvocation({
      key,
      chain: [delegation],
      command: '/filesystem/file/read',
      args: { path: file },
      expires: Math.floor(Date.now() / 1000) + 250,
    }),
  )

const stopAll = (): void => {
  for (const child of children.splice(0)) child.kill()
}

async function benchRead(): Promise<void> {
  const setting = await prepare()
  const { child, said } = await start('bare', setting.file)
  const bare: Server = { child, url: said.url }
  const provider = await startProvider(setting)
  const { child: loader } = await start('load')
  const rates: { bare: Rate[]; ours: Rate[] } = { bare: [], ours: [] }
  const costs: { bare: number[]; ours: number[] } = { bare: [], ours: [] }
  const costing = async (server: Server, tokens: readonly string[]): Promise<[Rate, number]> => {
    const before = cpuOf(server.child)
    const rate = await measure(loader, { urls: [server.url], tokens, requests: REQUESTS })
    return [rate, (cpuOf(server.child) - before) / REQUESTS]
  }
  for (let round = -1; round < ROUNDS; round++) {
    const tokens = sign(setting, REQUESTS)
    const [theirs, theirCost] = await costing(bare, [])
    const [ours, ourCost] = await costing(provider, tokens)
    if (Object.keys(ours.failed).length > 0) console.log('  refused:', ours.failed)
    if (round >= 0) {
      rates.bare.push(theirs)
      rates.ours.push(ours)
      costs.bare.push(theirCost)
      costs.ours.push(ourCost)
    }
  }
  stopAll()
  const of = (side: readonly Rate[], what: 'perSecond' | 'p50' | 'p99'): number =>
    median(side.map((each) => each[what]))
  const ratio = ratioOf(rates.ours.map(({ perSecond }, i) => perSecond / rates.bare[i]!.perSecond))
  console.log(
    `authorised read of 4 KiB, ${CONNECTIONS} connections: ${of(rates.ours, 'perSecond').toFixed(0)}/s (p50 ${of(rates.ours, 'p50').toFixed(1)} ms, p99 ${of(rates.ours, 'p99').toFixed(1)} ms)\n` +
      `  bare Node server: ${of(rates.bare, 'perSecond').toFixed(0)}/s (p50 ${of(rates.bare, 'p50').toFixed(1)} ms, p99 ${of(rates.bare, 'p99').toFixed(1)} ms)   ratio ${ratio.shown}  (${ratio.value >= 0.3 ? 'within' : 'MISSES'} ≥ 0.3)\n` +
      `  processor time, least of the rounds: ${Math.min(...costs.ours).toFixed(0)} µs a request, bare ${Math.min(...costs.bare).toFixed(0)} µs`,
  )
  rmSync(join(setting.dir, '..'), { recursive: true })
}

/** Of neighbouring turns, so that what else the machine does hits both; with the middle half of them, to be read with it. */
function ratioOf(ratios: readonly number[]): { readonly value: number; readonly shown: string } {
  const sorted = ratios.toSorted((a, b) => a - b)
  const [low, high] = [0.25, 0.75].map((part) => sorted[Math.floor((sorted.length - 1) * part)]!.toFixed(2))
  const value = median(ratios)
  return { value, shown: `${value.toFixed(2)} (${low} to ${high})` }
}

/** A model's tools call one at a time; both servers are started as a client starts them. */
async function benchMcp(): Promise<void> {
  const setting = await prepare()
  const { url } = await startProvider(setting)
  const wallet = Wallet.create(join(setting.dir, 'wallet'))
  const admin = await Admin.open({ choice: setting.choice, dir: setting.dir, by: 'bench' })
  const limits = { requestsPerMinute: 1e9, concurrent: 1e6, bytesPerMinute: 1e15 }
  await admin.createApp({ id: 'mcp', did: wallet.key.did, limits })
  await admin.setPolicy({ scope: 'mcp', name: 'main', text: 'permit (principal, action, resource);' })
  wallet.add((await admin.mint('mcp', { prefix: join(setting.file, '..') })).token)
  await admin.close()
  const theirs = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'))
  const sides = {
    ours: await startMcp(CORDON, ['provider', 'mcp', '--wallet', wallet.dir, '--url', url]),
    theirs: await startMcp(process.execPath, [theirs, join(setting.file, '..')]),
    least: await startMcp(process.execPath, [fileURLToPath(new URL('signed-read.ts', import.meta.url))]),
  }
  type Side = keyof typeof sides
  const times: Record<Side, number[]> = { ours: [], theirs: [], least: [] }
  const together: Record<Side, number[]> = { ours: [], theirs: [], least: [] }
  for (let round = -2; round < ROUNDS; round++)
    for (const [name, call] of Object.entries(sides) as [Side, Caller][]) {
      const tool = name === 'ours' ? 'filesystem_file_read' : 'read_text_file'
      const reads = async (count: number): Promise<void> => {
        for (let i = 0; i < count; i++) await call(tool, { path: setting.file })
      }
      const started = performance.now()
      await reads(100)
      const alone = performance.now()
      await Promise.all(Array.from({ length: IN_FLIGHT }, () => reads(50)))
      if (round < 0) continue
      times[name].push((alone - started) * 1e4)
      together[name].push(((performance.now() - alone) * 1e6) / (IN_FLIGHT * 50))
    }
  stopAll()
  const against = (side: Side): ReturnType<typeof ratioOf> =>
    ratioOf(times.theirs.map((time, i) => time / times[side][i]!))
  const ratio = against('ours')
  console.log(
    `MCP read of 4 KiB: ours ${pretty(median(times.ours))}   server-filesystem: ${pretty(median(times.theirs))}   ratio of rates ${ratio.shown}  (${ratio.value >= 0.4 ? 'within' : 'MISSES'} ≥ 0.4)\n` +
      `  two processes that only sign, send, verify and read: ${pretty(median(times.least))}   ratio ${against('least').shown}`,
  )
  // An agent calls tools in parallel: a row of its own, and no substitute for the one above (decision 0503).
  const rate = (side: Side): string => `${(1e9 / median(together[side])).toFixed(0)}/s`
  const ofTheirs = (side: Side): string => (median(together.theirs) / median(together[side])).toFixed(2)
  console.log(
    `  with ${IN_FLIGHT} calls in flight: ours ${rate('ours')}   server-filesystem: ${rate('theirs')}   ratio ${ofTheirs('ours')}; the two processes ${rate('least')}, ratio ${ofTheirs('least')}`,
  )
  rmSync(join(setting.dir, '..'), { recursive: true })
}

type Caller = (tool: string, args: object) => Promise<void>

async function startMcp(program: string, argv: readonly string[]): Promise<Caller> {
  const child = spawn(program, argv, { stdio: ['pipe', 'pipe', 'ignore'] })
  children.push(child)
  const waiting = new Map<number, (answer: { result?: { isError?: boolean } }) => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = JSON.parse(line) as { id?: number; method?: string; result?: { isError?: boolean } }
    // It asks for our roots; there are none.
    if (answer.method !== undefined && answer.id !== undefined)
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: answer.id, result: { roots: [] } })}\n`)
    else if (answer.id !== undefined) waiting.get(answer.id)?.(answer)
  })
  let next = 0
  const ask = (method: string, params: object): Promise<{ result?: { isError?: boolean } }> =>
    new Promise((resolve) => {
      const id = ++next
      waiting.set(id, resolve)
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    })
  await ask('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  })
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  return async (name, args) => {
    const { result } = await ask('tools/call', { name, arguments: args })
    if (!result || result.isError === true) throw new Error(`${name} failed: ${JSON.stringify(result)}`)
  }
}

/** In this process: the decision alone. */
async function benchDecide(): Promise<void> {
  const statement = (i: number): string =>
    `@id("p${i}") permit (principal, action == Action::"/filesystem/file/read", resource) when { resource in Directory::"/srv/ws-${i}" };`
  for (const count of [3, 30, 300]) {
    const loaded = loadPolicies(Array.from({ length: count }, (_, i) => statement(i)).join('\n'))
    if (loaded.kind !== 'loaded') throw new Error('the policies do not load')
    const ask = (i: number): unknown =>
      decide(loaded, {
        app: 'bench',
        agent: 'did:key:z',
        command: '/filesystem/file/read',
        resource: { path: `/srv/ws-1/${i}`, isDirectory: false, exists: true, size: i },
      })
    for (let i = 0; i < 200; i++) ask(i)
    const started = process.hrtime.bigint()
    for (let i = 0; i < 2000; i++) ask(i)
    console.log(
      `decision among ${count} policies: ${pretty(Number(process.hrtime.bigint() - started) / 2000)}`,
    )
  }
}

/** Both at once and in turns: what else the machine does hits both. */
async function benchApps(): Promise<void> {
  const { child: loader } = await start('load')
  const sides: {
    apps: number
    setting: Setting
    url: string
    rates: number[]
    child: ChildProcess
    costs: number[]
  }[] = []
  for (const apps of [10, 10_000]) {
    const setting = await prepare()
    const admin = await Admin.open({ choice: setting.choice, dir: setting.dir, by: 'bench' })
    const rows = Array.from({ length: apps }, (_, i) => ({
      id: `app-${i}`,
      did: `did:key:bench-${i}`,
      enabled: 1,
      limits: '{}',
      created_at: 0,
    }))
    for (let at = 0; at < rows.length; at += 1000)
      await admin.database.queries
        .insertInto('apps')
        .values(rows.slice(at, at + 1000))
        .execute()
    await admin.close()
    sides.push({ apps, setting, ...(await startProvider(setting)), rates: [], costs: [] })
  }
  for (let round = -1; round < ROUNDS; round++)
    for (const { setting, url, rates, child, costs } of sides) {
      const tokens = sign(setting, 3000)
      const before = cpuOf(child)
      const { perSecond } = await measure(loader, { urls: [url], tokens, requests: 3000 })
      if (round < 0) continue
      rates.push(perSecond)
      costs.push((cpuOf(child) - before) / 3000)
    }
  for (const { apps, rates, costs } of sides)
    console.log(
      `authorised reads with ${apps} apps: ${median(rates).toFixed(0)}/s, ${Math.min(...costs).toFixed(0)} µs of processor time each`,
    )
  stopAll()
  for (const { setting } of sides) rmSync(join(setting.dir, '..'), { recursive: true })
}

async function benchTwo(): Promise<void> {
  const postgres: Postgres = await startPostgres('waits for the disk')
  const setting = await prepare({ url: postgres.database('bench') })
  const first = await startProvider(setting)
  const second = await startProvider(setting)
  const { child: loader } = await start('load')
  const [one, two]: [number[], number[]] = [[], []]
  const busy: { one: number[]; two: number[] } = { one: [], two: [] }
  for (let round = -1; round < ROUNDS; round++) {
    for (const [urls, rates, cores] of [
      [[first.url], one, busy.one],
      [[first.url, second.url], two, busy.two],
    ] as const) {
      const tokens = sign(setting, 3000)
      const before = idleMs()
      const started = performance.now()
      const { perSecond, failed } = await measure(loader, {
        urls,
        tokens,
        requests: 3000,
      })
      const idle = (idleMs() - before) / (performance.now() - started)
      if (Object.keys(failed).length > 0) console.log('  refused:', failed)
      if (round < 0) continue
      rates.push(perSecond)
      cores.push(cpus().length - idle)
    }
  }
  stopAll()
  await postgres.stop()
  const ratio = median(two) / median(one)
  console.log(
    `two providers on one PostgreSQL: ${median(two).toFixed(0)}/s   one: ${median(one).toFixed(0)}/s   ratio ${ratio.toFixed(2)}  (${ratio >= 1.6 ? 'within' : 'MISSES'} ≥ 1.6)\n` +
      `  cores that were busy, of ${cpus().length}, whoever used them: with two ${median(busy.two).toFixed(1)}, with one ${median(busy.one).toFixed(1)}`,
  )
  rmSync(join(setting.dir, '..'), { recursive: true })
}

/** How long the processors had nothing to do, all of them together, in milliseconds. */
const idleMs = (): number => cpus().reduce((sum, { times }) => sum + times.idle, 0)

async function benchBig(): Promise<void> {
  const setting = await prepare()
  const { child, url } = await startProvider(setting)
  const { key, delegation, file } = setting
  const client = new ProviderClient({ url, key, delegations: () => [delegation] })
  const local = join(setting.dir, 'local.bin')
  writeFileSync(local, '')
  truncateSync(local, 1024 ** 3)
  for (const [name, act] of [
    ['write', () => client.upload('/filesystem/file/write', { path: `${file}.big` }, local)],
    [
      'read',
      async () => {
        let bytes = 0
        for await (const piece of (await client.read(`${file}.big`)).stream) bytes += piece.length
        if (bytes !== 1024 ** 3) throw new Error(`got ${bytes} bytes`)
      },
    ],
  ] as const) {
    peakOf(child)
    const started = performance.now()
    await act()
    const mib = peakOf(child)
    console.log(
      `1 GiB ${name}: ${((performance.now() - started) / 1000).toFixed(1)} s, provider’s memory at most ${mib.toFixed(0)} MiB  (${mib < 150 ? 'within' : 'MISSES'} < 150)`,
    )
  }
  stopAll()
  rmSync(join(setting.dir, '..'), { recursive: true })
}

const [role, ...rest] = process.argv.slice(2)
if (process.send) process.once('disconnect', () => process.exit())
if (role === 'bare') await runBare(rest[0]!)
else if (role === 'load') await runLoad()
else await main(process.argv.slice(2))
