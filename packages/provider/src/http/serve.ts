import { once } from 'node:events'
import { createServer as createHttp, type Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, BlockList, isIP } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { show } from '@cordon/policy'
import { AuditBroken } from '../audit/log.ts'
import { isCommand } from '../commands.ts'
import type { ConsoleAssets } from '../console/assets.ts'
import { parseSite, type Site } from '../console/site.ts'
import { databaseFailure } from '../storage/failure.ts'
import { openAmbientProvider, type Provider, type ProviderOptions } from '../provider.ts'
import { answerCommand } from './command.ts'
import { listenAs, ListenError } from './listen.ts'
import type { Log, LogEntry } from './log.ts'
import { Metrics } from './metrics.ts'
import { makeRoutes, type Served } from './routes.ts'
import { boundSilent } from './silent.ts'

export interface ServeOptions extends Omit<ProviderOptions, 'origin' | 'unexpected'> {
  readonly host: string
  readonly port: number
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer }
  /** Somebody in front of us does TLS, or the network is trusted: said explicitly. */
  readonly plain?: boolean
  readonly version: string
  /** Where browsers find it (SPEC 7.5); by default localhost, at the port it listens on. */
  readonly origin?: string
  /** Of the console. Without them there is its API and no page. */
  readonly assets?: ConsoleAssets
  readonly log: Log
}

export interface Serving {
  readonly url: string
  /** Where the console is, for a browser. */
  readonly origin: string
  /** What is under way is finished, what is new is refused; resolves when the database is closed. */
  stop(): Promise<void>
}

/** A client that is slower than this with its headers, or silent for so long, is not waited for. */
const HEADERS_MS = 10_000
const SILENCE_MS = 60_000
const MOST_CONNECTIONS = 10_000
/** Of these, over which nothing was asked yet. */
const MOST_SILENT = 1000
/** A token may have 64 KiB. */
const MOST_HEADER_BYTES = 96 * 1024

export async function serveProvider(options: ServeOptions): Promise<Serving> {
  const { host, port, tls, log, version, database } = options
  if (!tls && options.plain !== true && !isLoopback(host))
    throw new ListenError(
      `will not listen on ${show(host)} without TLS: tokens and contents would be readable\n  fix: --tls-cert and --tls-key, or --plain-http behind a proxy that does TLS`,
    )
  let site: Site | undefined = options.origin === undefined ? undefined : parseSite(options.origin)
  const unexpected = (error: unknown): void => log({ level: 'error', ...told(error) })
  const provider = await openAmbientProvider({ ...options, origin: () => site!.origin, unexpected })
  const metrics = new Metrics()
  let open = true
  const served: Served = {
    provider,
    metrics,
    version,
    site: () => site!,
    assets: options.assets,
    isOpen: () => open,
    unexpected,
    answered: (request) => log({ level: 'info', event: 'request', ...request }),
  }
  const listener = getRequestListener(makeRoutes(served).fetch, { overrideGlobalObjects: false })
  const limits = {
    maxHeaderSize: MOST_HEADER_BYTES,
    headersTimeout: HEADERS_MS,
    requestTimeout: 0,
    connectionsCheckingInterval: 2000,
  }
  const onRequest = (...[incoming, outgoing]: Parameters<Parameters<typeof createHttp>[1] & {}>): void => {
    const path = incoming.url?.split('?', 1)[0] ?? ''
    const answered =
      incoming.method === 'POST' && isCommand(path)
        ? answerCommand(served, path, incoming, outgoing)
        : listener(incoming, outgoing)
    answered.catch((error: unknown) => served.unexpected(error))
  }
  const make = (): Server => {
    const server = makeServer(limits, tls, onRequest)
    server.maxConnections = MOST_CONNECTIONS
    boundSilent(server, MOST_SILENT)
    return server.setTimeout(SILENCE_MS)
  }
  let servers: Server[]
  try {
    servers = await listenAs(make, { host, port, site })
  } catch (error) {
    await provider.close()
    throw error
  }
  const address = servers[0]!.address() as AddressInfo
  site ??= parseSite(`${tls ? 'https' : 'http'}://localhost:${address.port}`)
  const url = urlOf(address, tls !== undefined)
  return {
    url,
    origin: site.origin,
    stop: async () => {
      open = false
      log({ level: 'info', event: 'stopping' })
      const closed = Promise.all(servers.map(close))
      await Promise.race([closed, settled(provider)])
      for (const server of servers) server.closeAllConnections()
      await provider.close()
      await database.close()
      log({ level: 'info', event: 'stopped' })
    },
  }
}

function makeServer(
  limits: object,
  tls: ServeOptions['tls'],
  onRequest: Parameters<typeof createHttp>[1],
): Server {
  if (!tls) return createHttp(limits, onRequest)
  try {
    return createHttps({ ...limits, ...tls }, onRequest)
  } catch (error) {
    throw new ListenError(`the certificate and its key cannot be used: ${(error as Error).message}`)
  }
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  await closed
}

/** Resolves when no command is under way, or has been for as long as one may take. */
async function settled({ traffic, operationMs }: Provider): Promise<void> {
  const until = performance.now() + operationMs
  while (traffic.running > 0 && performance.now() < until) await new Promise((done) => setTimeout(done, 20))
  await new Promise((done) => setTimeout(done, 50)) // the last answers are on their way
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** A name other than `localhost` may lead anywhere. */
function isLoopback(host: string): boolean {
  const family = isIP(host)
  return family === 0 ? host === 'localhost' : LOOPBACK.check(host, family === 6 ? 'ipv6' : 'ipv4')
}

const urlOf = ({ address, port, family }: AddressInfo, secure: boolean): string =>
  `${secure ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`

/** A chain or a database that fails is for whoever runs it; anything else is a bug. */
function told(error: unknown): Pick<LogEntry, 'event' | 'problem' | 'stack'> {
  if (error instanceof AuditBroken) return { event: 'audit broken', problem: error.message }
  const problem = databaseFailure(error)
  return problem === undefined
    ? { event: 'unexpected', stack: stackOf(error) }
    : { event: 'database failed', problem }
}

const stackOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
