import { spawn, spawnSync } from 'node:child_process'
import { closeSync, fstatSync, readFileSync, realpathSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { isTerminal, type Person, type Respondent, type Reviewer, startOf, statFields } from '@cordon/host'
import { ambientDirectory, ambientHome, requireExactWords, requireOpen } from './ambient.ts'
import {
  type Approver,
  approverAt,
  type AskLine,
  lineAt,
  textAt,
  personAt,
  respondentAt,
  reviewerAt,
  type Terminal,
} from './person.ts'

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
  readonly out: Stream & { readonly sink: NodeJS.WriteStream }
  readonly err: Stream
  /** Standard output and standard error are the same file: `2>&1`. */
  readonly streamsAreOne: boolean
  /** How long the file is that standard output goes to; undefined where it is none. */
  readonly outputSize: () => number | undefined
  /** Who can be asked; undefined without a terminal. */
  readonly person: Person | undefined
  /** Who can say yes, no, or nothing; undefined without a terminal. */
  readonly approver: Approver | undefined
  /** Who can look at what files want; undefined without a terminal. */
  readonly reviewer: Reviewer | undefined
  /** Who can answer a tool's question; undefined without a terminal. */
  readonly respondent: Respondent | undefined
  /** Asks for one line, of what is typed from now on; undefined without a terminal. Resolves to undefined after Ctrl-C. */
  readonly askLine: AskLine | undefined
  /** The same for a text, which may have several lines and have been typed before. */
  readonly askText: ((question: string) => Promise<string | undefined>) | undefined
  /** The Node that runs us: what we ship runs on the same one. */
  readonly node: string
  /** The start value of V8's hashes is the one that everybody knows (decision 0435). */
  readonly hashesAreKnown: boolean
  /** What others start to start us: the script that finds its Node, by its whole path. */
  readonly program: string
  /** Throws when a word of the command line is not what was typed. */
  readonly requireExactWords: (words: readonly string[]) => void
  /** A descriptor that who started us opened for us. Throws when there is none. Returns how to write to it. */
  openDescriptor(fd: number): (text: string) => void
  /** Starts another `cordon` that nobody waits for. */
  startDetached(args: readonly string[]): void
  /** Somebody types at standard input, whether or not they can be asked. */
  readonly inputIsTerminal: boolean
  /** Standard input as a stream, for who speaks a protocol on it. */
  readonly input: NodeJS.ReadStream
  /** All of standard input. */
  readInput(): Promise<string>
  /** Sets the exit code; the process ends by itself when nothing is left to do. */
  finish(code: number): void
  /** Done when the process ends by itself, or because nobody reads any more; not when a signal ends it. */
  atEnd(work: () => void): void
  /** Ends the process at once. For a command that has nothing left to do or to write: Node need not take its heap down. */
  end(code: number): void
  /** Ends as if the signal had hit us, so that whoever started us sees what happened. */
  dieBy(signal: NodeJS.Signals): void
  /** Node would set the terminal, at its end, back to how it was at its start, also from the background. It does not now. */
  leaveTerminalAlone(): void
  /**
   * While something runs for us, signals are its business. What is typed at a terminal reaches it by itself.
   * Returns how to get them back.
   */
  passSignals(to: (signal: NodeJS.Signals) => void): () => void
  /** The first signal that wants us to end, typed or sent, is told; the second one ends us. Returns how to stop. */
  onInterrupt(told: (signal: NodeJS.Signals) => void): () => void
  /**
   * Nobody reads standard output any more (`closed`), or it cannot be written. Where nobody asked to be told, the process ends:
   * with 0 in the first case, which is no error of ours, with 1 and a word in the second.
   */
  onOutputLost(told: (loss: OutputLoss) => void): void
}

export type OutputLoss = { readonly kind: 'closed' } | { readonly kind: 'failed'; readonly why: string }

