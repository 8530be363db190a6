import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { styleText } from 'node:util'
import type { Person } from '@cordon/host'
import { personAt } from './person.ts'

/** Everything a command may know of the process it runs in. Tests and embedders make their own. */
export interface World {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly platform: string
  /** Undefined where there are no user ids. */
  readonly uid: number | undefined
  readonly pid: number
  /** The same for every command typed in one terminal. */
  readonly session: string
  readonly out: Stream
  readonly err: Stream
  /** Who can be asked; undefined without a terminal. */
  readonly person: Person | undefined
  /** Sets the exit code; the process ends by itself when nothing is left to do. */
  finish(code: number): void
  /** Ends as if the signal had hit us, so that whoever started us sees what happened. */
  dieBy(signal: NodeJS.Signals): void
  /**
   * While something runs for us, signals are its business. What is typed at a terminal reaches it by itself.
   * Returns how to get them back.
   */
  passSignals(to: (signal: NodeJS.Signals) => void): () => void
  /** The first signal that asks us to stop is told instead, so that what was begun can be taken back; the second ends us. */
  catchStop(told: (signal: NodeJS.Signals) => void): () => void
}

export interface Stream {
  readonly isTerminal: boolean
  readonly write: (text: string | Uint8Array) => void
  /** All of it, no faster than it is taken. */
  readonly pour: (content: AsyncIterable<Uint8Array>) => Promise<void>
  readonly style: (style: Style, text: string) => string
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** The only reader of `process` in the program. */
export function openAmbientWorld(): World {
  const { env } = process
  return {
    argv: process.argv.slice(2),
    cwd: process.cwd(),
    env,
    home: homedir(),
    platform: process.platform,
    uid: process.getuid?.(),
    pid: process.pid,
    get session() {
      return terminalSession(process.pid)
    },
    out: streamTo(process.stdout, env),
    err: streamTo(process.stderr, env),
    // Lazily: touching stdin opens it, and most commands never ask anything.
    get person() {
      return personAt({ input: process.stdin, output: process.stderr })
    },
    finish: (code) => {
      process.exitCode = code
    },
    dieBy: (signal) => {
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    },
    passSignals: (to) => {
      const pass = (signal: NodeJS.Signals): void => {
        const typed = signal === 'SIGINT' || signal === 'SIGQUIT'
        if (!typed || !process.stdin.isTTY) to(signal)
      }
      for (const signal of PASSED) process.on(signal, pass)
      return () => {
        for (const signal of PASSED) process.off(signal, pass)
      }
    },
    catchStop: (told) => {
      const release = (): void => {
        for (const signal of STOPPING) process.off(signal, caught)
      }
      const caught = (signal: NodeJS.Signals): void => {
        release()
        told(signal)
      }
      for (const signal of STOPPING) process.on(signal, caught)
      return release
    },
  }
}

const STOPPING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const PASSED = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGINT', 'SIGQUIT'] as const

/** The kernel's session: the shell's pid with its start time, because pids are used again. */
function terminalSession(pid: number): string {
  try {
    const leader = Number(statFields(pid)[3])
    return `${leader}-${statFields(leader)[19]}`
  } catch {
    return `pid-${pid}` // no procfs, or the leader is gone: a session of one command
  }
}

/** What follows the name in parentheses: state, parent, group, session … and as the 20th the start time. */
const statFields = (pid: number): string[] =>
  readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')

function streamTo(stream: NodeJS.WriteStream, env: World['env']): Stream {
  const isTerminal = stream.isTTY
  const coloured = wantsColour(isTerminal, env)
  return {
    isTerminal,
    write: (text) => void stream.write(text),
    pour: async (content) => {
      for await (const chunk of content) if (!stream.write(chunk)) await once(stream, 'drain')
    },
    style: (style, text) => (coloured ? styleText(style, text, { validateStream: false }) : text),
  }
}

/** Colour only on a terminal; NO_COLOR (any non-empty value) and TERM=dumb turn it off. */
const wantsColour = (isTerminal: boolean, env: World['env']): boolean =>
  isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
