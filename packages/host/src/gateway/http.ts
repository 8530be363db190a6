import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport,
} from '@modelcontextprotocol/node'
import { isInitializeRequest } from '@modelcontextprotocol/server'
import { CordonError } from '@cordon/policy'
import type { Gateway } from './gateway.ts'
import { type ServedClient, serveClient } from './serve.ts'

export interface HttpOptions {
  /** Zero: any that is free. */
  readonly port: number
  /** Whoever has it is served; nobody else is. */
  readonly token: string
  /** A client of which nothing was heard for so long is gone. */
  readonly idleMs?: number
}

export interface HttpGateway {
  readonly url: string
  /** Ends every session, and stops listening. */
  readonly close: () => Promise<void>
}

const PATH = '/mcp'
const IDLE_MS = 10 * 60 * 1000
/** After this part of it a session makes room for another. */
const QUIET = 0.1
/** Each has processes of its own. */
const MOST_SESSIONS = 16
const MOST_CONNECTIONS = 256
const LARGEST_BODY = 10 * 1024 * 1024

class ListenError extends CordonError {
  readonly code = 'LISTEN'
}

/**
 * SPEC 5.5: streamable HTTP, on this machine only. Before anything is read: the Host is this machine (a page of another one may
 * have been rebound to it), the Origin is none or this machine, the token is ours. A session is one client.
 */
export async function serveHttp(gateway: Gateway, options: HttpOptions): Promise<HttpGateway> {
  const sessions = new Sessions(gateway, options.idleMs ?? IDLE_MS)
  const guards = [localhostHostValidation(), localhostOriginValidation(), bearer(options.token)]
  const http = createServer((request, response) => {
    if (!guards.every((guard) => guard(request, response))) return
    // Not by URL: `//` is none, and would end us.
    if ((request.url ?? '').split('?', 1)[0] !== PATH) return refuse(response, 404, 'not found')
    sessions.handle(request, response).catch(() => {
      if (!response.headersSent) refuse(response, 500, 'internal error')
      else response.destroy()
    })
  })
  // A client that opens connections and says nothing, or a byte a minute, does not keep them.
  http.headersTimeout = 10_000
  http.requestTimeout = 60_000
  http.maxConnections = MOST_CONNECTIONS
  http.listen(options.port, '127.0.0.1')
  await once(http, 'listening').catch((error: Error) => {
    throw new ListenError(`cannot listen on port ${options.port}: ${error.message}`)
  })
  const { port } = http.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${PATH}`,
    close: async () => {
      http.close()
      await sessions.close()
      http.closeAllConnections()
    },
  }
}

interface Session {
  readonly transport: NodeStreamableHTTPServerTransport
  readonly client: ServedClient
  open: number
  /** Nothing was heard of it for a while: it goes when there is no room for another. */
  isQuiet: boolean
  idle: NodeJS.Timeout | undefined
}

class Sessions {
  readonly #gateway: Gateway
  readonly #idleMs: number
  readonly #byId = new Map<string, Session>()
  /** Also those that have no id yet. */
  readonly #all = new Set<Session>()

  constructor(gateway: Gateway, idleMs: number) {
    this.#gateway = gateway
    this.#idleMs = idleMs
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = request.method === 'POST' ? await readBody(request) : undefined
    if (body?.kind === 'too large') return refuse(response, 413, 'the message is too large')
    if (body?.kind === 'broken') return refuse(response, 400, 'the message is no JSON')
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? this.#byId.get(id) : undefined
    if (id !== undefined && !known) return refuse(response, 404, 'there is no such session')
    const session = known ?? (await this.#open(response, body?.value))
    if (!session) return
    this.#use(session, response)
    await session.transport.handleRequest(request, response, body?.value)
    if (session.transport.sessionId === undefined) await this.#end(session) // what it sent was refused
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#all].map((session) => this.#end(session)))
  }

  async #open(response: ServerResponse, message: unknown): Promise<Session | undefined> {
    if (!isInitializeRequest(message)) {
      refuse(response, 400, 'a session begins with initialize')
      return undefined
    }
    const quiet = this.#all.size < MOST_SESSIONS ? undefined : [...this.#all].find((each) => each.isQuiet)
    if (quiet) await this.#end(quiet)
    if (this.#all.size >= MOST_SESSIONS) {
      refuse(response, 503, 'there are too many sessions')
      return undefined
    }
    const client = serveClient(this.#gateway)
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void this.#byId.set(id, session),
    })
    const session: Session = { transport, client, open: 0, isQuiet: false, idle: undefined }
    this.#all.add(session)
    void client.gone.then(() => this.#end(session))
    await client.server.connect(transport)
    return session
  }

  /** As long as an answer is open to it, a client is there. */
  #use(session: Session, response: ServerResponse): void {
    session.open++
    session.isQuiet = false
    clearTimeout(session.idle)
    response.once('close', () => {
      session.open--
      if (session.open > 0) return
      const later = (part: number, then: () => void): void => {
        session.idle = setTimeout(then, this.#idleMs * part).unref()
      }
      later(QUIET, () => {
        session.isQuiet = true
        later(1 - QUIET, () => void this.#end(session))
      })
    })
  }

  async #end(session: Session): Promise<void> {
    const { transport, client } = session
    clearTimeout(session.idle)
    // Before the last handle is let go of: closing it calls here again.
    this.#all.delete(session)
    if (transport.sessionId !== undefined) this.#byId.delete(transport.sessionId)
    await client.close()
  }
}

type Guard = (request: IncomingMessage, response: ServerResponse) => boolean

/** In constant time, whatever was sent. */
function bearer(token: string): Guard {
  const expected = digest(token)
  return ({ headers }, response) => {
    // RFC 7235: the scheme's case does not matter.
    const sent = /^bearer +(.*)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
    if (timingSafeEqual(digest(sent), expected)) return true
    response.setHeader('WWW-Authenticate', 'Bearer')
    refuse(response, 401, 'the token is missing or wrong')
    return false
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }))
}

type Body =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'too large' | 'broken'; readonly value?: undefined }

async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > LARGEST_BODY) return { kind: 'too large' }
    chunks.push(chunk)
  }
  try {
    return { kind: 'read', value: JSON.parse(Buffer.concat(chunks).toString('utf8')) }
  } catch {
    return { kind: 'broken' }
  }
}
