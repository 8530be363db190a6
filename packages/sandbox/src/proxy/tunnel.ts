import { type Socket } from 'node:net'
import { type HostName, parseHost } from '@cordon/policy'
import { type Denial, denyByRule } from './denial.ts'
import { readSpeech } from './first-bytes.ts'
import { type Door, type Endpoint, type Verdict } from './gate.ts'
import { readHeld } from './held-read.ts'
import { type Intake } from './intake.ts'
import { type Entry } from './journal.ts'
import { type NetWish } from './options.ts'
import { type Requests } from './requests.ts'
import { type Shared } from './shared.ts'
import { spliceTunnel } from './splice.ts'

/** How CONNECT, SOCKS5 and a door say yes, no and "it did not work" in their own words. */
export interface Handshake {
  readonly kind: 'connect' | 'socks5' | 'direct'
  accept(): void
  deny(place: Endpoint, denial: Denial): void
  fail(reason: string, timedOut: boolean): void
}

interface Tunnel {
  readonly place: Endpoint
  readonly alias: HostName | undefined
  readonly client: Socket
  readonly upstream: Intake
  /** Set when the address itself had to be named by a rule: then that rule must allow the traffic too. */
  readonly named: HostName | undefined
  readonly entry: Entry
}

/** Decision 0050: a tunnel is opened on hope, and decided by the first bytes that the client sends. */
export async function openTunnel(
  shared: Shared,
  requests: Requests,
  client: Socket,
  { host, port, alias }: Door,
  handshake: Handshake,
): Promise<void> {
  const place = { host, port }
  const { gate, dialer, journal } = shared
  const entry = journal.open({ kind: handshake.kind, ...place })
  const hope = gate.tunnel(place)
  if (!hope.allowed) {
    const denial = denyByRule(place, hope.rule)
    entry.finish({ rule: hope.rule, reason: denial.reason, wish: denial.wish })
    return handshake.deny(place, denial)
  }
  const dialed = await dialer.dial(place, (literal) => gate.tunnel({ host: literal, port }).allowed)
  switch (dialed.kind) {
    case 'denied':
      entry.finish({ rule: hope.rule, reason: dialed.denial.reason, wish: dialed.denial.wish })
      return handshake.deny(place, dialed.denial)
    case 'failed':
      entry.finish({ allowed: true, rule: hope.rule, reason: dialed.reason, failed: true })
      return handshake.fail(dialed.reason, dialed.timedOut)
    case 'open':
      break
  }
  if (client.destroyed) {
    dialed.intake.socket.destroy()
    return entry.finish({ reason: 'the client left before it was connected' })
  }
  handshake.accept()
  const tunnel = { place, alias, client, upstream: dialed.intake, named: dialed.named, entry }
  const ended = await carry(shared, requests, tunnel, hope)
  if (ended === undefined) return
  if (client.writable) client.end(ended.farewell)
  else client.destroy()
  tunnel.upstream.socket.destroy()
  entry.finish({ allowed: false, rule: ended.rule, reason: ended.reason, wish: ended.wish })
}

interface Refusal {
  readonly reason: string
  readonly rule: Verdict['rule']
  readonly farewell: Buffer
  readonly wish?: NetWish | undefined
}

/** Undefined when the tunnel was served and recorded; else why it was closed. */
async function carry(
  shared: Shared,
  requests: Requests,
  tunnel: Tunnel,
  hope: Verdict & { allowed: true },
): Promise<Refusal | undefined> {
  const { gate, limits } = shared
  const { client, upstream, place, alias } = tunnel
  const raw = verdictOn(tunnel, (where) => gate.opaque(where, 'tcp'))
  // Where plain bytes are allowed the server may speak first, so its side flows at once.
  if (raw.allowed) upstream.socket.pipe(client)
  const first = await readHeld(client, {
    limit: limits.maxHeadBytes,
    ms: raw.allowed ? limits.idleMs : limits.firstBytesMs,
    take: (bytes) => (readSpeech(bytes).kind === 'more' ? undefined : bytes.length),
  })
  if (raw.allowed) upstream.socket.unpipe(client)
  if (first.kind === 'ended' && raw.allowed) return pass(shared, tunnel, raw)
  if (first.kind !== 'read') return refusal(SILENCE[first.kind])
  client.unshift(first.bytes)
  const speech = readSpeech(first.bytes)
  switch (speech.kind) {
    case 'tls':
      return carryTls(shared, requests, meantBy(speech.serverName, tunnel), hope, speech.serverName)
    case 'broken-tls':
      return refusal('the TLS handshake cannot be read', undefined, TLS_ACCESS_DENIED)
    case 'http':
      if (upstream.socket.bytesRead > 0) return refusal('the server spoke before an HTTP request')
      tunnel.entry.finish({ allowed: true, rule: hope.rule, reason: ONE_BY_ONE })
      requests.serve(client, { ...place, alias, scheme: 'http' }, tunnel)
      return undefined
    case 'more':
    case 'http2':
    case 'bytes':
      break
  }
  if (raw.allowed) return pass(shared, tunnel, raw)
  const { reason } = denyByRule(place, raw.rule)
  return refusal(`${reason} for bytes that are neither TLS nor HTTP/1.1`, raw.rule)
}

