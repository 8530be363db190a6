import { once } from 'node:events'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { parseHost, type NetRule } from '@cordon/policy'
import { onTestFinished } from 'vitest'
import { classifyAddress } from '../../src/proxy/address.ts'
import { openProxy, type ProxyHandle } from '../../src/proxy/serve.ts'
import { type ProxyOptions } from '../../src/proxy/options.ts'

/** Stands for the internet: 127.1.0.0/16 counts as public in these tests, everything else is what it is. */
export const PUBLIC = '127.1.0.1'
const classifyLab = (address: string): ReturnType<typeof classifyAddress> =>
  address.startsWith('127.1.') ? 'public' : classifyAddress(address)

export type RuleText = Omit<NetRule, 'host' | 'allow'> & { host: string; allow?: boolean }

export const rules = (...list: RuleText[]): NetRule[] =>
  list.map(({ host, allow = true, ...rest }, i) => ({
    host: parseHost(host)!,
    allow,
    origin: `config.toml:${i + 1}`,
    ...rest,
  }))

export interface Lab {
  readonly proxy: ProxyHandle
  readonly port: number
  /** Every name the proxy asked for. */
  readonly asked: string[]
}

/** A proxy on loopback whose resolver sends every name to `PUBLIC`. */
export async function startLab(list: readonly NetRule[], options: Partial<ProxyOptions> = {}): Promise<Lab> {
  const server = createServer()
  const port = await listen(server, '127.0.0.1')
  const asked: string[] = []
  const resolve = options.resolve ?? (() => Promise.resolve([PUBLIC]))
  const proxy = await openProxy({
    rules: list,
    classify: classifyLab,
    ...options,
    resolve: (host) => {
      asked.push(host)
      return resolve(host)
    },
  })
  proxy.serve(server)
  onTestFinished(() => proxy.close())
  return { proxy, port, asked }
}

export async function listen(server: Server, host = PUBLIC, port = 0): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

export async function startHttp(handler: RequestListener, host = PUBLIC): Promise<number> {
  const server = createHttp(handler)
  onTestFinished(() => server.close().closeAllConnections())
  return listen(server, host)
}

/** A server of raw bytes; its sockets die with the test. */
export async function startRaw(onSocket: (socket: Socket) => void, host = PUBLIC): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    onSocket(socket)
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return listen(server, host)
}

export const echo = (socket: Socket): void => void socket.pipe(socket)

/** A client connection that keeps what it receives. */
export class Client {
  readonly socket: Socket
  #received = Buffer.alloc(0)
  #changed = Promise.withResolvers<void>()
  ended = false

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const wake = (): void => {
      this.#changed.resolve()
      this.#changed = Promise.withResolvers()
    }
    this.socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
      wake()
    })
    for (const event of ['end', 'close', 'error'])
      this.socket.on(event, () => {
        this.ended = true
        wake()
      })
    onTestFinished(() => void this.socket.destroy())
  }

  send(data: string | Uint8Array): this {
    this.socket.write(data)
    return this
  }

  /** Waits until `length` bytes came, and takes them. */
  async take(length: number): Promise<Buffer> {
    while (this.#received.length < length) {
      if (this.ended) throw new Error(`ended after ${JSON.stringify(this.#received.toString('latin1'))}`)
      await this.#changed.promise
    }
    const taken = this.#received.subarray(0, length)
    this.#received = this.#received.subarray(length)
    return taken
  }

  async takeHead(): Promise<string> {
    for (;;) {
      const at = this.#received.indexOf('\r\n\r\n')
      if (at !== -1) return (await this.take(at + 4)).toString('latin1')
      if (this.ended) throw new Error(`ended after ${JSON.stringify(this.#received.toString('latin1'))}`)
      await this.#changed.promise
    }
  }

  /** One answer: status line and body (by its Content-Length). */
  async takeAnswer(): Promise<{ status: string; head: string; body: string }> {
    const head = await this.takeHead()
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
    return { status: head.slice(0, head.indexOf('\r\n')), head, body: (await this.take(length)).toString() }
  }

  /** Everything until the other side ends. */
  async takeAll(): Promise<Buffer> {
    while (!this.ended) await this.#changed.promise
    return this.take(this.#received.length)
  }
}

/** Opens a CONNECT tunnel; returns the status line. */
export async function connectTo(client: Client, target: string): Promise<string> {
  client.send(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
  const head = await client.takeHead()
  return head.slice(0, head.indexOf('\r\n'))
}

/** Waits until so many decisions are there; clocks are left out. */
export async function settled(lab: Lab, count: number): Promise<object[]> {
  while (lab.proxy.decisions().length < count) await new Promise((go) => setTimeout(go, 5))
  return lab.proxy.decisions().map((decision) => {
    const { time, durationMs, ...rest } = decision
    if (time <= 0 || durationMs < 0) throw new Error('a decision without a time')
    return rest
  })
}
