import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The built program, as a user starts it. */
export const CORDON = join(import.meta.dirname, '../../packages/cli/bin/cordon.cjs')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Setting {
  readonly cwd: string
  /** A home of its own, so that no test sees the machine's configuration or another test's approvals. */
  readonly home: string
  readonly env?: Readonly<Record<string, string>>
}

/** Of our own compiled code: outside every home, because tests look at what a command left there. */
export const CACHE = join(tmpdir(), `cordon-e2e-cache-${process.getuid?.() ?? 0}`)

/** Runs without a terminal, as in a script: no standard input, pipes for the rest. */
export function cordon({ cwd, home, env = {} }: Setting, ...args: string[]): Ended {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [CORDON, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: home, XDG_CACHE_HOME: CACHE, CORDON_BACKGROUND: 'off', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  })
  if (error) throw error
  return { code: status, stdout, stderr }
}

/** What a test wrote as configuration is trusted from now on: as in a script, after a person has looked (SPEC 2.1). */
export function trust(here: Setting): void {
  const { code, stderr } = cordon(here, 'trust', '--yes')
  if (code !== 0) throw new Error(`cordon trust: ${stderr}`)
}

/** The same without waiting, for what happens at once. */
export function cordonMeanwhile({ cwd, home, env = {} }: Setting, ...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [CORDON, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (data: string) => (text[name] += data))
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (code) => resolve({ code, ...text }))
  })
}

export const temporary = (): string => realpathSync(mkdtempSync(join(tmpdir(), 'cordon-e2e-')))
