import { type ChildProcess, spawn } from 'node:child_process'
import { type Socket as UdpSocket } from 'node:dgram'
import { type Server } from 'node:net'
import { type Readable, type Writable } from 'node:stream'
import { fstatSync } from 'node:fs'
import { isatty } from 'node:tty'
import { itemsFor, type SpawnOptions } from './call.ts'
import { type Channel, openFileChannel, openSocketChannel } from './channel.ts'
import { type Cgroup, memorySettings, openCgroup } from './cgroup.ts'
import { type Exit, exitFrom } from './exit.ts'
import { type GuardedFile, guardedFiles } from './guarded-files.ts'
import { findLauncher, LauncherMissingError } from './launcher.ts'
import { encodeItems } from './linux/encode.ts'
import { type Item } from './linux/items.ts'
import { type Carriers, openCarriers } from './replaced.ts'
import { type InsideSocket } from './plan/network.ts'
import { type Plan } from './plan/types.ts'

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
      ...(options.keepOutput ? (['keep-output'] as const) : []),
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
  const bytes = encodeItems(items)
  // In its cgroup before it starts anybody.
  const channel = (cgroup ? undefined : openFileChannel(bytes)) ?? openSocketChannel(bytes)
  const carriers = openCarriers(items, options.replaced ?? new Map())
  const handle = network ? ('ipc' as const) : ('ignore' as const)
  const more = carriers.stdio.length === 0 && handle === 'ignore' ? [] : [handle, ...carriers.stdio]
  let child: ChildProcess
  try {
    child = spawn(launcher.path, [], {
      argv0: 'cordon-launch',
      cwd: '/',
      env: {},
      ...options.as,
      stdio: [stdin, stdout, stderr, channel.stdio, ...more],
    })
  } catch (error) {
    channel.close()
    carriers.close()
    throw error
  }
  if (network && options.onSocket) receiveSockets(child, network.sockets, options.onSocket)
  const exit = collectExit(child, { plan, items, cgroup, channel, guarded, carriers })
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

function whenAborted(signal: AbortSignal | undefined, exit: Promise<unknown>, kill: () => void): void {
  if (!signal) return
  const abort = (): void => kill()
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  const forget = (): void => signal.removeEventListener('abort', abort)
  exit.then(forget, forget)
}

function receiveSockets(
  child: ChildProcess,
  sockets: readonly InsideSocket[],
  onSocket: NonNullable<SpawnOptions['onSocket']>,
): void {
  child.on('message', (number, handle) => {
    const socket = sockets[Number(number)]
    if (socket && handle) onSocket(socket, handle as Server | UdpSocket)
  })
}

function joinOrKill(cgroup: Cgroup, child: ChildProcess): void {
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
  readonly guarded: readonly GuardedFile[]
  readonly carriers: Carriers
}

function collectExit(
  child: ChildProcess,
  { plan, items, cgroup, channel, guarded, carriers }: Launched,
): Promise<Exit> {
  return new Promise((resolve, reject) => {
    const close = (): void => {
      channel.close()
      carriers.close()
      cgroup?.close()
    }
    child.once('error', (error) => {
      if (child.pid !== undefined) return // its end settles the promise
      close()
      reject(error)
    })
    child.once('close', (code, signal) => {
      if (child.pid === undefined) return // it was never started
      try {
        const ranOut = cgroup?.ranOut() ?? false
        resolve(exitFrom(channel.report(), plan, items, { code, signal, ranOut, guarded, carriers }))
      } catch (error) {
        reject(error)
      } finally {
        close()
      }
    })
  })
}

/** Node's `tty` is asked only about what could be one: loading it is a part of every start. */
export function isTerminal(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice() && isatty(fd)
  } catch {
    return false // it is closed
  }
}
