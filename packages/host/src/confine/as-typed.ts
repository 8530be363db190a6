import { basename } from 'node:path'
import { DEFAULT_PORTS } from '@cordon/policy'
import type { NetWish, ProxyDecision } from '@cordon/sandbox'
import { type HostMention, mentionedInCommand } from './mentions.ts'

/**
 * What was refused, with what the person's own words tell of it. Of a tunnel only the host is seen, and of a name that was
 * looked up not even the port; the URL on the command line is what was wanted (SPEC 4.7, decision 0463).
 */
export function asTyped(decision: ProxyDecision, argv: readonly string[], said: string): ProxyDecision {
  const { kind, host, wish } = decision
  if (!wish) return decision
  const typed = mentionedInCommand(argv).hosts.filter((mention) => isFor(mention, wish))
  const port = wish.port ?? portOf(host, argv, typed)
  const known: NetWish = port === undefined ? wish : { ...wish, port }
  if (kind === 'name' && isForSsh(host, argv, said)) return { ...decision, wish: { ...known, scheme: 'ssh' } }
  const [only, ...others] = typed
  // Of several URLs there, nobody knows which one it was. What a database calls a path is none.
  const isWhole = only && others.length === 0 && wish.path === undefined && !(only.scheme in SERVICES)
  if (!isWhole || only.path === '' || only.path === '/') return { ...decision, wish: known }
  return { ...decision, wish: { ...known, scheme: only.scheme, path: only.path } }
}

const isFor = (mention: HostMention, wish: NetWish): boolean =>
  mention.host === wish.host && (wish.port === undefined || wish.port === portOfUrl(mention))

const portOfUrl = ({ scheme, port }: HostMention): number | undefined =>
  port === '' ? (DEFAULT_PORTS[scheme] ?? SERVICES[scheme]) : Number(port)

/** Undefined: the web's, or nobody typed one. What a program says makes no flag narrower or wider (decision 0463). */
function portOf(host: string, argv: readonly string[], typed: readonly HostMention[]): number | undefined {
  const ports = new Set(typed.filter(isTelling).map(portOfUrl))
  if (ports.size > 0) return ports.size === 1 ? [...ports][0] : undefined
  return portOfClient(host, argv)
}

/** A URL of the web without a port is for the port that every rule has which names none. */
const isTelling = ({ scheme, port }: HostMention): boolean => port !== '' || scheme in SERVICES

const SERVICES: Readonly<Record<string, number>> = {
  postgres: 5432,
  postgresql: 5432,
  mysql: 3306,
  mariadb: 3306,
  redis: 6379,
  rediss: 6379,
  mongodb: 27017,
  amqp: 5672,
  git: 9418,
}

/** Programs that take host and port apart. */
function portOfClient(host: string, argv: readonly string[]): number | undefined {
  const [program = '', ...words] = argv
  const client = CLIENTS.find(({ names }) => names.test(basename(program)))
  if (!client || !words.some((word) => word.includes(host))) return undefined
  const text = words.join(' ')
  const port = client.port.exec(text)?.[1] ?? /(?:^|\s)(?:--port[= ]|port=)(\d{1,5})(?!\d)/.exec(text)?.[1]
  return port === undefined ? client.usual : Number(port)
}

const SMALL = /(?:^|\s)-p\s*(\d{1,5})(?!\d)/
const LARGE = /(?:^|\s)-P\s*(\d{1,5})(?!\d)/

const CLIENTS: readonly {
  readonly names: RegExp
  readonly port: RegExp
  readonly usual: number | undefined
}[] = [
  { names: /^(?:psql|pg_\w+|createdb|dropdb|pgbench)$/, port: SMALL, usual: 5432 },
  { names: /^(?:mysql|mariadb)(?:-?(?:dump|admin|import|show|check))?$/, port: LARGE, usual: 3306 },
  { names: /^(?:redis|valkey)-cli$/, port: SMALL, usual: 6379 },
  { names: /^mongo(?:sh|dump|restore|export|import)?$/, port: SMALL, usual: 27017 },
  { names: /^(?:ssh|mosh)$/, port: SMALL, usual: undefined },
  { names: /^(?:scp|sftp)$/, port: LARGE, usual: undefined },
]

function isForSsh(host: string, argv: readonly string[], said: string): boolean {
  if (/^(?:ssh|scp|sftp|mosh|rsync)$/.test(basename(argv[0] ?? ''))) return true
  // As git and rsync write it: git@github.com:owner/name, or as a URL.
  const written = (word: string): boolean =>
    word.includes(`@${host}:`) || (/^(?:git\+)?ssh:\/\//.test(word) && word.includes(host))
  return argv.some(written) || said.includes(`ssh: Could not resolve hostname ${host}`)
}
