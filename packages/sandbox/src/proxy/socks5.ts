import { type Socket } from 'node:net'
import { type HostName, parseHost } from '@cordon/policy'
import { type Endpoint } from './gate.ts'
import { readHeld } from './held-read.ts'
import { type Requests } from './requests.ts'
import { type Shared } from './shared.ts'
import { openTunnel } from './tunnel.ts'

/** RFC 1928, CONNECT only, no authentication: whoever can reach the socket is inside the sandbox already. */
export async function serveSocks5(shared: Shared, requests: Requests, client: Socket): Promise<void> {
  const { journal, limits } = shared
  const junk = (reason: string, host = ''): void => {
    journal.refuse({ kind: 'socks5', host, port: undefined }, undefined, reason)
    client.destroySoon()
  }
  const greeting = await readHeld(client, { limit: 257, ms: limits.firstBytesMs, take: greetingLength })
  if (greeting.kind !== 'read') return junk('the SOCKS5 greeting is not complete')
  if (!greeting.bytes.subarray(2).includes(NO_AUTHENTICATION)) {
    client.write(Buffer.from([5, 0xff]))
    return junk('the client insists on SOCKS5 authentication')
  }
  client.write(Buffer.from([5, NO_AUTHENTICATION]))
  const asked = await readHeld(client, { limit: 262, ms: limits.firstBytesMs, take: requestLength })
  if (asked.kind !== 'read') return junk('the SOCKS5 request is not complete')
  if (asked.bytes[0] !== 5) return junk('the SOCKS5 request has another version')
  if (asked.bytes[1] !== 1) {
    client.write(reply(REPLY.commandNotSupported))
    return junk('only CONNECT is offered over SOCKS5')
  }
  const host = hostIn(asked.bytes)
  if (host === undefined) {
    client.write(reply(asked.bytes[3] === 3 ? REPLY.notAllowed : REPLY.addressTypeNotSupported))
    return junk('the host is not valid')
  }
  const place: Endpoint = { host, port: asked.bytes.readUInt16BE(asked.bytes.length - 2) }
  if (place.port === 0) {
    client.write(reply(REPLY.notAllowed))
    return junk('port 0 leads nowhere', host)
  }
  await openTunnel(shared, requests, client, place, {
    kind: 'socks5',
    accept: () => void client.write(reply(REPLY.succeeded)),
    deny: () => client.end(reply(REPLY.notAllowed)),
    fail: (_, timedOut) => client.end(reply(timedOut ? REPLY.hostUnreachable : REPLY.refused)),
  })
}

const NO_AUTHENTICATION = 0

const REPLY = {
  succeeded: 0,
  notAllowed: 2,
  hostUnreachable: 4,
  refused: 5,
  commandNotSupported: 7,
  addressTypeNotSupported: 8,
} as const

/** The bound address is our business: 0.0.0.0:0. */
const reply = (code: number): Buffer => Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0])

function greetingLength(bytes: Buffer): number | undefined {
  const count = bytes[1]
  return count === undefined || bytes.length < 2 + count ? undefined : 2 + count
}

function requestLength(bytes: Buffer): number | undefined {
  const type = bytes[3]
  if (type === undefined) return undefined
  const address = type === 1 ? 4 : type === 4 ? 16 : type === 3 ? addressLength(bytes[4]) : 0
  return address === undefined || bytes.length < 6 + address ? undefined : 6 + address
}

const addressLength = (byte: number | undefined): number | undefined =>
  byte === undefined ? undefined : 1 + byte

function hostIn(request: Buffer): HostName | undefined {
  const address = request.subarray(4, -2)
  switch (request[3]) {
    case 1:
      return parseHost(address.join('.'))
    case 3: {
      const name = address.subarray(1)
      // Names on the wire are ASCII; anything else would be read by a guess at its encoding.
      return name.every((byte) => byte > 0x20 && byte < 0x7f) ? parseHost(name.toString('latin1')) : undefined
    }
    case 4:
      return parseHost(address.toString('hex').replace(/(.{4})(?!$)/g, '$1:'))
    case undefined:
    default:
      return undefined
  }
}
