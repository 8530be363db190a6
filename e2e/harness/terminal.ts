import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { CORDON, type Setting } from './cordon.ts'

export interface Played {
  readonly code: number
  /** Every byte the terminal received. */
  readonly raw: string
  /** The same as a person reads it: no control sequences, LF for CRLF. */
  readonly screen: string
  /** Steps whose text never appeared. */
  readonly missed: readonly [string, string][]
}

/** Runs cordon in a real pseudo-terminal: when the first text of a step appears, the second is typed. */
export function cordonAtTerminal(
  { cwd, home, env = {} }: Setting,
  args: readonly string[],
  steps: readonly (readonly [expect: string, type: string])[],
): Played {
  const job = {
    argv: [process.execPath, CORDON, ...args],
    cwd,
    env: { PATH: process.env['PATH'], HOME: home, TERM: 'xterm', ...env },
    steps,
  }
  const { stdout, stderr, status } = spawnSync('python3', [join(import.meta.dirname, 'terminal.py')], {
    input: JSON.stringify(job),
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the terminal failed: ${stderr}`)
  const played = JSON.parse(stdout) as Omit<Played, 'screen'>
  return { ...played, screen: stripVTControlCharacters(played.raw).replaceAll('\r\n', '\n') }
}
