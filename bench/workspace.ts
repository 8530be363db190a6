// What is kept, against the plain commands that do the least that could be done. Ratios, measured in one run.
// Sizes: CORDON_BENCH_FILES (2000), CORDON_BENCH_MIB (1024), CORDON_BENCH_BLOBS (100000), CORDON_BENCH_CONVERSATIONS (5000).
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  attachPath,
  Blobs,
  collectBlobs,
  type ConversationEvent,
  createConversation,
  initWorkspace,
  listConversations,
  openConversation,
  type Shelf,
  tryLock,
} from '@cordon/workspace'

const FILES = Number(process.env['CORDON_BENCH_FILES'] ?? 2000)
const MIB = Number(process.env['CORDON_BENCH_MIB'] ?? 1024)
const BLOBS = Number(process.env['CORDON_BENCH_BLOBS'] ?? 100_000)
const CONVERSATIONS = Number(process.env['CORDON_BENCH_CONVERSATIONS'] ?? 5_000)
const holder = { pid: process.pid, command: 'bench' }

async function openShelf(base: string): Promise<Shelf> {
  mkdirSync(join(base, 'w'), { recursive: true })
  const env = { XDG_DATA_HOME: join(base, 'data') }
  const around = { env, platform: process.platform, home: join(base, 'home'), uid: process.getuid?.() }
  return { workspace: await initWorkspace(join(base, 'w'), around, holder), holder, now: () => new Date() }
}

const say = (what: string, figure: string): void =>
  void process.stdout.write(`${what.padEnd(58)} ${figure}\n`)
const median = (all: number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!
const ms = (n: number): string => `${n.toFixed(n < 10 ? 2 : 0)} ms`

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

function turn(n: number): ConversationEvent[] {
  const at = new Date().toISOString()
  return [
    { kind: 'turn', at },
    { kind: 'request', at, text: `question ${n} ${'x'.repeat(200)}`, resources: [] },
    { kind: 'response', at, text: `answer ${n} ${'y'.repeat(800)}` },
  ]
}

/** A short and a long conversation are open at once and take turns, so that the disk's moods hit both. */
async function benchAppend(shelf: Shelf): Promise<void> {
  const writers = []
  for (const turns of [10, 10_000]) {
    const ref = await createConversation(shelf, { keeping: 'shared' })
    const writer = await openConversation(shelf, ref, { wait: 0 })
    for (let n = 0; n < turns; n += 100) {
      const batch: ConversationEvent[] = []
      for (let i = n; i < Math.min(n + 100, turns); i++) batch.push(...turn(i))
      await writer.append(batch)
    }
    writers.push({ writer, times: [] as number[] })
  }
  for (let n = 0; n < 400; n++)
    for (const { writer, times } of n % 2 === 0 ? writers : writers.toReversed())
      times.push(await timed(() => writer.append(turn(n))))
  const [short, long] = writers.map(({ times }) => median(times)) as [number, number]
  say(
    'append turn 10,000 / turn 10 (at most 1.2)',
    `${(long / short).toFixed(2)}  (${ms(long)} / ${ms(short)})`,
  )
  const before = process.memoryUsage().rss
  for (let n = 0; n < 10_000; n += 10)
    await writers[1]!.writer.append(Array.from({ length: 10 }, () => turn(n)).flat())
  say('memory of 10,000 more turns', `${((process.memoryUsage().rss - before) / 2 ** 20).toFixed(1)} MiB`)
  for (const { writer } of writers) await writer.close()
}

async function benchList(shelf: Shelf): Promise<void> {
  const dir = join(shelf.workspace.shared, 'conversations')
  const digits = '0123456789abcdefghjkmnpqrstvwxyz'
  for (let i = 0; i < CONVERSATIONS; i++) {
    const id = `01m7fh87g0${[...Array(6).keys()].map((k) => digits[Math.floor(i / 32 ** k) % 32]).join('')}`
    mkdirSync(join(dir, id))
    writeFileSync(join(dir, id, 'meta.json'), `{"title":"Conversation number ${i}"}\n`)
    writeFileSync(join(dir, id, 'events.jsonl'), '')
  }
  listConversations(shelf)
  const list = median(await series(9, () => listConversations(shelf)))
  const names = median(await series(9, () => readdirSync(dir)))
  const titled = listConversations(shelf).filter(({ title }) => title !== undefined).length
  say(
    `list ${titled} conversations with titles / readdir`,
    `${(list / names).toFixed(0)}  (${ms(list)} / ${ms(names)})`,
  )
}

async function series(times: number, work: () => unknown): Promise<number[]> {
  const all: number[] = []
  for (let i = 0; i < times; i++) all.push(await timed(work))
  return all
}

async function benchLock(shelf: Shelf): Promise<void> {
  const file = join(shelf.workspace.local, 'locks', 'bench.lock')
  const all = await series(500, () => tryLock(file, { what: 'bench', holder })!.release())
  say('take and release a lock', ms(median(all)))
}

/** Half noise, half text: compresses about as source trees and documents do. */
function makeFile(path: string): void {
  const fd = openSync(path, 'w')
  const text = Buffer.from('The quick brown fox jumps over the lazy dog. '.repeat(12_000)).subarray(
    0,
    512 * 1024,
  )
  for (let i = 0; i < MIB; i++) {
    writeSync(fd, randomBytes(512 * 1024))
    writeSync(fd, text)
  }
  closeSync(fd)
}

/** In a process of its own, so that its peak of memory is its own. */
async function benchPut(base: string): Promise<void> {
  const path = join(base, 'large')
  makeFile(path)
  execFileSync('sha256sum', [path]) // into the page cache, for everybody
  const plain = await timed(() =>
    execFileSync('sh', ['-c', 'sha256sum "$0" && gzip -1 -c "$0" > "$0.gz" && sync "$0.gz"', path]),
  )
  const self = fileURLToPath(import.meta.url)
  const run = (): Put => {
    const args = ['--conditions=cordon-source', '--no-warnings', self, 'put', base, path]
    return JSON.parse(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout) as Put
  }
  const [first, again] = [run(), run()]
  const hashed = median([1, 2, 3].map(() => timeOf('sha256sum', path)))
  say(
    `put ${MIB} MiB / sha256sum + gzip -1 (at most 1.2)`,
    `${(first.time / plain).toFixed(2)}  (${ms(first.time)} / ${ms(plain)})`,
  )
  say(`put ${MIB} MiB, memory over the start (below 100 MiB)`, `${first.grown.toFixed(0)} MiB`)
  say(
    `put it again / sha256sum (at most 1.1)`,
    `${(again.time / hashed).toFixed(2)}  (${ms(again.time)} / ${ms(hashed)})`,
  )
}

function timeOf(command: string, path: string): number {
  const start = performance.now()
  execFileSync(command, [path])
  return performance.now() - start
}

interface Put {
  readonly time: number
  readonly grown: number
}

async function putOnce(base: string, path: string): Promise<void> {
  const store = new Blobs(await openShelf(base)).local
  const before = process.resourceUsage().maxRSS
  const file = await open(path)
  const time = await timed(() => store.putFile(file))
  await file.close()
  process.stdout.write(JSON.stringify({ time, grown: (process.resourceUsage().maxRSS - before) / 1024 }))
}

/**
 * Small files of about 4 KB, each with content of its own. Against reading and hashing them one after the other, as the
 * simplest program does; durable, compressed and named by content is what the difference buys. Taken in turns.
 */
async function benchAttach(base: string): Promise<void> {
  const [plain, first, again]: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < 5; round++) {
    const shelf = await openShelf(join(base, `attach${round}`))
    const { root } = shelf.workspace
    mkdirSync(join(root, 'd'))
    for (let i = 0; i < FILES; i++)
      writeFileSync(join(root, 'd', `${i}.txt`), `round ${round}, file ${i}\n`.repeat(200))
    execFileSync('sync')
    const context = { workspace: shelf.workspace, cwd: root, store: new Blobs(shelf).shared }
    plain.push(
      await timed(async () => {
        for (const name of readdirSync(join(root, 'd')))
          createHash('sha256')
            .update(await readFile(join(root, 'd', name)))
            .digest('hex')
      }),
    )
    first.push(await timed(() => attachPath('d', context)))
    again.push(await timed(() => attachPath('d', context)))
  }
  const [read, kept, known] = [plain, first, again].map(median) as [number, number, number]
  say(
    `attach ${FILES} small files / read and hash them (at most 3)`,
    `${(kept / read).toFixed(2)}  (${ms(kept)} / ${ms(read)})`,
  )
  say(`attach them again / read and hash them`, `${(known / read).toFixed(2)}  (${ms(known)})`)
}

