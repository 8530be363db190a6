import { spawn } from 'node:child_process'
import { fstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { constants } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { styleText } from 'node:util'
import type { Person, Respondent } from '@cordon/host'
import { ambientDirectory, ambientHome, requireExactWords } from './ambient.ts'
import { personAt, respondentAt } from './person.ts'

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
  /** Standard output and standard error are the same file: `2>&1`. */
  readonly streamsAreOne: boolean
  /** Who can be asked; undefined without a terminal. */
  readonly person: Person | undefined
  /** Who can answer a tool's question; undefined without a terminal. */
  readonly respondent: Respondent | undefined
  /** The Node that runs us: what we ship runs on the same one. */
  readonly node: string
  /** How this process was started. */
  readonly commandLine: readonly [string, ...string[]]
  /** Throws when a word of the command line is not what was typed. */
  readonly requireExactWords: (words: readonly string[]) => void
  /** Where the code of this process lies: Node, the directory of the package, and what else Node was told to read. */
  readonly code: readonly string[]
  /** To be called before this process becomes another one: nothing of Node's own end happens then. */
  readonly beforeLeaving: () => void
  /** Starts another `cordon` that nobody waits for. */
  startDetached(args: readonly string[]): void
  /** All of standard input. */
  readInput(): Promise<string>
  /** Sets the exit code; the process ends by itself when nothing is left to do. */
  finish(code: number): void
  /** Ends as if the signal had hit us, so that whoever started us sees what happened. */
  dieBy(signal: NodeJS.Signals): void
  /**
   * While something runs for us, signals are its business. What is typed at a terminal reaches it by itself.
   * Returns how to get them back.
   */
  passSignals(to: (signal: NodeJS.Signals) => void): () => void
  /** The first signal that wants us to end, typed or sent, is told; the second one ends us. Returns how to stop. */
  onInterrupt(told: (signal: NodeJS.Signals) => void): () => void
}

export interface Stream {
  readonly isTerminal: boolean
  readonly write: (text: string | Uint8Array) => void
  readonly sink: NodeJS.WriteStream
  readonly style: (style: Style, text: string) => string
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** The only reader of `process` in the program. */
export function openAmbientWorld(beforeLeaving: () => void = () => {}): World {
  const { env } = process
  // `cordon … | head` is not an error of ours. Nor is a closed stderr; there is nobody left to tell.
  const out = once(() => process.stdout.on('error', (error) => process.exit(isPipe(error) ? 0 : 1)))
  const err = once(() => process.stderr.on('error', () => {}))
  const home = once(() => ambientHome(env))
  const ownScript = once(() => realpathSync.native(process.argv[1]!))
  return {
    argv: process.argv.slice(2),
    // Lazily: the command that ended may have removed it, and how it ended is told all the same.
    get cwd() {
      return ambientDirectory()
    },
    env,
    get home() {
      return home()
    },
    platform: process.platform,
    uid: process.getuid?.(),
    pid: process.pid,
    get session() {
      return terminalSession(process.pid)
    },
    out: streamTo(out, env),
    err: streamTo(err, env),
    get streamsAreOne() {
      return identityOf(1) === identityOf(2)
    },
    // Lazily: touching stdin opens it, and most commands never ask anything.
    get person() {
      return personAt({ input: process.stdin, output: err() })
    },
    get respondent() {
      return respondentAt({ input: process.stdin, output: err() })
    },
    node: process.execPath,
    // By its real name: a link could be another one by then.
    get commandLine() {
      return [process.execPath, ...process.execArgv, ownScript(), ...process.argv.slice(2)] as const
    },
    requireExactWords,
    get code() {
      return [process.execPath, dirname(dirname(ownScript())), ...placesOfCode(env)]
    },
    beforeLeaving,
    startDetached: (args) => {
      const options = { cwd: process.cwd(), env, detached: true, stdio: 'ignore' } as const
      spawn(process.execPath, [process.argv[1]!, ...args], options)
        .on('error', () => {})
        .unref()
    },
    readInput: () => readText(process.stdin),
    finish: (code) => {
      process.exitCode = code
    },
    dieBy: (signal) => {
      const number = constants.signals[signal] ?? Number(signal.slice('SIG'.length))
      process.exitCode = 128 + number // for a caller that made us ignore it
      // Node ignores or uses some signals (SIGPIPE, SIGUSR1); taking a listener away restores what the kernel does.
      if (signal in constants.signals && signal !== 'SIGKILL' && signal !== 'SIGSTOP') {
        process.on(signal, () => {})
        process.removeAllListeners(signal)
      }
      process.kill(process.pid, number)
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
    onInterrupt: (told) => {
      for (const signal of ENDING) process.once(signal, told)
      return () => {
        for (const signal of ENDING) process.off(signal, told)
      }
    },
  }
}

const PASSED = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGINT', 'SIGQUIT'] as const

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

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

function identityOf(fd: number): string {
  const { dev, ino } = fstatSync(fd)
  return `${dev}:${ino}`
}

const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => (made ??= make())
}

/** Modules, and what V8 made of modules: Node takes code from there without being asked again. */
const placesOfCode = (env: World['env']): readonly string[] =>
  [env['NODE_COMPILE_CACHE'], ...(env['NODE_PATH'] ?? '').split(delimiter)].flatMap((place) =>
    place ? namesOn(resolve(place)) : [],
  )

/** As many as the kernel follows. */
const MOST_LINKS = 40

/** Every link on the way, which could be another one by then, and last the place itself, there or not. */
function namesOn(path: string, links = 0): readonly string[] {
  const parent = dirname(path)
  if (parent === path || links > MOST_LINKS) return [path]
  const above = namesOn(parent, links)
  const dir = above.at(-1)!
  const name = join(dir, basename(path))
  const target = targetOf(name)
  return [
    ...above.slice(0, -1),
    name,
    ...(target === undefined ? [] : namesOn(resolve(dir, target), links + 1)),
  ]
}

function targetOf(name: string): string | undefined {
  try {
    return readlinkSync(name)
  } catch {
    return undefined // no link, or nothing at all
  }
}

const isPipe = (error: NodeJS.ErrnoException): boolean => error.code === 'EPIPE'

/** Node's stream is made when it is first used: a command that succeeds in silence has no need of it. */
function streamTo(open: () => NodeJS.WriteStream, env: World['env']): Stream {
  return {
    get isTerminal() {
      return open().isTTY
    },
    get sink() {
      return open()
    },
    write: (text) => void open().write(text),
    style: (style, text) =>
      wantsColour(open().isTTY, env) ? styleText(style, text, { validateStream: false }) : text,
  }
}

/** Colour only on a terminal; NO_COLOR (any non-empty value) and TERM=dumb turn it off. */
const wantsColour = (isTerminal: boolean, env: World['env']): boolean =>
  isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
