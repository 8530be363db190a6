import { type ChildProcess, spawn } from 'node:child_process'
import { type Server } from 'node:net'
import { type Duplex, type Readable, type Writable } from 'node:stream'
import { type DeniedPath, moveDeniedAside } from './denied-paths.ts'
import { type LauncherState } from './kernel.ts'
import { findLauncher, LauncherMissingError } from './launcher.ts'
import { encodeItems } from './linux/encode.ts'
import { type Flag, type Item } from './linux/items.ts'
import { UnplannableError } from './plan/errors.ts'
import { type Plan } from './plan/types.ts'
import { LaunchError, parseStatus, type Status } from './status.ts'

type Stdio = 'pipe' | 'inherit' | 'ignore'

export interface SpawnOptions {
  /** `argv[0]` is what the program is called; what is started is the plan's `survey.exe`. */
  readonly argv: readonly [string, ...string[]]
  readonly cwd?: string
  /** Exactly this, nothing more: see `buildEnvironment`. */
  readonly env: Readonly<Record<string, string>>
  readonly stdio?: readonly [Stdio, Stdio, Stdio]
  /** Aborting kills everything inside. */
  readonly signal?: AbortSignal
  /** SPEC 4.5: the socket inside the sandbox on which the host serves its proxy. Called before the program starts. */
  readonly onProxySocket?: (server: Server) => void
  /** Texts that are readable inside, by path below `FILES`: kept in memory, never on the host's disk. */
  readonly files?: ReadonlyMap<string, string>
  /** Whether the program shares the terminal's session (docs/decisions/0043). Default: when stdin is a terminal. */
  readonly terminal?: 'keep' | 'detach'
  /** For a host that is root: the user to be. */
  readonly as?: { readonly uid: number; readonly gid: number }
  /** Where the launcher is, when it is not where the package's install step puts it. */
  readonly launcher?: LauncherState
}

/** How a confined process ended, and what the sandbox noticed. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** What should not exist and came into being (SPEC 4.3), and where it was moved to. */
  readonly createdDenied: readonly DeniedPath[]
  /** Limits that were reached, in words: the likely cause of a failure. */
  readonly pressure: readonly string[]
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
  const items = completeItems(plan, options)
  const [stdin, stdout, stderr] = options.stdio ?? ['pipe', 'pipe', 'pipe']
  const child = spawn(launcher.path, [...options.argv], {
    argv0: 'cordon-launch',
    cwd: '/',
    env: options.env,
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

/** The plan holds for many calls; the directory, the program and the terminal belong to this one. */
function completeItems(plan: Plan, options: SpawnOptions): readonly Item[] {
  const inherits = options.stdio?.[0] === 'inherit' && process.stdin.isTTY
  const keep = (options.terminal ?? (inherits ? 'keep' : 'detach')) === 'keep'
  const flags = (item: Item): Item =>
    item.tag === 'flags' && keep
      ? { tag: 'flags', flags: [...item.flags, 'keep-terminal' satisfies Flag] }
      : item
  return [
    ...withFiles(plan, options.files ?? new Map()).map(flags),
    { tag: 'cwd', path: options.cwd ?? plan.survey.cwd },
    { tag: 'exec', path: plan.survey.exe },
  ]
}

/** Where `SpawnOptions.files` lie: on the sealed root, so that not even the program can change them. */
export const FILES = '/run/cordon'

/** Made before the root is sealed; there is none to make them on without namespaces. */
function withFiles({ items, isolation }: Plan, files: ReadonlyMap<string, string>): readonly Item[] {
  if (files.size === 0) return items
  if (isolation !== 'namespaces')
    throw new UnplannableError('without namespaces there is no place for files of its own')
  const sealed = items.findIndex((item) => item.tag === 'seal')
  return [
    ...items.slice(0, sealed),
    { tag: 'dir', path: '/run', mode: 0o755 },
    { tag: 'dir', path: FILES, mode: 0o755 },
    ...[...files].map(([path, text]) => ({ tag: 'content', path, text }) as const),
    ...items.slice(sealed),
    { tag: 'allow', path: FILES, rights: ['read-file', 'read-dir'] },
  ]
}

function receiveSocket(child: ChildProcess, onProxySocket: (server: Server) => void): void {
  child.once('message', (_message, handle) => {
    if (handle) onProxySocket(handle as Server)
  })
}

function collectExit(child: ChildProcess, plan: Plan, items: readonly Item[]): Promise<Exit> {
  return new Promise((resolve, reject) => {
    const report = collectReport(child)
    child.once('error', (error) => {
      if (child.pid === undefined) reject(error) // it was never started; otherwise its end settles the promise
    })
    child.once('close', (code, signal) => {
      const statuses = report()
      const failed = statuses.find((status) => status.kind === 'failed')
      if (failed) return reject(new LaunchError({ ...failed, item: items[failed.item] }))
      return resolve(describeExit({ code, signal }, statuses, plan))
    })
  })
}

/** The lines so far, parsed when asked for. */
function collectReport(child: ChildProcess): () => readonly Status[] {
  let text = ''
  const channel = child.stdio[3] as Duplex | null
  channel?.setEncoding('utf8')
  channel?.on('data', (chunk: string) => (text += chunk))
  return () => text.split('\n').flatMap((line) => parseStatus(line) ?? [])
}

function describeExit(
  seen: { readonly code: number | null; readonly signal: NodeJS.Signals | null },
  statuses: readonly Status[],
  plan: Plan,
): Exit {
  const end = statuses.find((status) => status.kind === 'exit' || status.kind === 'signal')
  return {
    // Without a report the launcher itself was killed, and everything inside with it.
    code: end ? (end.kind === 'exit' ? end.code : null) : seen.signal ? null : seen.code,
    signal: end ? (end.kind === 'signal' ? end.signal : null) : seen.signal,
    createdDenied: moveDeniedAside(plan.watched),
    pressure: pressureOf(statuses, plan),
  }
}

function pressureOf(statuses: readonly Status[], { limits }: Plan): readonly string[] {
  const usage = statuses.find((status) => status.kind === 'usage')
  if (!usage) return []
  return [
    ...(usage.tmpFull
      ? [
          `the private /tmp and home are full (limit ${inMiB(limits.tmp)} MiB): they are emptied when the process ends`,
        ]
      : []),
    ...(usage.peakBytes > limits.memory * NEAR
      ? [`a process used ${inMiB(usage.peakBytes)} MiB of memory (limit ${inMiB(limits.memory)} MiB)`]
      : []),
  ]
}

const NEAR = 0.9
const inMiB = (bytes: number): number => Math.round(bytes / 1024 / 1024)
