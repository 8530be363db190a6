import { type Socket } from 'node:net'
import { type HostName, parseHost } from '@cordon/policy'
import { type Endpoint } from './gate.ts'
import { readHeld } from './held-read.ts'
import { type ProxyLimits } from './options.ts'

/** A proxy that the host itself needs to reach others. */
export interface UpstreamProxy {
  readonly host: string
  readonly port: number
  /** The value of `Proxy-Authorization`. */
  readonly authorization: string | undefined
  /** Names, and ends of names, that are reached without it; `*` is all of them. */
  readonly except: readonly string[]
}

/** As curl and others read them. Undefined where there is none that we can use: only CONNECT over plain HTTP is spoken. */
export function parseUpstream(env: Readonly<Record<string, string | undefined>>): UpstreamProxy | undefined {
  const named = (...names: readonly string[]): string | undefined =>
    names
      .map((name) => env[name] ?? env[name.toUpperCase()])
      .find((value) => value !== undefined && value !== '')
  const text = named('https_proxy', 'all_proxy', 'http_proxy')
  if (text === undefined) return undefined
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (url?.protocol !== 'http:' || parseHost(url.hostname) === undefined) return undefined
  const { hostname, port, username, password } = url
  const account = [username, password].map(decodeURIComponent).join(':')
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || 80,
    authorization: account === ':' ? undefined : `Basic ${Buffer.from(account).toString('base64')}`,
    except: (named('no_proxy') ?? '').split(/[\s,]+/).filter((each) => each !== ''),
  }
}

/** What is on this machine, and what NO_PROXY names, is reached without it. */
export const goesThrough = ({ except }: UpstreamProxy, host: HostName): boolean =>
  host !== 'localhost' &&
  !except.some((each) => {
    const name = each.toLowerCase().replace(/^\*?\./, '')
    return each === '*' || host === name || host.endsWith(`.${name}`)
  })

/** Undefined when the socket leads to the place from now on; else why not. */
export async function askUpstream(
  socket: Socket,
  { authorization }: UpstreamProxy,
  { host, port }: Endpoint,
  { maxHeadBytes, connectMs }: ProxyLimits,
): Promise<string | undefined> {
  const account = authorization === undefined ? '' : `Proxy-Authorization: ${authorization}\r\n`
  socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n${account}\r\n`)
  const head = await readHeld(socket, { limit: maxHeadBytes, ms: connectMs, take: headLength })
  if (head.kind !== 'read') return 'the proxy of this host gave no answer'
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head.bytes.toString('latin1'))?.[1]
  if (status?.startsWith('2')) return undefined
  return `the proxy of this host said ${status ?? 'something that is not HTTP'}`
}

function headLength(bytes: Buffer): number | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  return end === -1 ? undefined : end + 4
}
