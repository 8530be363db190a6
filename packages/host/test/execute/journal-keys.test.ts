import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { newTempName } from '@cordon/files'
import { openAmbientRoot, parseAccessPolicy } from '@cordon/policy'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type ExecutedCall, executeTool, type ToolWorld } from '../../src/execute/execute.ts'
import { JournalKeys } from '../../src/execute/journal-keys.ts'
import { toolWith } from './support.ts'

/** Decision 0446, with the tool as it is shipped. */
const TOOLS = join(import.meta.dirname, '../../../cli/dist/tools.cjs')
const NAME = '.cordon-modify-journal'
const POLICY = parseAccessPolicy({
  fs: ['a', 'secret', 'z'].map((path) => ({ path, read: true, write: true })),
})
/** So many that somebody who looks at the directory meets the journal. */
const SECRETS = Array.from({ length: 200 }, (_, i) => `secret/f${i}`)
const ALL = ['a/f', ...SECRETS, 'z/f']

let world: ToolWorld & { readonly journalKeys: JournalKeys }
let local: string

beforeEach(() => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-journal-')))
  onTestFinished(() => rmSync(base, { recursive: true }))
  for (const name of ['ws/a', 'ws/secret', 'ws/z', 'home']) mkdirSync(join(base, name), { recursive: true })
  local = join(base, 'local')
  world = {
    root: openAmbientRoot(join(base, 'ws')),
    home: join(base, 'home'),
    unfinished: join(base, 'unfinished'),
    env: { PATH: process.env['PATH'], HOME: join(base, 'home') },
    sandbox: { mode: 'enforce', sensitive: [], guard: [], unix_sockets: 'pairs', limits: {} },
    journalKeys: new JournalKeys({ local }),
  }
  put(ALL, 'old')
  put(['a/g'], 'one')
})

const at = (path: string): string => join(world.root.path, path)
const put = (paths: readonly string[], text: string): void => {
  for (const path of paths) writeFileSync(at(path), text)
}
const texts = (paths: readonly string[]): readonly string[] => [
  ...new Set(paths.map((path) => readFileSync(at(path), 'utf8'))),
]
const openKeys = (): readonly string[] =>
  existsSync(join(local, 'journal-keys')) ? readdirSync(join(local, 'journal-keys')) : []
const edit = (paths: readonly string[], old: string, next: string): object => ({
  edits: paths.map((path) => ({ path, old, new: next })),
})

function modify(args: object, signal?: AbortSignal): Promise<ExecutedCall> {
  const tool = {
    ...toolWith({ timeout_secs: 60 }),
    name: 'fs_modify_file',
    shipped: true,
    command: [process.execPath, TOOLS, 'fs_modify_file'],
    own: [TOOLS],
  }
  const answers = { configured: {}, respondent: undefined }
  const stop = signal ? { signal } : {}
  return executeTool({ tool, arguments: args, policy: POLICY, answers, ...stop }, world)
}

const unrelated = (): Promise<ExecutedCall> => modify(edit(['a/g'], 'one', 'uno'))
const saidBy = ({ reply }: ExecutedCall): string =>
  reply.type === 'error'
    ? reply.message
    : reply.type === 'success'
      ? reply.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
      : ''
const IGNORED = `changed a/g (same number of lines)\na/${NAME} was ignored: no change that this call knows of made it.`

