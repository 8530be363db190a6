import { spawn } from 'node:child_process'
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { Server } from 'node:net'
import { type Readable, type Writable } from 'node:stream'

/** The launcher's process. */
export interface Child {
  /** Undefined when it could not be started; `ended` says why. */
  readonly pid: number | undefined
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  /** Its descriptor 3, where that is a socket. */
  readonly channel: unknown
  readonly kill: (signal: NodeJS.Signals) => void
  /** When it has ended, and everything that it wrote was read. */
  readonly ended: Promise<Ended>
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ChildRequest {
  readonly path: string
  readonly name: string
  readonly stdio: readonly Stdio[]
  readonly as: { readonly uid: number; readonly gid: number } | undefined
  /** Called with each socket that comes over the descriptor that is `ipc`, and its number; at the latest when it is first used. */
  readonly onHandle: (number: number, socket: Server | UdpSocket) => void
}

type Stdio = number | 'pipe' | 'inherit' | 'ignore' | 'ipc'

/** Starts a program in `/`, with no environment. */
export const startChild = (request: ChildRequest): Child =>
  isPlain(request) && HAS_BINDINGS ? startPlain(request) : startPiped(request)

function startPiped({ path, name, stdio, as, onHandle }: ChildRequest): Child {
  const child = spawn(path, [], { argv0: name, cwd: '/', env: {}, ...as, stdio: [...stdio] })
  child.on('message', (number, handle) => {
    if (handle) onHandle(Number(number), handle as Server | UdpSocket)
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', (error) => {
      if (child.pid === undefined) reject(error) // otherwise its end settles the promise
    })
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    channel: child.stdio[3],
    kill: (signal) => void child.kill(signal),
    ended,
  }
}

/**
 * Before it starts anything, `child_process` loads streams, sockets and datagrams: a tenth of `cordon run`, whose command has
 * our own streams and needs none of them. So where there are no pipes the start is made by what `child_process` itself is
 * made of, and the sockets are loaded when somebody inside uses one (decision 0242).
 */
function startPlain(request: ChildRequest): Child {
  const { path, name, stdio, as, onHandle } = request
  const { Process } = binding<{ Process: new () => RawProcess }>('process_wrap')
  const child = new Process()
  const channel = stdio.includes('ipc') ? openChannel(onHandle) : undefined
  let isRunning = true
  const ended = new Promise<Ended>((resolve) => {
    child.onexit = (code, signal) => {
      isRunning = false
      child.close()
      channel?.close()
      resolve(signal === '' ? { code, signal: null } : { code: null, signal })
    }
  })
  const handles = stdio.map((each, fd) =>
    each === 'ipc'
      ? { type: 'pipe', handle: channel?.pipe }
      : each === 'ignore'
        ? { type: 'ignore' }
        : { type: 'fd', fd: each === 'inherit' ? fd : each },
  )
  if (child.spawn(path, [name], '/', [], handles, 0, as?.uid, as?.gid) !== 0) {
    child.close()
    channel?.close()
    return startPiped(request) // Node has the words for what is wrong
  }
  channel?.pipe.readStart()
  return {
    pid: child.pid,
    stdin: null,
    stdout: null,
    stderr: null,
    channel: undefined,
    kill: (signal) => {
      if (isRunning) process.kill(child.pid, signal)
    },
    ended,
  }
}

const isPlain = ({ stdio }: ChildRequest): boolean => !stdio.includes('pipe')

/** They may change with every version, so only those of the Node that this repository brings are used. */
const HAS_BINDINGS = process.version === 'v24.21.0'

const binding = <T>(name: string): T => (process as unknown as { binding: (name: string) => T }).binding(name)

interface RawProcess {
  readonly pid: number
  onexit: (code: number, signal: NodeJS.Signals | '') => void
  /** Zero, or what is wrong. */
  spawn(
    file: string,
    args: readonly string[],
    cwd: string,
    env: readonly string[],
    stdio: readonly object[],
    flags: number,
    uid: number | undefined,
    gid: number | undefined,
  ): number
  close(): void
}

interface RawPipe {
  /** Called with what was read, or with nothing at the end. */
  onread: (bytes: ArrayBuffer | undefined) => void
  pendingHandle: RawSocket | null
  readStart(): void
  close(): void
}

/** Of `net` or of `dgram`. */
interface RawSocket {
  onconnection?: (...args: unknown[]) => void
  onmessage?: (...args: unknown[]) => void
  listen?(backlog: number): void
  recvStart?(): void
  close(): void
}

/** Receives sockets as launcher/src/network.c hands them over: a line of JSON with each, which the kernel keeps apart. */
function openChannel(onHandle: ChildRequest['onHandle']): {
  readonly pipe: RawPipe
  readonly close: () => void
} {
  for (const name of ['tcp_wrap', 'udp_wrap']) binding(name) // what is received is made of them
  const { Pipe, constants } = binding<{
    Pipe: new (type: number) => RawPipe
    constants: { readonly IPC: number }
  }>('pipe_wrap')
  const pipe = new Pipe(constants.IPC)
  const open = new Set<{ close(): void }>([pipe])
  const close = (each: { close(): void }): void => {
    if (open.delete(each)) each.close()
  }
  pipe.pendingHandle = null
  pipe.onread = (bytes) => {
    if (!bytes) return close(pipe)
    const socket = pipe.pendingHandle
    pipe.pendingHandle = null
    const { msg } = JSON.parse(Buffer.from(bytes).toString()) as { readonly msg: number }
    if (!socket) return
    open.add(socket)
    whenUsed(socket, () => {
      open.delete(socket)
      onHandle(msg, socketOf(socket))
    })
  }
  return { pipe, close: () => open.forEach(close) }
}

/** At the first connection or message, which then goes to whoever has taken the socket over. */
function whenUsed(socket: RawSocket, take: () => void): void {
  const event = socket.listen ? 'onconnection' : 'onmessage'
  socket[event] = (...args) => {
    take()
    socket[event]?.(...args)
  }
  if (socket.listen) socket.listen(BACKLOG)
  else socket.recvStart?.()
}

/** As the launcher listens. */
const BACKLOG = 4096

const socketOf = (socket: RawSocket): Server | UdpSocket =>
  socket.listen ? new Server().listen(socket) : createSocket('udp4').bind(socket as never)
