import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ToolOutcome } from '../../src/execute/execute.ts'
import { writeHostileWorker } from './hostile.ts'
import { family, launchers, textOf } from './seen.ts'
import { SessionPlace, untilGone } from './support.ts'

const CHILD = join(import.meta.dirname, '../children/session.ts')
const TOOLS = join(import.meta.dirname, '../../../cli/dist/tools.cjs')

const rules = (tool: string, ...list: readonly string[]): string =>
  `[conversation.tools.${tool}.access]\nfs = [${list.join(', ')}]\n`
const READ_ALL = '{ path = ".", read = true }'

test('one process for many calls, each with its own result; none is left by close', async () => {
  await using where = new SessionPlace({ 'a.txt': 'one' })
  const session = where.session()
  const seen = new Set<number>()
  for (let i = 0; i < 20; i++) {
    where.write('a.txt', `text ${i}`)
    expect(textOf(await session.call('fs_read_file', { path: 'a.txt' }))).toBe(`text ${i}`)
    for (const pid of launchers()) seen.add(pid)
  }
  expect(seen.size).toBe(1)
  await session.close()
  expect(launchers()).toEqual([])
})

test('the process that a sandbox began with is not woken when its worker is stopped, or goes on', async () => {
  await using where = new SessionPlace({ 'a.txt': 'one' })
  const session = where.session()
  const call = (): Promise<ToolOutcome> => session.call('fs_read_file', { path: 'a.txt' })
  await call()
  await call() // which the first has been stopped for
  const [, init] = family(launchers()[0]!)
  const before = timesAsleep(init!)
  for (let i = 0; i < 10; i++) await call()
  expect(timesAsleep(init!)).toBe(before)
})

const timesAsleep = (pid: number): number =>
  Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

test('after errors, questions and searches that break off the same worker goes on', async () => {
  const files = { '.cordon/config.toml': rules('fs_grep_files', READ_ALL), 'a.txt': 'old\n'.repeat(500) }
  await using where = new SessionPlace(files)
  const session = where.session()
  const calls: readonly (readonly [string, object])[] = [
    ['fs_create_file', { path: 'a.txt', content: 'x' }], // asks, and nobody answers
    ['fs_create_file', { path: '../x', content: 'x' }],
    ['fs_create_file', { path: 'new/deep.txt', content: 'x' }],
    ['fs_create_file', { path: 'new/deep.txt', content: 'y', overwrite: true }],
    ['fs_grep_files', { pattern: '(' }],
    ['fs_grep_files', { pattern: 'old', limit: 1 }],
    ['fs_grep_files', { pattern: 'nowhere' }],
  ]
  const workers: Record<string, Set<string>> = {}
  const replies = []
  for (const [tool, args] of calls) {
    const before = launchers()
    const { reply } = await session.call(tool, args)
    replies.push(reply.type)
    const all = (workers[tool] ??= new Set())
    for (const pid of launchers()) if (!before.includes(pid)) all.add(String(pid))
  }
  expect(replies).toEqual(['error', 'error', 'success', 'success', 'error', 'success', 'success'])
  expect(Object.values(workers).map(({ size }) => size)).toEqual([1, 1])
  expect(readFileSync(join(where.root, 'new/deep.txt'), 'utf8')).toBe('y')
})

test('calls and answers longer than one read of a pipe', async () => {
  await using where = new SessionPlace({})
  const session = where.session()
  const lines = Array.from({ length: 200_000 }, (_, i) => `line ${i} äöü\n`)
  const content = lines.join('')
  for (const path of ['a', 'b']) {
    expect((await session.call('fs_create_file', { path, content })).reply.type).toBe('success')
    expect(readFileSync(join(where.root, path), 'utf8') === content).toBe(true)
  }
  const read = await session.call('fs_read_file', { path: 'b', start_line: 1, end_line: 10_000 })
  expect(textOf(read).startsWith(lines.slice(0, 9000).join(''))).toBe(true)
  expect(launchers()).toHaveLength(2)
})

