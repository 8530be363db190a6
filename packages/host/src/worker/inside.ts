import { access, closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { fieldsOfStat, statFields } from '@cordon/workspace'

/**
 * The one process inside a sandbox, seen from outside (decision 0200). Between two calls it is stopped, so that
 * nothing happens inside: whatever appears meanwhile at a path that is watched was made by somebody else. All that is
 * said here is read from the host's own `/proc`; nothing is taken from the process itself.
 */
export class Inside {
  readonly #pid: number
  readonly #files: Kept<'statm' | 'siblings'>
  #threads: readonly Kept<'stat' | 'children'>[] = []
  /** How often `stop` looks again before it pauses. */
  #quickTries = QUICK_TRIES
  /** Somebody waits for it; maybe since before it was told to stop. */
  #isHurried = false
  /** Ends its pause. */
  #lookNow: (() => void) | undefined

  private constructor(init: number, pid: number) {
    this.#pid = pid
    this.#files = new Kept({
      statm: `/proc/${pid}/statm`,
      siblings: `/proc/${init}/task/${init}/children`,
    })
  }

  /** Launcher, pid 1 of the sandbox, the program. Undefined when that is not what is there, or not to be seen. */
  static find(launcher: number): Inside | undefined {
    try {
      const [init, ...others] = childrenOf(launcher)
      if (init === undefined || others.length > 0) return undefined
      const [pid, ...more] = childrenOf(init)
      return pid === undefined || more.length > 0 ? undefined : new Inside(init, pid)
    } catch {
      return undefined
    }
  }

  /** Lets it go on. False: it is gone. */
  go(): boolean {
    this.#isHurried = false
    return this.#signal('SIGCONT')
  }

  /** Stops it. True once all of it stands still, and nothing else lives inside. */
  async stop(): Promise<boolean> {
    this.#quickTries = this.#isHurried ? HURRIED_TRIES : QUICK_TRIES
    if (!this.#signal('SIGSTOP')) return false
    for (let pauses = 0; pauses < MOST_PAUSES;) {
      if (this.#quickTries-- > 0) await turn()
      else await this.#pause(pauses++)
      try {
        if (this.#isStill()) return true
      } catch {
        return false // it is gone
      }
    }
    return false
  }

  /** Somebody waits for `stop`: it looks at once, and again and again before it pauses. */
  hurry(): void {
    this.#quickTries = HURRIED_TRIES
    this.#isHurried = true
    this.#lookNow?.()
  }

  /**
   * Longer and longer. Node has no timer below a millisecond; a look at a file by another thread takes a tenth of one, and is
   * for who waits: otherwise it only takes the processor from the one that is to stop (decision 0572).
   */
  async #pause(before: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, before < 2 * SHORT_PAUSES ? 1 : 10)
    if (this.#isHurried && before < SHORT_PAUSES) access('/proc/self', () => resolve())
    this.#lookNow = resolve
    await promise
    clearTimeout(timer)
  }

  /** Resident memory, in bytes. */
  memory(): number {
    return Number(this.#files.read('statm').split(' ')[1]) * PAGE
  }

  /** Files and directories that it has open; each would be a way around what the next call is checked for. */
  openFiles(): readonly string[] {
    const dir = `/proc/${this.#pid}/fd`
    return readdirSync(dir)
      .map((fd) => readlinkSync(`${dir}/${fd}`))
      .filter((target) => target.startsWith('/') && !target.startsWith('/dev/'))
  }

  /** It is gone: what is open of its `/proc` is closed. */
  close(): void {
    for (const each of [this.#files, ...this.#threads]) each.close()
  }

  #signal(signal: 'SIGSTOP' | 'SIGCONT'): boolean {
    try {
      this.#files.read('statm') // while it can be read, nobody else has the number
      return process.kill(this.#pid, signal)
    } catch {
      return false
    }
  }

  /** All of its threads, and nobody is there beside it. */
  #isStill(): boolean {
    let still = this.#areStill()
    if (still === undefined) {
      this.#findThreads()
      still = this.#areStill()
    }
    return (
      still === true &&
      this.#threads.every((thread) => pidsIn(thread.read('children')).every(isDead)) &&
      pidsIn(this.#files.read('siblings')).every((pid) => pid === this.#pid || isDead(pid))
    )
  }

  /**
   * Undefined: the threads that are known are not all of them. How many there are is taken from what is read last: whoever could
   * still have made one stands still by then.
   */
  #areStill(): boolean | undefined {
    let stat = ''
    try {
      for (const thread of this.#threads) {
        stat = thread.read('stat')
        if (!isStopped(stateIn(stat))) return false
      }
    } catch {
      return undefined // one is gone
    }
    return Number(fieldsOfStat(stat)[THREADS]) === this.#threads.length || undefined
  }

  #findThreads(): void {
    for (const each of this.#threads) each.close()
    this.#threads = []
    const dir = `/proc/${this.#pid}/task`
    const found: Kept<'stat' | 'children'>[] = []
    try {
      for (const thread of readdirSync(dir))
        found.unshift(new Kept({ stat: `${dir}/${thread}/stat`, children: `${dir}/${thread}/children` }))
      this.#files.read('statm') // it is still there, so all of that was its own
    } catch (error) {
      for (const each of found) each.close()
      throw error
    }
    this.#threads = found
  }
}

/**
 * Files of `/proc` about one process or thread, kept open and read anew each time (decision 0355): one call of the kernel instead
 * of four, and never about another process that got the number. Once it is gone, reading throws, but of `children`.
 */
class Kept<Name extends string> {
  readonly #files = new Map<string, number>()

  constructor(paths: Readonly<Record<Name, string>>) {
    try {
      for (const [name, path] of Object.entries<string>(paths)) this.#files.set(name, openSync(path, 'r'))
    } catch (error) {
      this.close()
      throw error
    }
  }

  read(name: Name): string {
    const fd = this.#files.get(name)
    if (fd === undefined) throw new Error('it is closed')
    const bytes = readSync(fd, READ, 0, READ.length, 0)
    if (bytes === READ.length) throw new Error('there is more than is looked at')
    return READ.toString('latin1', 0, bytes)
  }

  close(): void {
    for (const fd of this.#files.values()) closeSync(fd)
    this.#files.clear()
  }
}

const READ = Buffer.allocUnsafeSlow(4096)

/** How many threads its process has, among what follows a thread's name in `stat`. */
const THREADS = 17

/** Without a pause between them; who is not waited for leaves the processor to others soon. */
const QUICK_TRIES = 5
const HURRIED_TRIES = 15
/** Two seconds and more: a busy machine takes its time to stop everybody. */
const MOST_PAUSES = 250
const SHORT_PAUSES = 20
const PAGE = 4096

const pidsIn = (list: string): readonly number[] => list.split(' ').filter(Boolean).map(Number)

const childrenOf = (pid: number): readonly number[] =>
  pidsIn(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'))

const stateIn = (stat: string): string => stat.charAt(stat.lastIndexOf(')') + 2)

/** Who was killed, and not collected yet, does nothing any more. */
const isStopped = (state: string): boolean => state === 'T' || state === 'Z' || state === 'X'

function isDead(pid: number): boolean {
  try {
    return ['Z', 'X'].includes(statFields(pid)[0] ?? '')
  } catch {
    return true
  }
}
