import { readFileSync } from 'node:fs'
import { allowNetFlag, show } from '@cordon/policy'
import type { Plan } from '@cordon/sandbox'
import { parseQuestion } from '../why/question.ts'
import { type Address, addressesIn, isLoopback } from './addresses.ts'
import type { Hint } from './hint.ts'

/** SPEC 4.5 and 4.7: what a failed program says when the network inside is not the one that it is used to. */
export function networkHints(
  said: string,
  argv: readonly string[],
  { network, isolation }: Plan,
  unixSockets: UnixSockets,
): Hint[] {
  return [
    ...(NO_FAMILY.test(said) ? familyHint(isolation, unixSockets) : []),
    // At a terminal nothing is known of what was said.
    ...((said === '' || REFUSED.test(said)) && isolation === 'namespaces'
      ? loopbackPlaces(said, argv).flatMap((address) => hostPortHint(address, argv))
      : []),
    ...(REFUSED.test(said) ? standInHints(said, argv, network) : []),
    ...(TAKEN.test(said)
      ? portsIn(`${said} ${argv.join(' ')}`).flatMap((port) => portHint(port, network))
      : []),
  ]
}

type UnixSockets = 'pairs' | 'private'

const NO_FAMILY = /Address family not supported by protocol|\bEAFNOSUPPORT\b/
const REFUSED = /connection refused|\bECONNREFUSED\b|(?:couldn't|could not|failed to|cannot|can't) connect\b/i
const TAKEN = /address already in use|\bEADDRINUSE\b/i

function familyHint(isolation: Plan['isolation'], unixSockets: UnixSockets): Hint[] {
  if (isolation === 'landlock-only')
    return [
      hint(
        'sockets',
        'without namespaces every socket is refused, also on the loopback; cordon doctor says how to get them',
        undefined,
      ),
    ]
  return unixSockets === 'private'
    ? []
    : [hint('unix sockets', 'of unix sockets only pairs are allowed', '--unix-sockets')]
}

/**
 * SPEC 4.5: an address stands for each allowed name, with a door for each port that a rule allows. Who knows no proxy is told
 * that address alone at the next port, and so nothing says which host was refused. What was typed has its hint elsewhere.
 */
function standInHints(said: string, argv: readonly string[], network: Plan['network']): Hint[] {
  const names = [...(network?.names ?? [])]
  const hints = addressesIn(said).flatMap(({ host: address, port }): Hint[] => {
    const host = names.find(([, standIn]) => standIn === address)?.[0]
    const isDoor = network?.sockets.some((socket) => socket.address === address && socket.port === port)
    if (host === undefined || isDoor || argv.join(' ').includes(host)) return []
    const place = `${host}:${port}`
    const scheme = port === 80 ? 'http' : port === 443 ? 'https' : undefined
    const question = parseQuestion('net', scheme === undefined ? place : `${scheme}://${host}/`)
    const text = `${address} stands for ${show(host)} inside, and no rule allows port ${port} of it`
    return [{ ...hint(place, text, allowNetFlag({ host, port })), question }]
  })
  return [...new Map(hints.map((each) => [each.about, each])).values()]
}

/** `localhost` inside is the sandbox's own loopback; a developer's database listens on the host's. */
function hostPortHint({ host, port }: Address, argv: readonly string[]): Hint[] {
  if (!listensOnHost(port)) return []
  const text = `the host listens on port ${port}, and ${host} inside is the sandbox’s own`
  const place = `${host}:${port}`
  const question = parseQuestion('net', urlWith(place, argv) ?? place)
  return [{ ...hint(place, text, allowNetFlag({ host, port })), question, audience: 'person' }]
}

/** As it was typed, where that was a URL. */
const urlWith = (place: string, argv: readonly string[]): string | undefined =>
  argv
    .join(' ')
    .match(/https?:\/\/[^\s'"]+/g)
    ?.find((url) => URL.canParse(url) && new URL(url).host === place)

/** Many programs name the port only on their command line, where it may be any number: there, only behind the name. */
function loopbackPlaces(said: string, argv: readonly string[]): Address[] {
  const typed = addressesIn(argv.join(' ')).filter(({ host }) => isLoopback(host))
  const name = LOOPBACK.exec(said)?.[0]
  // As it was asked for: a rule for `localhost` is none for its address.
  const host = name === '::1' ? '[::1]' : name
  const complained =
    host === undefined ? [] : portsIn(said.replaceAll(/[:,]/g, ' ')).map((port) => ({ host, port }))
  // What was typed is what is asked for again.
  return [...new Map([...complained, ...typed].map((place) => [place.port, place])).values()]
}

const LOOPBACK = /\blocalhost\b|\b127\.0\.0\.1\b|::1/

/** From `/proc/net/tcp`, which everybody may read: `0A` is the state of a socket that listens. */
function listensOnHost(port: number): boolean {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')} `
  return ['/proc/net/tcp', '/proc/net/tcp6'].some((path) => {
    try {
      return readFileSync(path, 'utf8')
        .split('\n')
        .some((line) => / 0A /.test(line) && line.slice(0, line.indexOf(' 0A ')).includes(wanted))
    } catch {
      return false
    }
  })
}

/** Any number may be a port; only of those that are ours anything is said. Many programs name it on their command line only. */
const portsIn = (text: string): number[] => [
  ...new Set([...text.matchAll(/(?<![\w.])\d{2,5}(?![\w.])/g)].map(([port]) => Number(port))),
]

/** A listener of ours on one address takes the port from who wants it on all of them. */
function portHint(port: number, network: Plan['network']): Hint[] {
  const ours = network?.sockets.find((socket) => socket.port === port)
  if (!ours) return []
  const what =
    ours.serves === 'door' ? `stands for ${show(ours.host)}, which a rule allows` : 'is the proxy’s'
  return [
    hint(
      `port ${port}`,
      `port ${port} of ${ours.address} inside ${what}: listen on another address or port, not on all addresses`,
      undefined,
    ),
  ]
}

const hint = (about: string, text: string, fix: string | undefined): Hint => ({
  about,
  text,
  fix,
  audience: 'anyone',
})