/** Each happens between two calls of one session: what is then read, and that it is read by another worker. */
const CHANGES: readonly {
  readonly name: string
  readonly rules?: readonly string[]
  readonly change: (where: SessionPlace) => void
  readonly path?: string
  readonly reads: string | RegExp
}[] = [
  {
    name: 'the configuration hides the file',
    change: (where) =>
      where.write('.cordon/config.toml', rules('fs_read_file', READ_ALL, '{ path = "src" }')),
    reads: /^access denied: read on src\/f/,
  },
  {
    name: 'a directory that a rule names is another one under the same name',
    rules: ['{ path = "src", read = true }'],
    change: ({ root }) => {
      renameSync(join(root, 'src'), join(root, 'old'))
      mkdirSync(join(root, 'src'))
      writeFileSync(join(root, 'src/f'), 'another')
    },
    reads: 'another',
  },
  {
    name: 'what is hidden was removed and made again, perhaps with the same number',
    rules: [READ_ALL, '{ path = "src/hidden" }'],
    change: ({ root }) => {
      rmSync(join(root, 'src/hidden'), { recursive: true })
      mkdirSync(join(root, 'src/hidden'))
      writeFileSync(join(root, 'src/hidden/s'), 'secret')
    },
    path: 'src/hidden/s',
    reads: /^access denied: read on src\/hidden\/s/,
  },
  {
    name: 'a link that a rule names leads elsewhere',
    rules: ['{ path = "link", read = true }'],
    change: ({ root }) => {
      unlinkSync(join(root, 'link'))
      symlinkSync('src2', join(root, 'link'))
    },
    path: 'link/f',
    reads: 'f of src2',
  },
  {
    name: 'the mount was turned to where nobody approved',
    rules: [READ_ALL, '{ path = "fork", external = true, read = true }'],
    change: ({ base, root }) => {
      unlinkSync(join(root, 'fork'))
      symlinkSync(join(base, 'elsewhere'), join(root, 'fork'))
    },
    path: 'fork/f',
    reads: /^access denied: read on fork/,
  },
  // Only root can do that without a namespace of its own.
  ...(process.getuid?.() === 0
    ? [
        {
          name: 'something was mounted in the workspace',
          change: ({ root }: SessionPlace) => {
            execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(root, 'src')])
            writeFileSync(join(root, 'src/f'), 'on the mount')
          },
          reads: 'on the mount',
        },
      ]
    : []),
  {
    name: 'the approval of the mount was taken back',
    rules: [READ_ALL, '{ path = "fork", external = true, read = true }'],
    change: ({ approvals }) => rmSync(approvals),
    path: 'fork/f',
    reads: /^access denied: read on fork/,
  },
  {
    name: 'a directory on the way to what a rule names is a link by now',
    rules: ['{ path = "src/hidden", read = true }'],
    change: ({ root }) => {
      renameSync(join(root, 'src'), join(root, 'moved'))
      symlinkSync('src2', join(root, 'src'))
    },
    path: 'src/hidden/s',
    reads: 'hidden in src2',
  },
  {
    name: 'what a rule hides came into being',
    rules: [READ_ALL, '{ path = "later" }'],
    change: ({ root }) => mkdirSync(join(root, 'later')),
    reads: 'old f',
  },
  {
    name: 'the workspace is another directory under the same name',
    change: ({ root }) => {
      renameSync(root, `${root}.old`)
      mkdirSync(join(root, 'src'), { recursive: true })
      mkdirSync(join(root, '.cordon'))
      copyFileSync(join(`${root}.old`, '.cordon/config.toml'), join(root, '.cordon/config.toml'))
      writeFileSync(join(root, 'src/f'), 'f of another')
    },
    reads: 'f of another',
  },
  {
    name: 'the program was replaced',
    change: ({ base }) => {
      copyFileSync(TOOLS, join(base, 'new.cjs'))
      renameSync(join(base, 'new.cjs'), join(base, 'tools.cjs'))
    },
    reads: 'old f',
  },
]

