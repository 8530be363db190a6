import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { codeOf } from './dial.ts'
import { requestHeaders, responseHeaders, upgradeHead } from './headers.ts'
import { type Entry } from './journal.ts'
import { discardRest } from './leftover.ts'
import { longBodyLength, relayLongBody } from './long-body.ts'
import { type AskedRequest, DialError, type OriginAgent } from './origin-agent.ts'
import { type Asked } from './request-head.ts'
import { answer, answerDenial } from './responses.ts'
import { splice } from './splice.ts'

export interface Exchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly asked: Asked
  readonly agent: OriginAgent
  readonly entry: Entry
  readonly idleMs: number
}

/** One allowed request to its server and the answer back. Heads are written anew; bodies are passed on. */
export function forward(exchange: Exchange): void {
  const { req, res, entry } = exchange
  let up = 0
  let down = 0
  entry.traffic = () => ({ up, down })
  res.once('close', () => entry.finish({}))
  res.once('finish', () => discardRest(req))
  const send = (): void => {
    const upstream = openRequest(exchange, requestHeaders(req, exchange.asked.hostHeader))
    res.once('close', () => upstream.destroy())
    let over = false
    upstream.once('response', (answered) => {
      over = true
      relay(exchange, upstream, answered, (bytes) => (down += bytes))
    })
    // A switch of protocols that nobody asked for ends the connection without an error.
    upstream.once('close', () => {
      if (!over) fail(exchange, new Error('no answer'))
    })
    upstream.on('error', (error) => {
      over = true
      // A kept connection that the server closed just now. Nothing was sent but the head of a safe request.
      const again = upstream.reusedSocket && up === 0 && req.complete && SAFE.has(req.method ?? '')
      if (again && !res.headersSent && !(error instanceof DialError)) send()
      else fail(exchange, error)
    })
    if (req.complete && req.readableEnded) upstream.end()
    else req.pipe(upstream)
  }
  req.on('data', (chunk: Buffer) => (up += chunk.length))
  send()
}

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** SPEC 4.5 for WebSockets: the upgrade is decided like a request, then the two ends talk. */
export function forwardUpgrade(exchange: Exchange, client: Duplex): void {
  const { req, res, entry, idleMs } = exchange
  const upstream = openRequest(exchange, requestHeaders(req, exchange.asked.hostHeader, 'websocket'))
  const leave = (): void => void upstream.destroy()
  client.once('close', leave)
  upstream.on('error', (error) => fail(exchange, error))
  upstream.once('response', (answered) => {
    res.once('close', () => entry.finish({}))
    relay(exchange, upstream, answered, () => {})
  })
  upstream.once('upgrade', (answered, server: Socket, early: Buffer) => {
    client.off('close', leave)
    res.detachSocket(client as Socket)
    client.write(upgradeHead(answered))
    const before = { up: server.bytesWritten, down: server.bytesRead - early.length }
    entry.traffic = () => ({ up: server.bytesWritten - before.up, down: server.bytesRead - before.down })
    if (early.length > 0) server.unshift(early)
    for (const socket of [client as Socket, server]) socket.setTimeout(idleMs, () => socket.destroy())
    void splice(client, server).then(() => entry.finish({}))
  })
  upstream.end()
}

function openRequest({ req, asked, agent, idleMs }: Exchange, headers: string[]): ClientRequest {
  const options: AskedRequest = {
    agent,
    asked,
    host: asked.target.host,
    port: asked.target.port,
    method: req.method ?? 'GET',
    path: asked.path,
    headers,
  }
  const upstream = request(options)
  // A connection that a tunnel brought along was paused when the tunnel let go of it.
  upstream.once('socket', (socket) => socket.resume())
  upstream.setTimeout(idleMs, () => upstream.destroy(new Error('timed out')))
  return upstream
}

type Count = (bytes: number) => void

function relay(exchange: Exchange, upstream: ClientRequest, answered: IncomingMessage, count: Count): void {
  const { res, entry } = exchange
  try {
    res.writeHead(answered.statusCode ?? 502, answered.statusMessage ?? '', responseHeaders(answered))
  } catch (error) {
    answered.destroy()
    entry.finish({ reason: `the server's answer cannot be passed on (${codeOf(error)})` })
    res.destroy()
    return
  }
  // A body that breaks off must not look complete to the client.
  answered.on('error', () => {
    if (!res.writableEnded) res.destroy()
  })
  const length = longBodyLength(exchange.req.method, answered)
  const intake = upstream.socket ? exchange.agent.intakeOf(upstream.socket) : undefined
  if (length !== undefined && intake) return relayLongBody(length, { upstream, answered, res, intake, count })
  answered.on('data', (chunk: Buffer) => count(chunk.length))
  answered.pipe(res)
}

function fail({ res, asked, entry }: Exchange, error: Error): void {
  if (error instanceof DialError && error.dialed.kind === 'denied') {
    const { denial } = error.dialed
    entry.finish({ allowed: false, reason: denial.reason, wish: denial.wish })
    return answerDenial(res, asked, denial)
  }
  const dialed = error instanceof DialError && error.dialed.kind === 'failed' ? error.dialed : undefined
  const reason = dialed?.reason ?? `${asked.target.host} broke the connection (${codeOf(error)})`
  entry.finish({ reason, failed: true })
  answer(res, dialed?.timedOut ? 504 : 502, `cordon: ${reason}.\n`)
}
