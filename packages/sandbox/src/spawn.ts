import { type ChildProcess, spawn } from 'node:child_process'
import { type Server } from 'node:net'
import { type Duplex, type Readable, type Writable } from 'node:stream'
import { isatty } from 'node:tty'
import { type Call, itemsFor } from './call.ts'
import { type Exit, exitFrom } from './exit.ts'
import { type LauncherState } from './kernel.ts'
import { findLauncher, LauncherMissingError } from './launcher.ts'
import { encodeItems } from './linux/encode.ts'
import { type Item } from './linux/items.ts'
import { type Plan } from './plan/types.ts'

type Stdio = 'pipe' | 'inherit' | 'ignore'

export interface SpawnOptions extends Call {
  readonly stdio?: readonly [Stdio, Stdio, Stdio]
  /** Aborting kills everything inside. */
  readonly signal?: AbortSignal
  /** SPEC 4.5: the socket inside the sandbox on which the host serves its proxy. Called before the program starts. */
  readonly onProxySocket?: (server: Server) => void
  /** Whether the program shares the terminal's session (docs/decisions/0043). Default: when stdin is a terminal. */
  readonly terminal?: 'keep' | 'detach'
  /** For a host that is root: the user to be. */
  readonly as?: { readonly uid: number; readonly gid: number }
  /** Where the launcher is, when it is not where the package's install step puts it. */
  readonly launcher?: LauncherState
}

export interface Confined {
  readonly pid: number
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  /** Rejects with `LaunchError` when the sandbox could not be built. */
  readonly exit: Promise<Exit>
  readonly kill: (signal?: NodeJS.Signals) => void
}

/** SPEC 4.1: starts a program inside the sandbox that the plan describes, or not at all. */
export function spawnConfined(plan: Plan, options: SpawnOptions): Confined {
  const launcher = options.launcher ?? findLauncher()
  if (launcher.state === 'missing') throw new LauncherMissingError(launcher)
  const [stdin, stdout, stderr] = options.stdio ?? ['pipe', 'pipe', 'pipe']
  const terminal = options.terminal ?? (stdin === 'inherit' && isatty(0) ? 'keep' : 'detach')
  const items = itemsFor(plan, options, terminal === 'keep' ? ['keep-terminal'] : [])
  const child = spawn(launcher.path, [], {
    argv0: 'cordon-launch',
    cwd: '/',
    env: {},
    ...options.as,
    stdio: [stdin, stdout, stderr, 'pipe', ...(plan.proxyPort === undefined ? [] : (['ipc'] as const))],
  })
  if (options.onProxySocket) receiveSocket(child, options.onProxySocket)
  const exit = collectExit(child, plan, items)
  const channel = child.stdio[3] as Duplex | null
  channel?.on('error', () => {}) // the launcher may be gone before it has read everything; its exit says why
  channel?.write(encodeItems(items))
  const kill = (signal: NodeJS.Signals = 'SIGKILL'): void => {
    // The launcher kills what is inside and waits for its end, so that `exit` does not come before it.
    if (signal === 'SIGKILL') child.kill(KILL_ALL)
    else child.kill(signal)
  }
  whenAborted(options.signal, exit, kill)
  return {
    pid: child.pid ?? -1,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exit,
    kill,
  }
}

/** launcher/src/report.h, SIGNAL_KILL_ALL. */
const KILL_ALL = 'SIGXCPU'

function whenAborted(signal: AbortSignal | undefined, exit: Promise<unknown>, kill: () => void): void {
  if (!signal) return
  const abort = (): void => kill()
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  const forget = (): void => signal.removeEventListener('abort', abort)
  exit.then(forget, forget)
}

function receiveSocket(child: ChildProcess, onProxySocket: (server: Server) => void): void {
  child.once('message', (_message, handle) => {
    if (handle) onProxySocket(handle as Server)
  })
}

function collectExit(child: ChildProcess, plan: Plan, items: readonly Item[]): Promise<Exit> {
  return new Promise((resolve, reject) => {
    let report = ''
    const channel = child.stdio[3] as Duplex | null
    channel?.setEncoding('utf8')
    channel?.on('data', (chunk: string) => (report += chunk))
    child.once('error', (error) => {
      if (child.pid === undefined) reject(error) // it was never started; otherwise its end settles the promise
    })
    child.once('close', (code, signal) => {
      try {
        resolve(exitFrom(report, plan, items, { code, signal }))
      } catch (error) {
        reject(error)
      }
    })
  })
}
