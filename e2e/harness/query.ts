import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect } from 'vitest'
import type { RecordedStep } from '../../packages/host/src/agent/recorded/script.ts'
import { CACHE, CORDON, cordon, type Ended, type Setting, temporary } from './cordon.ts'
import { modelConfig, type ModelProcess, startModel } from './model.ts'
import { cordonAtTerminal, play, type Played, type Step } from './terminal.ts'

/** What the tests of `cordon query` begin with: a workspace, a person, and a recorded model whom they ask. */
export const here = {} as Setting & { readonly dir: string }
const models: ModelProcess[] = []

beforeEach(() => {
  const dir = temporary()
  const setting = { dir, cwd: join(dir, 'w'), home: join(dir, 'home'), env: { CORDON_BACKGROUND: 'off' } }
  Object.assign(here, setting)
  for (const each of [here.cwd, here.home]) mkdirSync(each)
  write('w/README.md', 'hello\n')
  expect(cordon(here, 'init').code).toBe(0)
})

afterEach(async () => {
  for (const started of models.splice(0)) await started[Symbol.asyncDispose]()
})

export function write(name: string, text: string): void {
  const file = join(here.dir, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

export const UNATTENDED = '[conversation.tools."*"]\nrun = "unattended"\n'

/** A recorded model that is there until the end of the test. */
export async function recorded(script: readonly RecordedStep[]): Promise<ModelProcess> {
  const started = await startModel(script)
  models.push(started)
  return started
}

/** A recorded model that this person asks. */
export async function model(
  script: readonly RecordedStep[],
  config = UNATTENDED,
  kind?: string,
): Promise<ModelProcess> {
  const started = await recorded(script)
  write('home/.config/cordon/config.toml', modelConfig(started, kind) + config)
  return started
}

export const query = (...args: string[]): Ended => cordon(here, 'q', ...args)
export const atTerminal = (args: readonly string[], steps: readonly Step[], env = {}): Played =>
  cordonAtTerminal({ ...here, env: { ...here.env, ...env } }, ['q', ...args], steps)

/** A command line of a shell at a terminal; `"$0" "$1"` is cordon. */
export const inShell = (line: string, steps: readonly Step[]): Played =>
  play({
    argv: ['/bin/sh', '-c', line, process.execPath, CORDON],
    cwd: here.cwd,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: here.home,
      XDG_CACHE_HOME: CACHE,
      TERM: 'xterm',
      ...here.env,
    },
    steps,
  })

export const conversations = (): string => join(here.cwd, '.cordon/conversations')
export const conversationIds = (): string[] => readdirSync(conversations())
/** The log of the only conversation. */
export function events(): { readonly kind: string; readonly [field: string]: unknown }[] {
  const [id] = conversationIds()
  return readFileSync(join(conversations(), id!, 'events.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { kind: string })
}
export const kinds = (): string[] => events().map(({ kind }) => kind)

export const READ: RecordedStep = { calls: [{ tool: 'fs_read_file', arguments: { path: 'README.md' } }] }
export const CHANGE: RecordedStep = {
  text: 'I change it.',
  calls: [
    { tool: 'fs_modify_file', arguments: { edits: [{ path: 'README.md', old: 'hello', new: 'bye' }] } },
  ],
}
