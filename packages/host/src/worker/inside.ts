import { access, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { startOf, statFields } from '@cordon/workspace'

/**
 * The one process inside a sandbox, seen from outside (decision 0200). Between two calls it is stopped, so that
 * nothing happens inside: whatever appears meanwhile at a path that is watched was made by somebody else. All that is
 * said here is read from the host's own `/proc`; nothing is taken from the process itself.
 */
export class Inside {
  readonly #init: number
  readonly #pid: number
  /** When it started. The kernel uses process numbers again; number and start together name one process for ever. */
  readonly #start: string
  /** How often `stop` looks again before it pauses. */
  #quickTries = QUICK_TRIES
  /** Ends its pause. */
  #lookNow: (() => void) | undefined

  private constructor(init: number, pid: number) {
    this.#init = init
    this.#pid = pid
    this.#start = startOf(pid)
  }

  /** Launcher, pid 1 of the sandbox, the program. Undefined when that is not what is there, or not to be seen. */
  static find(launcher: number): Inside | undefined {
    try {
      const [init, ...others] = childrenOf(launcher, launcher)
      if (init === undefined || others.length > 0) return undefined
      const [pid, ...more] = childrenOf(init, init)
      return pid === undefined || more.length > 0 ? undefined : new Inside(init, pid)
    } catch {
      return undefined
    }
  }

  /** Lets it go on. False: it is gone. */
  go(): boolean {
    return this.#signal('SIGCONT')
  }

  /** Stops it. True once all of it stands still, and nothing else lives inside. */
  async stop(): Promise<boolean> {
    this.#quickTries = QUICK_TRIES
    if (!this.#signal('SIGSTOP')) return false
    for (let pauses = 0; pauses < MOST_PAUSES;) {
      if (this.#quickTries-- > 0) await turn()
      else await this.#pause(pauses++)
      try {
        // Who was killed, and not collected yet, does nothing any more; a moment ago it may not have been dead.
        if (isStopped(stateOf(this.#pid, this.#pid)) && this.#isStill()) return true
      } catch {
        return false // it is gone
      }
    }
    return false
  }

  /** Somebody waits for `stop`: it looks at once, and again and again before it pauses. */
  hurry(): void {
    this.#quickTries = HURRIED_TRIES
    this.#lookNow?.()
  }

  /** Longer and longer. Node has no timer below a millisecond; a look at a file by another thread takes a tenth of one. */
  async #pause(before: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, before < 2 * SHORT_PAUSES ? 1 : 10)
    if (before < SHORT_PAUSES) access('/proc/self', () => resolve())
    this.#lookNow = resolve
    await promise
    clearTimeout(timer)
  }

  /** Resident memory, in bytes. */
  memory(): number {
    return Number(readFileSync(`/proc/${this.#pid}/statm`, 'utf8').split(' ')[1]) * PAGE
  }

  /** Files and directories that it has open; each would be a way around what the next call is checked for. */
  openFiles(): readonly string[] {
    const dir = `/proc/${this.#pid}/fd`
    return readdirSync(dir)
      .map((fd) => readlinkSync(`${dir}/${fd}`))
      .filter((target) => target.startsWith('/') && !target.startsWith('/dev/'))
  }

  #signal(signal: 'SIGSTOP' | 'SIGCONT'): boolean {
    try {
      return startOf(this.#pid) === this.#start && process.kill(this.#pid, signal)
    } catch {
      return false
    }
  }

  /** All of its threads, and nobody is there beside it. */
  #isStill(): boolean {
    const threads = readdirSync(`/proc/${this.#pid}/task`).map(Number)
    return (
      threads.every((thread) => isStopped(stateOf(this.#pid, thread))) &&
      threads.every((thread) => childrenOf(this.#pid, thread).every(isDead)) &&
      childrenOf(this.#init, this.#init).every((pid) => pid === this.#pid || isDead(pid))
    )
  }
}

/** Without a pause between them; who is not waited for leaves the processor to others soon. */
const QUICK_TRIES = 5
const HURRIED_TRIES = 15
/** Two seconds and more: a busy machine takes its time to stop everybody. */
const MOST_PAUSES = 250
const SHORT_PAUSES = 20
const PAGE = 4096

const childrenOf = (pid: number, thread: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

function stateOf(pid: number, thread: number): string {
  const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
  return stat.charAt(stat.lastIndexOf(')') + 2)
}

const isStopped = (state: string): boolean => state === 'T' || state === 'Z' || state === 'X'

function isDead(pid: number): boolean {
  try {
    return ['Z', 'X'].includes(statFields(pid)[0] ?? '')
  } catch {
    return true
  }
}