/** Of a session with one project for all its calls, as the gateway's is: what its configuration says is not read again. */
const IN_ONE_PROJECT = CHANGES.filter(({ name }) => name !== 'the configuration hides the file')

/** For one that only reads nothing is guarded (decision 0436), so it stays. */
test.each([
  { name: 'decision 0200', isOne: false },
  { name: 'decision 0252', isOne: true },
])('$name: another worker of a tool that writes when a repository came into being', async ({ isOne }) => {
  await using where = new SessionPlace({})
  const project = await where.project()
  const opened = isOne ? () => Promise.resolve(project) : () => where.project()
  const session = where.session({ idleMilliseconds: 1e9 }, TOOLS, opened)
  const create = (path: string): Promise<ToolOutcome> =>
    session.call('fs_create_file', { path, content: 'x' })
  for (const path of ['a', 'b', 'c']) expect((await create(path)).reply.type).toBe('success')
  const [worker, ...others] = launchers()
  expect(others).toEqual([])
  mkdirSync(join(where.root, '.git/hooks'), { recursive: true })
  writeFileSync(join(where.root, '.git/HEAD'), 'ref: refs/heads/main\n')
  expect((await create('.git/hooks/post-checkout')).reply.type).toBe('error')
  await untilGone(worker)
})

test('decision 0300: a worker that can write is told its call only when it is known to be the right one', async () => {
  await using where = new SessionPlace({})
  const project = await where.project()
  const session = where.session({}, writeHostileWorker(where.base), () => Promise.resolve(project))
  const call = (path: string): Promise<ToolOutcome> => session.call('fs_create_file', { path, content: '' })
  // Told too early, it would have made something before it is ended: not every time, but soon.
  for (let i = 0; i < 10; i++) {
    // The plan is kept from the second call on.
    for (let n = 0; n < 3; n++) await call('well')
    const before = join(where.base, `before ${i}`)
    renameSync(where.root, before)
    mkdirSync(join(where.root, '.cordon'), { recursive: true })
    await call('makes what is denied')
    expect([readdirSync(where.root), readdirSync(before)]).toEqual([['.cordon', 'denied'], ['.cordon']])
    rmSync(join(where.root, 'denied'), { recursive: true })
  }
})

test('decision 0253: the kernel gives a tool that reads nothing to write', async () => {
  await using where = new SessionPlace({
    '.cordon/config.toml': rules('fs_read_file', '{ path = ".", read = true, write = true }'),
  })
  const session = where.session({}, writeHostileWorker(where.base))
  expect(textOf(await session.call('fs_read_file', { path: 'makes what is denied' }))).toMatch(/EROFS|EACCES/)
  expect(readdirSync(where.root)).toEqual(['.cordon'])
})

for (const { changes, decision, isOne } of [
  { changes: CHANGES, decision: '0200', isOne: false },
  { changes: IN_ONE_PROJECT, decision: '0252', isOne: true },
])
  for (const each of changes)
    test(`decision ${decision}: another worker when ${each.name}`, () => playChange(each, isOne))

async function playChange(
  { name, rules: list = [READ_ALL], change, path = 'src/f', reads }: (typeof CHANGES)[number],
  isOne: boolean,
): Promise<void> {
  await using where = new SessionPlace({
    '.cordon/config.toml': rules('fs_read_file', ...list),
    'src/f': 'old f',
    'src/hidden/s': 'secret',
    'src2/f': 'f of src2',
    'src2/hidden/s': 'hidden in src2',
  })
  symlinkSync('src', join(where.root, 'link'))
  await approveFork(where)
  copyFileSync(TOOLS, join(where.base, 'tools.cjs'))
  const project = await where.project()
  const session = where.session(
    { idleMilliseconds: 1e9 },
    join(where.base, 'tools.cjs'),
    isOne ? () => Promise.resolve(project) : undefined,
  )
  const read = async (): Promise<string> => textOf(await session.call('fs_read_file', { path }))
  const first = await read()
  const [worker] = launchers()
  // What was found out for the first calls is taken again for the third.
  expect([await read(), await read(), await read(), launchers()]).toEqual([first, first, first, [worker]])
  change(where)
  expect(await read()).toEqual(typeof reads === 'string' ? reads : expect.stringMatching(reads))
  expect(launchers().filter((pid) => pid !== worker)).toHaveLength(1)
  await untilGone(worker)
  await session.close()
  if (name.includes('mounted')) execFileSync('umount', ['-l', join(where.root, 'src')])
}

