import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CordonError, show } from '@cordon/policy'
import type { Site } from '../console/site.ts'

export class ListenError extends CordonError {
  readonly code = 'LISTEN'
  /** What the system said, where it was asked. */
  readonly errno: string | undefined
  constructor(message: string, errno?: string) {
    super(message)
    this.errno = errno
  }
}

const LOOPBACK = ['127.0.0.1', '::1']
/** With port 0 any port will do that is free on both addresses. */
const MOST_TRIES = 20

export interface ListenTerms {
  readonly host: string
  readonly port: number
  /** Undefined: localhost, at the port that is found. */
  readonly site: Site | undefined
}

/**
 * The first listens where it was told to. SPEC 7.7: who answers at `localhost` is the console, and a browser asks both
 * loopback addresses, `::1` first. So the others hold what the first leaves free of them, or nobody listens at all
 * (decision 0272).
 */
export async function listenAs(make: () => Server, { host, port, site }: ListenTerms): Promise<Server[]> {
  for (let tries = 1; ; tries++) {
    const first = await listenAt(make(), host, port).catch(withFix)
    const servers = [first]
    try {
      const found = first.address() as AddressInfo
      if (isLocalhost(site, found.port))
        for (const address of LOOPBACK.filter((each) => !isCovered(each, found.address)))
          servers.push(...(await hold(make, address, found.port)))
      return servers
    } catch (error) {
      for (const server of servers) server.close()
      if (port !== 0 || tries === MOST_TRIES) throw error
    }
  }
}

/** Behind a proxy the origin has the proxy's port. */
const isLocalhost = (site: Site | undefined, port: number): boolean =>
  site === undefined || site.host === `localhost:${port}`

/** `::` takes IPv4 as well, and `::ffff:127.0.0.1` is 127.0.0.1. */
const isCovered = (address: string, by: string): boolean =>
  by.replace(/^::ffff:(?=\d+\.)/, '') === address ||
  by === '::' ||
  (by === '0.0.0.0' && address === '127.0.0.1')

async function hold(make: () => Server, address: string, port: number): Promise<Server[]> {
  try {
    return [await listenAt(make(), address, port)]
  } catch (error) {
    if (!(error instanceof ListenError)) throw error
    if (ABSENT.has(error.errno)) return [] // a machine without IPv6
    throw new ListenError(
      `${error.message}\n  browsers take whoever listens there for the console: both addresses of localhost must be ours\n  fix: another --port, or --origin with the name and port that browsers use`,
      error.errno,
    )
  }
}

const ABSENT: ReadonlySet<string | undefined> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

async function listenAt(server: Server, host: string, port: number): Promise<Server> {
  try {
    server.listen(port, host)
    await once(server, 'listening') // throws what was wrong, if it was
    return server
  } catch (error) {
    const { message, code = '' } = error as NodeJS.ErrnoException
    throw new ListenError(`cannot listen on ${show(host)} port ${port}: ${REASONS[code] ?? message}`, code)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has that port',
  EACCES: 'ports below 1024 need more rights than you have here',
  EADDRNOTAVAIL: 'this machine has no such address',
}

/** Most often it is a provider that was started before. */
function withFix(error: unknown): never {
  if (!(error instanceof ListenError)) throw error
  if (error.errno === 'EACCES') throw new ListenError(`${error.message}\n  fix: another --port`, error.errno)
  if (error.errno !== 'EADDRINUSE') throw error
  throw new ListenError(
    `${error.message}; it may be a provider that runs already\n  fix: stop that one, or another --port`,
    error.errno,
  )
}