async function carryTls(
  shared: Shared,
  requests: Requests,
  tunnel: Tunnel,
  hope: Verdict & { allowed: true },
  serverName: string | undefined,
): Promise<Refusal | undefined> {
  const { gate } = shared
  const { place, client, entry } = tunnel
  const wrong = wrongServerName(serverName, place)
  if (wrong !== undefined) return refusal(wrong, undefined, TLS_ACCESS_DENIED)
  if (gate.intercepts(place)) {
    entry.finish({ allowed: true, rule: hope.rule, reason: ONE_BY_ONE })
    await requests.serveTls(client, { ...place, scheme: 'https' }, tunnel)
    return undefined
  }
  const verdict = verdictOn(tunnel, (where) => gate.opaque(where, 'https'))
  if (verdict.allowed) return pass(shared, tunnel, verdict)
  const { reason, wish } = denyByRule(place, verdict.rule)
  return { ...refusal(reason, verdict.rule, TLS_ACCESS_DENIED), wish }
}

/** Of a door with two names, the one that TLS asks for. An alias is a name of loopback: no rule has to name its address (decision 0051). */
const meantBy = (serverName: string | undefined, tunnel: Tunnel): Tunnel =>
  tunnel.alias !== undefined && serverName !== undefined && parseHost(serverName) === tunnel.alias
    ? { ...tunnel, place: { ...tunnel.place, host: tunnel.alias }, named: undefined }
    : tunnel

const ONE_BY_ONE = 'requests inside are decided one by one'

const SILENCE = {
  ended: 'the client closed before it said anything',
  closed: 'the client left before it said anything',
  late: 'the client did not say in time what it speaks',
  'too-long': 'the first bytes are longer than the limit',
} as const

/** RFC 8446 §6: a fatal `access_denied` alert, so that a TLS client can say more than "reset". */
export const TLS_ACCESS_DENIED = Buffer.from([21, 3, 3, 0, 2, 2, 49])

const refusal = (reason: string, rule?: Verdict['rule'], farewell: Buffer = Buffer.alloc(0)): Refusal => ({
  reason,
  rule,
  farewell,
})

/** The rules for the host decide; where the address needed naming, its rules must agree (decision 0051). */
function verdictOn({ place, named }: Tunnel, decide: (place: Endpoint) => Verdict): Verdict {
  const verdict = decide(place)
  if (!verdict.allowed || named === undefined) return verdict
  const byAddress = decide({ ...place, host: named })
  return byAddress.allowed ? verdict : byAddress
}

async function pass(
  { limits }: Shared,
  { client, upstream, entry }: Tunnel,
  verdict: Verdict & { allowed: true },
): Promise<undefined> {
  entry.allow(verdict.rule)
  const server = upstream.socket
  entry.traffic = () => ({ up: server.bytesWritten, down: server.bytesRead })
  for (const socket of [client, server]) {
    socket.setNoDelay(true)
    socket.setTimeout(limits.idleMs, () => socket.destroy())
  }
  await spliceTunnel(client, upstream)
  entry.finish({})
  return undefined
}

/** SPEC 4.5 decides on the requested host, so what TLS asks for must be that host. */
function wrongServerName(serverName: string | undefined, { host }: Endpoint): string | undefined {
  const isAddress = host.startsWith('[') || /^[\d.]+$/.test(host)
  if (serverName === undefined)
    return isAddress ? undefined : `the TLS handshake names no server, expected ${host}`
  if (parseHost(serverName) === host) return undefined
  return `the TLS handshake names another server than ${host}`
}
