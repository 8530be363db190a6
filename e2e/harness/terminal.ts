import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { CACHE, CORDON, type Setting } from './cordon.ts'

export interface Played {
  readonly code: number
  /** Every byte the terminal received. */
  readonly raw: string
  /** The same as a person reads it: no control sequences, LF for CRLF. */
  readonly screen: string
  /** Steps whose text never appeared. */
  readonly missed: readonly Step[]
}

/** What is typed, the size `[rows, columns]` that the window gets, or what happens in `cwd` before something is typed. */
export type Step = readonly [
  expect: string,
  then: string | readonly [number, number] | { readonly run: string; readonly type: string },
]

/** Runs cordon in a real pseudo-terminal: when the first text of a step appears, the second is typed. */
export const cordonAtTerminal = (
  { cwd, home, env = {} }: Setting,
  args: readonly string[],
  steps: readonly Step[],
): Played =>
  play({
    argv: [process.execPath, CORDON, ...args],
    cwd,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      XDG_CACHE_HOME: CACHE,
      CORDON_BACKGROUND: 'off',
      TERM: 'xterm',
      ...env,
    },
    steps,
  })

export interface Job {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly steps: readonly Step[]
}

const SCRIPT = readFileSync(join(import.meta.dirname, 'terminal.py'), 'utf8')

export function play(job: Job, who: { readonly uid?: number; readonly gid?: number } = {}): Played {
  const { stdout, stderr, status } = spawnSync('python3', ['-c', SCRIPT], {
    ...who,
    cwd: '/',
    input: JSON.stringify(job),
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the terminal failed: ${stderr}`)
  const played = JSON.parse(stdout) as Omit<Played, 'screen'>
  return { ...played, screen: stripVTControlCharacters(played.raw).replaceAll('\r\n', '\n') }
}