export interface Stream {
  readonly isTerminal: boolean
  /** A program has the terminal to itself, such as one that fills the screen: what others write there is drawn into its picture. */
  readonly isTaken?: () => boolean
  readonly write: (text: string | Uint8Array) => void
  readonly style: (style: Style, text: string) => string
  /** How wide the terminal is, now; undefined where there is none. */
  readonly columns?: number | undefined
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/**
 * The only reader of `process` in the program. `directly`: what is printed goes to the descriptor, and who cannot take it at once
 * is waited for. That is for a program that prints once and ends, and so need not load Node's streams (decision 0435).
 */
export function openAmbientWorld(printing: 'directly' | 'by stream' = 'by stream'): World {
  // Once: each look at a variable of Node's own is a call into the system, and every layer looks at all of them.
  const env = { ...process.env }
  let lost = (loss: OutputLoss): void => {
    if (loss.kind === 'failed') say(`cordon: ${loss.why}\n`)
    process.exit(loss.kind === 'closed' ? 0 : 1) // `cordon … | head` is not an error of ours
  }
  const out = once(() => process.stdout.on('error', (error) => lost(lossOf(error))))
  // Who prints directly ends next, in its own way, also where nobody reads.
  const print = (text: string | Uint8Array): void =>
    writeAll(STDOUT, text, (error) => {
      const loss = lossOf(error)
      if (loss.kind === 'failed') lost(loss)
    })
  const home = once(() => ambientHome(env))
  return {
    argv: process.argv.slice(2),
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
    out: {
      ...streamTo(STDOUT, env),
      write: printing === 'directly' ? print : (text) => void out().write(text),
      get columns() {
        return isTerminal(STDOUT) ? out().columns || undefined : undefined
      },
      get sink() {
        return out()
      },
    },
    err: {
      ...streamTo(STDERR, env),
      isTaken: () => isTerminal(STDERR) && isRaw(STDERR),
      write: say,
      get columns() {
        return isTerminal(STDERR) ? process.stderr.columns || undefined : undefined
      },
    },
    get streamsAreOne() {
      return identityOf(1) === identityOf(2)
    },
    outputSize: () => {
      const stats = fstatSync(STDOUT)
      return stats.isFile() ? stats.size : undefined
    },
    // Lazily: touching stdin opens it, and most commands never ask anything; nor where there is nobody to ask.
    get person() {
      return atTerminal(personAt)
    },
    get approver() {
      return atTerminal(approverAt)
    },
    get reviewer() {
      return atTerminal(reviewerAt)
    },
    get respondent() {
      return atTerminal(respondentAt)
    },
    get askLine() {
      return atTerminal(lineAt)
    },
    get askText() {
      return atTerminal(textAt)
    },
    node: process.execPath,
    hashesAreKnown: process.execArgv.includes('--no-rehash-snapshot'),
    get program() {
      return join(dirname(realpathSync(process.argv[1]!)), 'cordon')
    },
    requireExactWords,
    openDescriptor: (fd) => {
      requireOpen(fd)
      return (text) => writeAll(fd, text)
    },
    startDetached: (args) => {
      const options = { cwd: process.cwd(), env, detached: true, stdio: 'ignore' } as const
      spawn(process.execPath, [process.argv[1]!, ...args], options)
        .on('error', () => {})
        .unref()
    },
    inputIsTerminal: isTerminal(STDIN),
    get input() {
      return process.stdin
    },
    readInput: async () => (isAtHand(STDIN) ? readFileSync(STDIN, 'utf8') : readText(process.stdin)),
    finish: (code) => {
      process.exitCode = code
    },
    atEnd: (work) => void process.once('exit', work),
    end: (code) => process.exit(code),
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
    leaveTerminalAlone: () => {
      // It compares what its streams were with what they are, and leaves alone what is not the same any more.
      process.once('exit', () => {
        for (const fd of [STDIN, STDOUT, STDERR]) closeSync(fd)
      })
    },
    passSignals: (to) => {
      const pass = (signal: NodeJS.Signals): void => {
        const typed =
          (signal === 'SIGINT' || signal === 'SIGQUIT') && isTerminal(STDIN) && isInFront(process.pid)
        if (!typed) to(signal)
      }
      for (const signal of PASSED) process.on(signal, pass)
      return () => {
        for (const signal of PASSED) process.off(signal, pass)
      }
    },
    onOutputLost: (told) => {
      lost = told
    },
    onInterrupt: (told) => {
      for (const signal of ENDING) process.once(signal, told)
      return () => {
        for (const signal of ENDING) process.off(signal, told)
      }
    },
  }
}

const atTerminal = <T>(who: (at: Terminal) => T | undefined): T | undefined =>
  isTerminal(STDIN) && isTerminal(STDERR)
    ? who({
        get input() {
          return process.stdin
        },
        get output() {
          return process.stderr
        },
        isKnown: true,
        interrupt: () => process.kill(process.pid, 'SIGINT'),
      })
    : undefined

const [STDIN, STDOUT, STDERR] = [0, 1, 2] as const

const PASSED = [
  'SIGTERM',
  'SIGHUP',
  'SIGUSR1',
  'SIGUSR2',
  'SIGALRM',
  'SIGWINCH',
  'SIGINT',
  'SIGQUIT',
] as const

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

/** The kernel's session: the shell's pid with its start time, because pids are used again. */
function terminalSession(pid: number): string {
  try {
    const leader = Number(statFields(pid)[3])
    return `${leader}-${startOf(leader)}`
  } catch {
    return `pid-${pid}` // no procfs, or the leader is gone: a session of one command
  }
}

/** Whether lines are not put together by the terminal but by a program. Node cannot ask; what can is the system's own (decision 0476). */
function isRaw(fd: number): boolean {
  const { stdout } = spawnSync('/bin/stty', ['-a'], {
    stdio: [fd, 'pipe', 'ignore'],
    env: {},
    encoding: 'utf8',
  })
  return /(?:^|\s)-icanon\b/.test(stdout ?? '')
}

/** Whether our process group is the one that gets what is typed: Ctrl-C has then reached the command as well. */
function isInFront(pid: number): boolean {
  const [, , group, , , inFront] = statFields(pid)
  return group === inFront
}

/** A file, or a device such as /dev/null: nobody has to be waited for, and Node need not make a stream of it. */
function isAtHand(fd: number): boolean {
  const stat = fstatSync(fd)
  return stat.isFile() || (stat.isCharacterDevice() && !isTerminal(fd))
}

function identityOf(fd: number): string {
  const { dev, ino } = fstatSync(fd)
  return `${dev}:${ino}`
}

const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => (made ??= make())
}

