/**
 * `cordon q` (issue 17): how long until the request is sent, how long from the model's first word to standard output, and what
 * a long conversation costs. The model is recorded, on this machine; both sides take turns.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ConversationEvent,
  createConversation,
  initWorkspace,
  openConversation,
  readConversation,
  type StoredEvent,
} from '@cordon/workspace'
import { assembleContext } from '../packages/host/src/agent/context.ts'
import { RecordedModel } from '../packages/host/src/agent/recorded/server.ts'
import { median, pretty } from './measure.ts'

const ROUNDS = 41
const PACE_MS = 30
const EVENTS = 5000
const CORDON = join(import.meta.dirname, '../packages/cli/bin/cordon')

const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-bench-')))
const cwd = join(base, 'w')
const env = {
  PATH: process.env['PATH'],
  HOME: join(base, 'home'),
  XDG_CACHE_HOME: join(base, 'home/.cache'),
  CORDON_BACKGROUND: 'off',
}

const now = (): number => Number(process.hrtime.bigint())

/** One whole process: when it ended, and when it first printed. */
async function started(
  program: string,
  ...args: string[]
): Promise<{ begun: number; printed: number; ended: number }> {
  const begun = now()
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = 0
  child.stdout.on('data', (data: Buffer) => {
    // What a protocol says before its first word is nothing that anybody would see.
    if (data.includes('first')) printed ||= now()
  })
  const [code] = (await once(child, 'close')) as [number]
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}`)
  return { begun, printed, ended: now() }
}

const say = (title: string, ours: string, theirs: string, verdict: string): void =>
  console.log(`${title}\n  ${ours}   ${theirs}   ${verdict}`)

const within = (isMet: boolean, bound: string): string => `(${isMet ? 'within' : 'MISSES'} ≤ ${bound})`

async function benchStart(): Promise<void> {
  let asked = 0
  const step = { text: 'first word and more', pace: PACE_MS }
  await using model = await RecordedModel.start(
    () => step,
    () => (asked = now()),
  )
  writeFileSync(
    join(base, 'home/.config/cordon/config.toml'),
    `[assistant]\nmodel = "recorded/x"\n[providers.llm.recorded]\nkind = "openai-compatible"\nbase_url = "${model.url}"\n`,
  )
  const body = JSON.stringify({ model: 'x', stream: true, messages: [] })
  const curl = ['-sN', '-H', 'content-type: application/json', '-d', body, `${model.url}/chat/completions`]
  const sent: number[] = []
  const empty: number[] = []
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = -3; round < ROUNDS; round++) {
    const q = await started(CORDON, 'q', '--new', '--quiet', 'hello')
    const first = { sent: asked - q.begun, latency: q.printed - asked }
    const node = await started(process.execPath, '-e', '0')
    const plain = await started('curl', ...curl)
    if (round < 0) continue // the first rounds warm up
    sent.push(first.sent)
    empty.push(node.ended - node.begun)
    ours.push(first.latency)
    theirs.push(plain.printed - asked)
  }
  const ratio = median(sent) / median(empty)
  say(
    'from the start of cordon q to its request',
    `cordon q: ${pretty(median(sent))}`,
    `node -e 0: ${pretty(median(empty))}`,
    `ratio ${ratio.toFixed(2)}  ${within(ratio <= 3, '3')}`,
  )
  const more = median(ours) - median(theirs)
  say(
    `from a request to the first word on standard output (the model waits ${PACE_MS} ms)`,
    `cordon q: ${pretty(median(ours))}`,
    `curl: ${pretty(median(theirs))}`,
    `${pretty(more)} more  ${within(more <= 20e6, '20 ms')}`,
  )
}

/** As a conversation with tools is: of five events one asks, one answers, one calls, one is a result, one begins a turn. */
function turn(n: number): ConversationEvent[] {
  const at = new Date().toISOString()
  const id = `c${n}`
  return [
    { kind: 'turn', at },
    { kind: 'request', at, text: `question ${n} ${'x '.repeat(100)}`, resources: [] },
    { kind: 'tool_call', at, id, tool: 'fs_read_file', arguments: { path: `src/${n}.ts` } },
    { kind: 'tool_result', at, id, outcome: 'success', text: 'line of text\n'.repeat(100), resources: [] },
    { kind: 'response', at, text: `answer ${n} ${'y '.repeat(300)}`, model: 'recorded/x', stop: 'stop' },
  ]
}

async function benchAssembly(): Promise<void> {
  const holder = { pid: process.pid, command: 'bench' }
  const around = {
    env: { XDG_DATA_HOME: join(base, 'data') },
    platform: process.platform,
    home: join(base, 'home'),
    uid: process.getuid?.(),
  }
  const workspace = await initWorkspace(cwd, around, holder)
  const shelf = { workspace, holder, now: () => new Date() }
  const ref = await createConversation(shelf, { keeping: 'shared' })
  const writer = await openConversation(shelf, ref, { wait: 0 })
  await writer.append(Array.from({ length: EVENTS / 5 }, (_, n) => turn(n)).flat())
  await writer.close()
  const reading: number[] = []
  const assembling: number[] = []
  for (let round = -3; round < ROUNDS; round++) {
    const begun = now()
    const events: StoredEvent[] = []
    for await (const event of readConversation(ref)) events.push(event)
    const read = now()
    await assembleContext(events, {
      system: 'You help.',
      room: { tokens: 200_000, setting: 'assistant.context_tokens' },
      read: () => Promise.resolve(undefined),
      isOwn: () => true,
    })
    if (round < 0) continue
    reading.push(read - begun)
    assembling.push(now() - read)
  }
  const ratio = median(assembling) / median(reading)
  say(
    `a conversation of ${EVENTS} events`,
    `request assembly: ${pretty(median(assembling))}`,
    `reading its log: ${pretty(median(reading))}`,
    `ratio ${ratio.toFixed(2)}  ${within(ratio <= 2, '2')}`,
  )
}

try {
  mkdirSync(cwd)
  mkdirSync(join(base, 'home/.config/cordon'), { recursive: true, mode: 0o700 })
  await started(CORDON, 'init')
  await benchStart()
  await benchAssembly()
} finally {
  rmSync(base, { recursive: true })
}
