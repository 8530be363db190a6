import { type HostName, type NetRule } from '@cordon/policy'
import { type Door, portsOf } from '../proxy/gate.ts'
import { type Survey } from './survey.ts'

/**
 * SPEC 4.5: the network inside. The host serves every socket of it; what is accepted at a door was meant for the host that
 * the door stands for.
 */
export interface NetworkPlan {
  /** What the launcher makes, in this order. */
  readonly sockets: readonly InsideSocket[]
  /** The address that stands for each allowed name, for `/etc/hosts` and for who asks by DNS. */
  readonly names: ReadonlyMap<HostName, string>
  /** The sandbox's own `/etc/hosts` and `/etc/resolv.conf`, by the path they have here. */
  readonly files: ReadonlyMap<string, string>
  /** Hosts without a door: there are too many, or the address cannot be one of the sandbox's own. Said as a loss. */
  readonly doorless: readonly HostName[]
  /** Hosts of which rules name no port at all, only a scheme that has none. */
  readonly portless: readonly HostName[]
}

export type InsideSocket =
  | { readonly serves: 'proxy'; readonly address: string; readonly port: number }
  | {
      readonly serves: 'names'
      readonly over: 'udp' | 'tcp'
      readonly address: string
      readonly port: number
    }
  | ({ readonly serves: 'door'; readonly address: string } & Door)

/** Programs are told it in HTTP_PROXY. */
export const PROXY_PORT = 3128

const LOOPBACK = '127.0.0.1'
const DNS_PORT = 53

/** Each is a descriptor of the host's and a part of every start. */
const MOST_DOORS = 512

export function planNetwork(rules: readonly NetRule[], survey: Pick<Survey, 'resolving'>): NetworkPlan {
  const ports = allowedPorts(rules)
  const names = namesFor([...ports.keys()])
  const wanted = [...ports].flatMap(([host, each]) =>
    [...addressesOf(host, names)].flatMap((address) => [...each].map((port) => ({ host, address, port }))),
  )
  // Of `localhost` and an address of it the address is the narrower word: it was written for just that, and decides where
  // nothing says the name.
  const byPlace = new Map<string, (typeof wanted)[number] & Door>()
  for (const door of wanted.toSorted((a, b) => Number(isName(b.host)) - Number(isName(a.host)))) {
    const place = `${door.address} ${door.port}`
    const name = byPlace.get(place)?.host
    byPlace.set(place, name === undefined ? door : { ...door, alias: name })
  }
  const doors = [...byPlace.values()].slice(0, MOST_DOORS)
  const reached = new Set(doors.flatMap(({ host, alias }) => [host, ...(alias === undefined ? [] : [alias])]))
  return {
    sockets: [
      { serves: 'proxy', address: LOOPBACK, port: PROXY_PORT },
      { serves: 'names', over: 'udp', address: LOOPBACK, port: DNS_PORT },
      { serves: 'names', over: 'tcp', address: LOOPBACK, port: DNS_PORT },
      ...doors.map((door) => ({ serves: 'door', ...door }) as const),
    ],
    names,
    files: filesFor(names, survey.resolving),
    doorless: [...ports].flatMap(([host, each]) => (each.size === 0 || reached.has(host) ? [] : [host])),
    portless: [...ports].flatMap(([host, each]) => (each.size === 0 ? [host] : [])),
  }
}

/** Where a rule could allow something; what of it is allowed, the gate says. */
function allowedPorts(rules: readonly NetRule[]): ReadonlyMap<HostName, ReadonlySet<number>> {
  const ports = new Map<HostName, Set<number>>()
  for (const rule of rules) {
    if (!rule.allow) continue
    const known = ports.get(rule.host) ?? new Set()
    for (const port of portsOf(rule)) if (port > 0) known.add(port)
    ports.set(rule.host, known)
  }
  return ports
}

/** 127.128.0.1 and on: loopback, so that nothing has to be set up for it, and far from what programs choose themselves. */
function namesFor(hosts: readonly HostName[]): ReadonlyMap<HostName, string> {
  const taken = new Set<string>(hosts)
  const names = new Map<HostName, string>()
  let next = 1
  for (const host of hosts) {
    if (!isName(host) || host === 'localhost') continue
    const address = (): string => `127.128.${next >> 8}.${next & 255}`
    while (taken.has(address())) next++
    if (next > 0xfffe) break
    names.set(host, address())
    next++
  }
  return names
}

/** An address stands for itself; the host's loopback, where a rule allows a port of it, has that port here too. */
function addressesOf(host: HostName, names: ReadonlyMap<HostName, string>): readonly string[] {
  if (host === 'localhost') return [LOOPBACK, '::1']
  if (!isName(host)) {
    const bare = host.replace(/^\[(.*)\]$/, '$1')
    return isNobody(bare) ? [] : [bare]
  }
  const address = names.get(host)
  return address === undefined ? [] : [address]
}

const isName = (host: HostName): boolean => !host.startsWith('[') && !/^[\d.]+$/.test(host)

/** Unspecified, broadcast, multicast, or another spelling of a v4 address: not an address that a device can have. */
const isNobody = (address: string): boolean =>
  /^(?:0|22[4-9]|2[34]\d|25[0-5])\./.test(address) || /^(?:::|::ffff:.*|ff.*)$/i.test(address)

function filesFor(
  names: ReadonlyMap<HostName, string>,
  { hostname, hosts, resolver }: Survey['resolving'],
): ReadonlyMap<string, string> {
  const own =
    hostname === '' || hostname === 'localhost' || names.has(hostname as HostName) ? '' : ` ${hostname}`
  const lines = [
    `127.0.0.1 localhost${own}`,
    `::1 localhost ip6-localhost ip6-loopback${own}`,
    ...[...names].map(([host, address]) => `${address} ${host}`),
  ]
  return new Map([
    ...(hosts === undefined ? [] : [[hosts, lines.map((line) => `${line}\n`).join('')] as const]),
    ...(resolver === undefined ? [] : [[resolver, `nameserver ${LOOPBACK}\n`] as const]),
  ])
}