/** As a program that may read and write `a` keeps it, while the change is under way. */
async function keepJournal(ended: Promise<unknown>, other?: Buffer): Promise<Buffer> {
  const over = ended.then(
    () => 'over' as const,
    () => 'over' as const,
  )
  while ((await Promise.race([over, turn('going on' as const)])) !== 'over') {
    const bytes = readIfThere(at(`a/${NAME}`))
    if (bytes && !(other && bytes.equals(other))) return bytes
  }
  throw new Error('there was no journal to be seen')
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

test('a journal that was kept and is put back later completes nothing, and tells nothing', async () => {
  const call = modify(edit(ALL, 'old', 'new'))
  const kept = await keepJournal(call)
  expect((await call).reply.type).toBe('success')
  expect(texts(ALL)).toEqual(['new'])
  // Not shorter: three letters come up by chance in so many random bytes.
  for (const part of ['secret/f', '"old"', '"b2xk"']) expect(kept.toString('latin1')).not.toContain(part)
  put(ALL, 'old') // a person takes it back
  writeFileSync(at(`a/${NAME}`), kept)
  expect(saidBy(await unrelated())).toBe(IGNORED)
  expect(texts(ALL)).toEqual(['old'])
  expect(openKeys()).toEqual([])
})

test('nor does one that was being taken back', async () => {
  const call = modify(edit(ALL, 'old', 'new'))
  const forward = await keepJournal(call)
  put(['z/f'], 'of somebody else') // the last one: all others are exchanged by then, and put back
  const undo = await keepJournal(call, forward)
  expect((await call).reply.type).toBe('error')
  expect(texts(SECRETS)).toEqual(['old'])
  for (const [kept, now] of [
    [undo, 'new'],
    [forward, 'old'],
  ] as const) {
    put(SECRETS, now)
    put(['a/g'], 'one')
    writeFileSync(at(`a/${NAME}`), kept)
    expect(saidBy(await unrelated())).toBe(IGNORED)
    expect(texts(SECRETS)).toEqual([now])
  }
  expect(openKeys()).toEqual([])
})

test('a journal that was moved away completes nothing later: its call succeeded, and its key is gone', async () => {
  const call = modify(edit(ALL, 'old', 'new'))
  await keepJournal(call)
  renameSync(at(`a/${NAME}`), at('a/copy'))
  mkdirSync(at(`a/${NAME}`))
  expect((await call).reply.type).toBe('success')
  expect(texts(ALL)).toEqual(['new'])
  expect(openKeys()).toEqual([])
  put(ALL, 'old') // a person takes it back
  rmSync(at(`a/${NAME}`), { recursive: true })
  renameSync(at('a/copy'), at(`a/${NAME}`))
  expect(saidBy(await unrelated())).toBe(IGNORED)
  expect(texts(ALL)).toEqual(['old'])
})

test('nor does moving it away keep a change from being taken back', async () => {
  const call = modify(edit(ALL, 'old', 'new'))
  await keepJournal(call)
  renameSync(at(`a/${NAME}`), at('a/copy'))
  mkdirSync(at(`a/${NAME}`))
  put(['z/f'], 'of somebody else')
  expect((await call).reply.type).toBe('error')
  expect(texts(['a/f', ...SECRETS])).toEqual(['old'])
  expect(openKeys()).toEqual([])
})

test('SPEC 4.12 a link in the place of a file leads no recovery to another one', async () => {
  put(['secret/target'], 'new')
  const call = modify(edit(ALL, 'old', 'new'))
  await keepJournal(call)
  const isExchanged = (): boolean => texts(['a/f'])[0] === 'new'
  while (!isExchanged()) await turn()
  put(['z/f'], 'of somebody else') // so that all is taken back
  rmSync(at('a/f'))
  symlinkSync('../secret/target', at('a/f'))
  const said = saidBy(await call)
  expect(said).toContain('could not be put back')
  expect(said).toContain('Changed by somebody since, and left alone: a/f, z/f.')
  expect(texts(['secret/target'])).toEqual(['new'])
  expect(texts(SECRETS)).toEqual(['old'])
  expect(openKeys()).toEqual([])
})

test('a call that is ended before it decides leaves nothing, neither a key nor what it had written', async () => {
  const stop = new AbortController()
  const call = modify(edit(ALL, 'old', 'new'), stop.signal)
  const staged = (): readonly string[] =>
    readdirSync(at('secret')).filter((name) => name.startsWith('.cordon-tmp'))
  while (staged().length === 0) await turn()
  stop.abort()
  expect((await call).reply.type).toBe('error')
  expect(new Set([...texts(ALL), 'old', 'new']).size).toBe(2)
  expect(texts(ALL).length).toBe(1)
  expect(staged()).toEqual([])
  expect(openKeys()).toEqual([])
})

test('decision 0495: a directory that became a link while the call ran leads no sweep to another one', async () => {
  const paths = ['a/f', ...Array.from({ length: 200 }, (_, i) => `z/f${i}`)]
  put(paths, 'old')
  const stop = new AbortController()
  const call = modify(edit(paths, 'old', 'new'), stop.signal)
  const stagedIn = (dir: string): readonly string[] =>
    readdirSync(at(dir)).filter((name) => name.startsWith('.cordon-tmp'))
  while (stagedIn('a').length === 0) await turn()
  const [name] = stagedIn('a')
  // As a program that may write `a`, and the next command, which may swap it.
  put([`secret/${name}`], 'bait')
  renameSync(at('a'), at('b'))
  symlinkSync('secret', at('a'))
  stop.abort()
  expect((await call).reply.type).toBe('error')
  expect(stagedIn('secret')).toEqual([name])
  expect(stagedIn('z')).toEqual([])
  expect(openKeys()).toEqual([])
})

test('a key of a host that was killed is gone after the next call, also without a journal', async () => {
  const { own } = world.journalKeys.begin('own')
  const key = readFileSync(join(local, 'journal-keys', own!), 'latin1').split('\n')[0]
  const gone = spawnSync(process.execPath, ['-p', 'process.pid'])
  const [, machine] = /^\.cordon-tmp-([0-9a-f]+)-/.exec(newTempName())!
  const host = `.cordon-tmp-${machine}-${String(gone.stdout).trim()}-1-${'0'.repeat(16)}`
  writeFileSync(join(local, 'journal-keys', own!), `${key}\n${host}`)
  expect(world.journalKeys.begin('none')).toEqual({ open: { [own!]: key }, left: [own] })
  expect((await unrelated()).reply.type).toBe('success')
  expect(openKeys()).toEqual([])
})

test('tool and host killed in the middle: the next call completes it, once', async () => {
  // What a host does before it is killed, and the tool that dies with it.
  const keys = world.journalKeys.begin('own')
  const fs = POLICY.fs.map(({ path }) => ({ path, read: true, write: true }))
  const child = spawn(process.execPath, [TOOLS, 'fs_modify_file'], { stdio: ['pipe', 'ignore', 'ignore'] })
  const ended = once(child, 'exit')
  child.stdin.end(
    JSON.stringify({
      context: { root: world.root.path, action: 'run', access: { fs } },
      tool: {
        name: 'fs_modify_file',
        arguments: edit(ALL, 'old', 'new'),
        options: { journal_keys: keys },
      },
    }),
  )
  const kept = await keepJournal(ended)
  child.kill('SIGKILL')
  await ended
  writeFileSync(at(`a/${NAME}`), kept) // should it have been faster than the signal
  expect(openKeys()).toEqual([keys.own])
  expect(saidBy(await unrelated())).toBe(
    `changed a/g (same number of lines)\nAn earlier change that was interrupted has been completed (${ALL.length} files).`,
  )
  expect(texts(ALL)).toEqual(['new'])
  expect(openKeys()).toEqual([])
  put(ALL, 'old')
  put(['a/g'], 'one')
  writeFileSync(at(`a/${NAME}`), kept)
  expect(saidBy(await unrelated())).toBe(IGNORED)
  expect(texts(ALL)).toEqual(['old'])
})

test('two calls at once see each other, and leave nothing', async () => {
  put(ALL, 'p0 q0')
  const outcomes = await Promise.all([modify(edit(ALL, 'p0', 'p1')), modify(edit(ALL, 'q0', 'q1'))])
  expect(outcomes.map(({ reply }) => reply.type)).toEqual(['success', 'success'])
  expect(texts(ALL)).toEqual(['p1 q1'])
  expect(existsSync(at(`a/${NAME}`))).toBe(false)
  expect(openKeys()).toEqual([])
})

test('a key is kept before its call, only for a call that names several files, and where only the user reads', () => {
  const { journalKeys } = world
  expect(journalKeys.begin('none')).toEqual({ open: {}, left: [] })
  expect(existsSync(local)).toBe(false)
  const first = journalKeys.begin('own')
  expect(first.open[first.own!]).toMatch(/^[0-9a-f]{64}$/)
  expect(statSync(join(local, 'journal-keys')).mode & 0o777).toBe(0o700)
  expect(statSync(join(local, 'journal-keys', first.own!)).mode & 0o777).toBe(0o600)
  const second = journalKeys.begin('own')
  expect(second.open).toMatchObject(first.open)
  journalKeys.forget(['../journal-keys', first.own!])
  expect(Object.keys(journalKeys.begin('none').open)).toEqual([second.own])
})

test('a call of one file keeps no key', async () => {
  expect((await unrelated()).reply.type).toBe('success')
  expect(existsSync(local)).toBe(false)
})

test('where it cannot be known which keys are open, nothing is changed', async () => {
  mkdirSync(local)
  writeFileSync(join(local, 'journal-keys'), '')
  await expect(unrelated()).rejects.toThrow(
    /^cannot read what is kept in .*: a part of its path is not a dir/,
  )
  rmSync(join(local, 'journal-keys'))
  mkdirSync(join(local, 'journal-keys', '0'.repeat(28)), { recursive: true })
  await expect(unrelated()).rejects.toThrow(/^cannot read .*: it is not a regular file$/)
  expect(texts(['a/g'])).toEqual(['one'])
})

test('so many keys and no more: the oldest is given up, and that is said', () => {
  const { journalKeys } = world
  const ids = Array.from({ length: 64 }, () => journalKeys.begin('own').own)
  const [oldest] = ids.toSorted()
  expect(() => journalKeys.begin('own')).toThrow(
    /^64 changes of several files were interrupted and never completed; the oldest, of 20.*Z, is given up now/,
  )
  expect(Object.keys(journalKeys.begin('none').open)).not.toContain(oldest)
  expect(Object.keys(journalKeys.begin('own').open).length).toBe(64)
})
