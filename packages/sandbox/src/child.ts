import { spawn } from 'node:child_process'
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { Server, Socket } from 'node:net'
import { type Readable, type Writable } from 'node:stream'
import { binding, HAS_BINDINGS } from './bindings.ts'
import { type Exchange, exchangeByStreams, exchangeOver, type RawPipe } from './exchange.ts'

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

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ChildRequest {
  readonly path: string
  readonly name: string
  readonly stdio: readonly Stdio[]
  readonly as: { readonly uid: number; readonly gid: number } | undefined
  /** With its first three descriptors, which are pipes then: nobody else has them. */
  readonly exchange?: Exchange | undefined
  /** Called with each socket that comes over the descriptor that is `ipc`, and its number; at the latest when it is first used. */
  readonly onHandle: (number: number, socket: Server | UdpSocket) => void
}

type Stdio = number | 'pipe' | 'inherit' | 'ignore' | 'ipc'

/** Starts a program in `/`, with no environment: a launcher that is linked dynamically would obey it (decision 0183). */
export const startChild = (request: ChildRequest): Child =>
  HAS_BINDINGS ? startDirectly(request) : startByModule(request)

/** With every other Node. */
export function startByModule({ path, name, stdio, as, exchange, onHandle }: ChildRequest): Child {
  const child = spawn(path, [], { argv0: name, cwd: '/', env: {}, ...as, stdio: [...stdio] })
  if (exchange && child.pid !== undefined) exchangeByStreams(child, exchange)
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
    stdin: exchange ? null : child.stdin,
    stdout: exchange ? null : child.stdout,
    stderr: exchange ? null : child.stderr,
    channel: child.stdio[3],
    kill: (signal) => void child.kill(signal),
    ended,
  }
}

/**
 * Before it starts anything, `child_process` loads streams, sockets and datagrams: a tenth of `cordon run`. So the start is
 * made by what `child_process` itself is made of. Streams are loaded while the launcher is at work, where there are pipes that
 * somebody wants to have, and sockets when somebody inside uses one (decision 0242).
 */
function startDirectly(request: ChildRequest): Child {
  const { path, name, stdio, as, exchange, onHandle } = request
  const { Process } = binding('process_wrap') as { Process: new () => RawProcess }
  const child = new Process()
  const channel = stdio.includes('ipc') ? openChannel(onHandle) : undefined
  const pipes = stdio.map((each) => (each === 'pipe' ? newPipe('SOCKET') : undefined))
  const handles = stdio.map((each, fd) => {
    if (each === 'ignore') return { type: 'ignore' }
    if (each === 'inherit' || typeof each === 'number')
      return { type: 'fd', fd: each === 'inherit' ? fd : each }
    return { type: 'pipe', handle: each === 'ipc' ? channel?.pipe : pipes[fd] }
  })
  let isRunning = true
  const exited = new Promise<Ended>((resolve) => {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the only way there is
    child.onexit = (code, signal) => {
      isRunning = false
      child.close()
      channel?.close()
      resolve(signal === '' ? { code, signal: null } : { code: null, signal })
    }
  })
  if (child.spawn(path, [name], '/', [], handles, 0, as?.uid, as?.gid) !== 0) {
    for (const each of [child, channel, ...pipes]) each?.close()
    return startByModule(request) // which has the words for what is wrong
  }
  if (channel) for (const each of ['tcp_wrap', 'udp_wrap']) binding(each) // what is received is made of them
  channel?.pipe.readStart()
  const [stdin, stdout, stderr, ...more] = pipes
  const isBare = exchange && stdin && stdout && stderr
  const talk = isBare ? exchangeOver([stdin, stdout, stderr], exchange) : undefined
  const streamed = isBare ? [undefined, undefined, undefined, ...more] : pipes
  const streams = streamed.map((pipe, fd) => pipe && new Socket({ handle: pipe, readable: fd > 0 } as object))
  return {
    pid: child.pid,
    stdin: streams[0] ?? null,
    stdout: streams[1] ?? null,
    stderr: streams[2] ?? null,
    channel: streams[3],
    kill: (signal) => {
      if (isRunning) process.kill(child.pid, signal)
    },
    ended: whenRead(exited, streams, talk),
  }
}

/** As `child_process` does it: when the process has ended, what nobody reads is thrown away, and nobody tells it anything more. */
async function whenRead(
  exited: Promise<Ended>,
  streams: readonly (Socket | undefined)[],
  talk: ReturnType<typeof exchangeOver> | undefined,
): Promise<Ended> {
  const closed = Promise.all(
    streams.flatMap((stream) => (stream ? [new Promise((resolve) => stream.once('close', resolve))] : [])),
  )
  const ended = await exited
  talk?.stopTelling()
  await talk?.heard
  streams[0]?.destroy()
  for (const stream of streams) if (stream?.readable) stream.resume()
  await closed
  return ended
}

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

interface RawChannel extends RawPipe {
  pendingHandle: RawSocket | null
}

/** Of `net` or of `dgram`. */
interface RawSocket {
  onconnection?: (...args: unknown[]) => void
  onmessage?: (...args: unknown[]) => void
  listen?(backlog: number): void
  recvStart?(): void
  close(): void
}

function newPipe(kind: 'IPC' | 'SOCKET'): RawChannel {
  const { Pipe, constants } = binding('pipe_wrap') as {
    Pipe: new (type: number) => RawChannel
    constants: Readonly<Record<typeof kind, number>>
  }
  return new Pipe(constants[kind])
}

/** Receives sockets as launcher/src/network.c hands them over: a line of JSON with each, which the kernel keeps apart. */
function openChannel(onHandle: ChildRequest['onHandle']): {
  readonly pipe: RawPipe
  readonly close: () => void
} {
  const pipe = newPipe('IPC')
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