async function approveFork(where: SessionPlace): Promise<void> {
  for (const name of ['target', 'elsewhere']) mkdirSync(join(where.base, name))
  writeFileSync(join(where.base, 'target/f'), 'f of target')
  symlinkSync(join(where.base, 'target'), join(where.root, 'fork'))
  const { workspace } = await where.project()
  mkdirSync(workspace.local, { recursive: true, mode: 0o700 })
  const file = (where.approvals = join(workspace.local, 'approvals.json'))
  const before = JSON.parse(readFileSync(file, 'utf8')) as object
  const mounts = [
    {
      rule_path: 'fork',
      canonical_target: join(where.base, 'target'),
      approved_at: '2026-01-01T00:00:00.000Z',
    },
  ]
  writeFileSync(file, JSON.stringify({ ...before, mounts }))
  chmodSync(file, 0o600)
}

test('calls at the same time get workers of their own, up to a bound, and nothing is mixed', async () => {
  const files = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`f${i}`, `${i}\n`.repeat(2000)]))
  await using where = new SessionPlace(files)
  const session = where.session({ running: 3, idle: 2 })
  let most = 0
  const texts = await Promise.all(
    Object.keys(files).map(async (path) => {
      const outcome = await session.call('fs_read_file', { path })
      most = Math.max(most, launchers().length)
      return textOf(outcome)
    }),
  )
  expect(texts.map((text) => new Set(text.trim().split('\n')))).toEqual(
    texts.map((_, i) => new Set([String(i)])),
  )
  expect(most).toBeGreaterThan(1)
  expect(most).toBeLessThanOrEqual(3)
  while (launchers().length > 2) await setTimeout(5) // no more than that wait for the next call
})

/** Root plays both; the sources must be readable for anybody then. */
const PEOPLE = process.getuid?.() === 0 ? [undefined, 64_322] : [undefined]

for (const uid of PEOPLE)
  test(`a worker ends with its host, also by kill -9 (${uid === undefined ? 'as this user' : 'as an ordinary user'})`, async () => {
    await using where = new SessionPlace({})
    for (const dir of [where.base, where.root, where.home, join(where.root, '.cordon')]) chmodSync(dir, 0o777)
    const child = spawn(process.execPath, ['--conditions=cordon-source', CHILD], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { HOME: where.home, PLACE: ownPlace(where, uid) },
      ...(uid === undefined ? {} : { uid, gid: uid }),
    })
    // The same worker for both of its calls: it could be looked at and stopped.
    const said = JSON.parse(await firstLine(child)) as { texts: string[]; launchers: number[] }
    expect(said).toEqual({ texts: ['hello', 'hello'], launchers: [expect.any(Number)] })
    const all = family(said.launchers[0]!)
    expect(all).toHaveLength(3)
    child.kill('SIGKILL')
    await once(child, 'close')
    while (all.some(isRunning)) await setTimeout(10)
  })

/** A directory of the user's own. */
function ownPlace(where: SessionPlace, uid: number | undefined): string {
  const dir = join(where.base, 'own')
  mkdirSync(dir)
  if (uid !== undefined) chownSync(dir, uid, uid)
  return dir
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [bytes] = (await once(child.stdout!, 'data')) as [Buffer]
  return bytes.toString('utf8')
}

function isRunning(pid: number): boolean {
  try {
    return !['Z', 'X'].includes(/\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1] ?? '')
  } catch {
    return false
  }
}