const lossOf = ({ code, message }: NodeJS.ErrnoException): OutputLoss =>
  code === 'EPIPE'
    ? { kind: 'closed' }
    : { kind: 'failed', why: `standard output cannot be written: ${code ?? message}` }

/** Without Node's stream: that is made when it is first written to, and a command that succeeds in silence has no need of it. */
const streamTo = (fd: number, env: World['env']): Pick<Stream, 'isTerminal' | 'style'> => ({
  isTerminal: isTerminal(fd),
  style: (style, text) =>
    wantsColour(isTerminal(fd), env) ? styleText(style, text, { validateStream: false }) : text,
})

/**
 * What we have to say ourselves is short, and goes to the descriptor as it is: Node's stream would make a pipe that others
 * write to as well refuse what it has no room for. Nobody there to read it is no error of ours.
 */
const say = (text: string | Uint8Array): void => writeAll(STDERR, text)

function writeAll(
  fd: number,
  text: string | Uint8Array,
  onError: (error: NodeJS.ErrnoException) => void = () => {},
): void {
  for (let left = Buffer.from(text); left.length > 0;) {
    try {
      left = left.subarray(writeSync(fd, left))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return onError(error as NodeJS.ErrnoException)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, MOMENT) // somebody else made it so: when there is room
    }
  }
}

const MOMENT = 5

/** Colour only on a terminal; NO_COLOR (any non-empty value) and TERM=dumb turn it off. */
const wantsColour = (toTerminal: boolean, env: World['env']): boolean =>
  toTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