/** A tenth and the whole: linear is a ratio of ten. By processor time, which other programs disturb less. */
async function benchCollect(base: string): Promise<void> {
  const times: number[] = []
  let wall = 0
  for (const part of [0.1, 1]) {
    const shelf = await openShelf(join(base, `gc${part}`))
    await fillForCollection(shelf, Math.round(BLOBS * part), Math.round(1000 * part))
    const before = process.cpuUsage()
    wall = await timed(() => collectBlobs(shelf, { action: 'delete' }))
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / 1000)
  }
  const [tenth, whole] = times as [number, number]
  say(`collect ${BLOBS} blobs, 1,000 conversations`, `${ms(wall)}, ${ms(whole)} of processor time`)
  say('its processor time / that of a tenth (linear is 10)', (whole / tenth).toFixed(1))
}

/** Half of the blobs are referenced, all are old. */
async function fillForCollection(shelf: Shelf, blobs: number, conversations: number): Promise<void> {
  const store = new Blobs(shelf).shared
  const hashes = Array.from({ length: blobs }, (_, i) => createHash('sha256').update(String(i)).digest('hex'))
  for (const hash of hashes) {
    const path = store.pathOf(hash as Parameters<typeof store.pathOf>[0])
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, '')
    utimesSync(path, 0, 0)
  }
  const each = Math.ceil(blobs / 2 / conversations)
  for (let c = 0; c < conversations; c++) {
    const { dir } = await createConversation(shelf, { keeping: 'shared' })
    const lines = hashes.slice(c * each, (c + 1) * each).map((hash) => {
      const resources = [{ uri: 'file:///x', text: { $blob: hash, size: 0 } }]
      return `${JSON.stringify({ kind: 'request', at: '', text: 'x'.repeat(500), resources })}\n`
    })
    writeFileSync(join(dir, 'events.jsonl'), lines.join(''))
  }
}

const [mode, base, path] = process.argv.slice(2)
if (mode === 'put') await putOnce(base!, path!)
else {
  const fresh = mkdtempSync(join(tmpdir(), 'cordon-bench-'))
  try {
    const shelf = await openShelf(fresh)
    await benchAppend(shelf)
    await benchList(shelf)
    await benchLock(shelf)
    await benchAttach(fresh)
    await benchPut(fresh)
    await benchCollect(fresh)
  } finally {
    rmSync(fresh, { recursive: true })
  }
}
