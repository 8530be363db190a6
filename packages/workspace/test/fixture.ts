import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type LockHolder, initWorkspace, type Surroundings, type Workspace } from '@cordon/workspace'
import { onTestFinished } from 'vitest'

/** Gone when the test that asked for it is over. */
export function tempDir(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-ws-')))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

export const HOLDER: LockHolder = { pid: process.pid, command: 'cordon test' }

/** A home of its own, so that a test never sees the places of another one or of the person who runs it. */
export const around = (base: string, changes: Partial<Surroundings> = {}): Surroundings => ({
  env: { XDG_DATA_HOME: join(base, 'data') },
  platform: 'linux',
  home: join(base, 'home'),
  uid: process.getuid?.(),
  ...changes,
})

export async function freshWorkspace(name = 'project'): Promise<{ base: string; workspace: Workspace }> {
  const base = tempDir()
  const root = join(base, name)
  mkdirSync(root)
  // Marked in the tick of its birth, a directory looks as if its filesystem kept no time of birth.
  const changedAt = (): bigint => statSync(root, { bigint: true }).ctimeNs
  const made = changedAt()
  while (changedAt() === made) chmodSync(root, 0o755)
  return { base, workspace: await initWorkspace(root, around(base), HOLDER) }
}

/** Runs `test/children/<name>.ts` as a process of its own, so that it can be killed at any point. */
export function startChild(name: string, args: readonly string[]): ChildProcess {
  const script = join(dirname(fileURLToPath(import.meta.url)), 'children', `${name}.ts`)
  return spawn(process.execPath, ['--conditions=cordon-source', '--no-warnings', script, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

/** What it says until it is gone. Its output ends a moment earlier than it does, with its locks still held. */
export async function* linesOf(child: ChildProcess): AsyncGenerator<string> {
  const gone = once(child, 'exit')
  yield* createInterface({ input: child.stdout! })
  await gone
}

export async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of linesOf(child)) return line
  throw new Error('the child ended without a word')
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
