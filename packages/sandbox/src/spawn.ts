import { type Readable, type Writable } from 'node:stream'
import { fstatSync } from 'node:fs'
import { isatty } from 'node:tty'
import { binding, HAS_BINDINGS } from './bindings.ts'
import { itemsFor, type SpawnOptions } from './call.ts'
import { type Channel, openFileChannel, openSocketChannel } from './channel.ts'
import { type Child, startChild } from './child.ts'
import { type Cgroup, memorySettings, openCgroup } from './cgroup.ts'
import { type Exit, exitFrom } from './exit.ts'
import { insideEnded } from './inside.ts'
import { type GuardedFile, guardedFiles } from './guarded-files.ts'
import { findLauncher, LauncherMissingError } from './launcher.ts'
import { encodeItems } from './linux/encode.ts'
import { type Item } from './linux/items.ts'
import { type Carriers, openCarriers } from './replaced.ts'
import { type Plan } from './plan/types.ts'
import { type StopSignal } from './stop-signal.ts'

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
  const terminal = options.terminal ?? (stdin === 'inherit' && isTerminal(0) ? 'keep' : 'detach')
  const network = options.onSocket ? plan.network : undefined
  const files = new Map([...(network?.files ?? []), ...(options.files ?? [])])
  const items: readonly Item[] = [
    ...itemsFor(plan, { ...options, files }, [
      ...(terminal === 'keep' ? (['keep-terminal'] as const) : []),
      ...(options.keepErrors ? (['keep-errors'] as const) : []),
      ...(options.keepOutput === 'with errors' ? (['keep-output'] as const) : []),
      ...(options.keepOutput === 'apart' ? (['keep-output-apart'] as const) : []),
    ]),
    ...(network?.sockets ?? []).map((socket): Item => ({
      tag: 'listen',
      address: socket.address,
      port: socket.port,
      over: socket.serves === 'names' ? socket.over : 'tcp',
    })),
    { tag: 'host', pid: process.pid },
  ]
  const cgroup = plan.cgroup && openCgroup(plan.cgroup.parent, memorySettings(plan.cgroup.memory))
  const guarded = guardedFiles(plan) // as they are before anything is started
  const since = Date.now()
  const bytes = encodeItems(items)
  // In its cgroup before it starts anybody.
  const channel = (cgroup ? undefined : openFileChannel(bytes)) ?? openSocketChannel(bytes)
  const carriers = openCarriers(items, options.replaced ?? new Map())
  const handle = network ? ('ipc' as const) : ('ignore' as const)
  const more = carriers.stdio.length === 0 && handle === 'ignore' ? [] : [handle, ...carriers.stdio]
  let child: Child
  try {
    child = startChild({
      path: launcher.path,
      name: 'cordon-launch',
      stdio: [stdin, stdout, stderr, channel.stdio, ...more],
      as: options.as,
      exchange: options.exchange,
      onHandle: (number, socket) => {
        const inside = network?.sockets[number]
        if (inside) options.onSocket?.(inside, socket)
      },
    })
  } catch (error) {
    channel.close()
    carriers.close()
    throw error
  }
  const exit = collectExit(child, { plan, items, cgroup, channel, since, guarded, carriers })
  if (cgroup && child.pid !== undefined) joinOrKill(cgroup, child)
  channel.send(child)
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

function whenAborted(signal: StopSignal | undefined, exit: Promise<unknown>, kill: () => void): void {
  if (!signal) return
  const abort = (): void => kill()
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  const forget = (): void => signal.removeEventListener('abort', abort)
  exit.then(forget, forget)
}

function joinOrKill(cgroup: Cgroup, child: Child): void {
  try {
    cgroup.join(child.pid!)
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

interface Launched {
  readonly plan: Plan
  readonly items: readonly Item[]
  readonly cgroup: Cgroup | undefined
  readonly channel: Channel
  readonly since: number
  readonly guarded: readonly GuardedFile[]
  readonly carriers: Carriers
}

async function collectExit(
  child: Child,
  { plan, items, cgroup, channel, since, guarded, carriers }: Launched,
): Promise<Exit> {
  try {
    const { code, signal } = await child.ended
    // Who ends by himself has waited for everything inside.
    if (signal !== null) await insideEnded(channel.report())
    const ranOut = cgroup?.ranOut() ?? false
    return exitFrom(channel.report(), plan, items, { code, signal, ranOut, since, guarded, carriers })
  } finally {
    channel.close()
    carriers.close()
    cgroup?.close()
  }
}

export function isTerminal(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice() && isTty(fd)
  } catch {
    return false // it is closed
  }
}

/** Node's `tty` loads its sockets as well, which would be a part of every start. */
const isTty = (fd: number): boolean =>
  HAS_BINDINGS ? (binding('tty_wrap') as { isTTY: typeof isatty }).isTTY(fd) : isatty(fd)
