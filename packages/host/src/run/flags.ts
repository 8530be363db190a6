import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Source } from '@cordon/config'
import {
  below,
  type Capability,
  CordonError,
  type FsRule,
  isEnvName,
  isPathPrefix,
  parseHost,
  quote,
  type RelPath,
  shellWord,
  show,
} from '@cordon/policy'
import { nameOf, type OutsideRule } from '@cordon/sandbox'
import { writes } from '../compile/names.ts'
import { WHY_SECRET } from '../compile/own-secrets.ts'
import {
  absolutePath,
  isOwnSecret,
  isThere,
  outsideRule,
  type OutsideWorld,
  PlaceError,
  profileCommand,
  typedPath,
  wayOut,
} from '../outside/place.ts'

/** What a person typed on `cordon run` (SPEC 4.8). Paths as in a shell: from where the person stands. */
export interface AccessFlags {
  readonly read: readonly string[]
  readonly write: readonly string[]
  readonly execute: readonly string[]
  readonly allowNet: readonly string[]
  readonly env: readonly string[]
  readonly unixSockets?: boolean
}

class FlagError extends CordonError {
  readonly code = 'FLAG'
}

/** Where the person stands, and in which workspace. */
export interface Standing extends OutsideWorld {
  readonly root: string
}

/**
 * Hosts and variables are the last layer of the configuration (SPEC 2), so they are validated, merged, compiled and
 * explained like any other rule. `key` is where the subject's access is written.
 */
export function flagSources(flags: AccessFlags, key: readonly string[]): Source[] {
  const source = (label: string, axis: string, rule: Rule): Source => ({
    layer: 'flags',
    label,
    key: [...key, axis],
    value: [rule],
  })
  return [
    ...flags.allowNet.map((text) => source(`--allow-net ${text}`, 'net', parseAllowNet(text))),
    ...(flags.unixSockets
      ? [
          {
            layer: 'flags',
            label: '--unix-sockets',
            key: ['sandbox'],
            value: { unix_sockets: 'private' },
          } as const,
        ]
      : []),
    ...flags.env.map((name) => source(`--env ${name}`, 'env', { name: parseEnvFlag(name), read: true })),
  ]
}

/** What the paths of flags come to. */
export interface FlagPaths {
  /** In the workspace: rules that come after all others. Whether they declare the axis is for the compiler to say (SPEC 4.8). */
  readonly rules: readonly FsRule[]
  /** Elsewhere, at their own path. */
  readonly outside: readonly OutsideRule[]
}

/** Of two rules for a path the later one would answer alone, so what was typed for one path is one rule (decision 0220). */
export function flagPaths(flags: AccessFlags, standing: Standing): FlagPaths {
  const typed = (['read', 'write', 'execute'] as const).flatMap((name) =>
    flags[name].map((text) => findPlace(name, text, standing)),
  )
  const rules = typed.flatMap((found) => (found.kind === 'inside' ? [found] : []))
  return {
    rules: [...Map.groupBy(rules, ({ path }) => path)].map(([path, same]) => ({
      path,
      grants: new Set<Capability>(same.flatMap(({ grants }) => [...grants])),
      external: false,
      origin: same.map(({ origin }) => origin).join(' '),
    })),
    outside: typed.flatMap((found) => (found.kind === 'outside' ? [found.rule] : [])),
  }
}

const GRANTS = {
  read: new Set(['read']),
  write: new Set(['read', 'create', 'update', 'delete']),
  execute: new Set(['read', 'execute']),
} as const satisfies Record<string, ReadonlySet<Capability>>

export type Rule = Readonly<Record<string, string | number | boolean>>

type Found =
  | {
      readonly kind: 'inside'
      readonly path: RelPath
      readonly grants: ReadonlySet<Capability>
      readonly origin: string
    }
  | { readonly kind: 'outside'; readonly rule: OutsideRule }
  | { readonly kind: 'shown' }

/** What does not exist cannot be granted: the kernel mounts and grants what is there (SPEC 4.3). */
function findPlace(name: keyof typeof GRANTS, text: string, standing: Standing): Found {
  const { root } = standing
  if (text === '') throw new FlagError(`--${name} "": expected a path`)
  const origin = `--${name} ${text}`
  const path = absolutePath(text, standing)
  if (!isThere(path)) throw new PlaceError(origin, MISSING)
  const grants = GRANTS[name]
  const named = below(root, path) ?? below(root, byRealParent(path))
  const real = realPath(path)
  const leadsOut = real !== undefined && below(root, real) === undefined
  // The link may be a command's work, for the next one to follow. What it leads to has a name of its own.
  if (named !== undefined && leadsOut)
    throw new PlaceError(
      origin,
      `it is a link out of the workspace, to ${show(real)}\n  fix: --${name} ${typedPath(wayOut(path, root) ?? real, standing.home)}, if you mean that place`,
    )
  const inside = named ?? (real === undefined ? undefined : below(root, real))
  if (inside !== undefined && isOwnSecret(real ?? path, standing)) throw new PlaceError(origin, WHY_SECRET)
  if (inside !== undefined) return { kind: 'inside', path: inside, grants, origin }
  if (real === undefined) throw new PlaceError(origin, MISSING)
  const rule = outsideRule({ text, grants, origin }, standing)
  if (!rule) return { kind: 'shown' }
  if (writes(rule) && standing.guard.isTooLarge(nameOf(rule)))
    throw new PlaceError(
      origin,
      `it has more directories or repositories than are looked through, and their hooks and settings are to be guarded\n  fix: name a smaller place; or, if you mean all of it, a profile of your own, and use --profile mine:\n    ${profileCommand(rule, standing.home)}`,
    )
  return { kind: 'outside', rule }
}

const MISSING =
  'there is no such file or directory, and what does not exist cannot be granted\n  fix: make it first, or grant the directory it will be made in'

/** A person may come to the workspace by another name, through a link. */
function byRealParent(path: string): string {
  try {
    return join(realpathSync.native(dirname(path)), basename(path))
  } catch {
    return path
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined // a link that leads nowhere
  }
}

/** A name, or the beginning of several (SPEC 1.6). Of what a shell would take as an assignment, the name is what was meant. */
function parseEnvFlag(text: string): string {
  if (isEnvName(text.replace(/\*$/, '_')) && !/\*./s.test(text)) return text
  const { name, value = '' } = /^(?<name>[^=]*)=(?<value>.*)$/s.exec(text)?.groups ?? {}
  const fix = isEnvName(name)
    ? `\n  fix: ${name}=${shellWord(value)} before cordon sets it, and --env ${name} passes it on`
    : ''
  throw new FlagError(
    `--env ${quote(text)}: expected the name of a variable, such as GITHUB_TOKEN, or a prefix, such as AWS_*${fix}`,
  )
}

/** `[scheme://]host[:port][/path]`, as a rule of the configuration. */
export function parseAllowNet(text: string): Rule {
  const parts = SHAPE.exec(text)?.groups
  const host = parts?.['host'] ?? ''
  const wider = whyNotWider(text, host)
  if (wider !== undefined) throw new FlagError(`--allow-net ${quote(text)}: ${wider}`)
  const port = Number(parts?.['port'] ?? 1)
  if (port < 1 || port > HIGHEST_PORT)
    throw new FlagError(`--allow-net ${quote(text)}: a port is a number from 1 to ${HIGHEST_PORT}`)
  if (!parts || !parseHost(host))
    throw new FlagError(
      `--allow-net ${quote(text)}: expected [scheme://]host[:port][/path], such as api.github.com/repos`,
    )
  const path = parts['path'] ?? '/'
  if (!isPathPrefix(path)) {
    const meant = path.replace(/[?#].*$/s, '')
    const fix = isPathPrefix(meant)
      ? `\n  fix: --allow-net ${shellWord(`${text.slice(0, -path.length)}${meant}`)}`
      : ''
    throw new FlagError(
      `--allow-net ${quote(text)}: a path has no query, fragment, .. or broken % escape${fix}`,
    )
  }
  return {
    host,
    ...(parts['scheme'] === undefined ? {} : { scheme: parts['scheme'] }),
    ...(parts['port'] === undefined ? {} : { port: Number(parts['port']) }),
    ...(parts['path'] === undefined ? {} : { path_prefix: parts['path'] }),
    allow: true,
  }
}

const HIGHEST_PORT = 65_535

const SHAPE =
  /^(?:(?<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):\/\/)?(?<host>\[[^\]]+\]|[^/:[\]]+)(?::(?<port>\d{1,5}))?(?<path>\/.*)?$/

/** Of `*.example.com` a host that it would cover; of a `*` elsewhere nobody knows one. */
const exampleOf = (host: string): string =>
  /^\*\.[^*]+$/.test(host) ? `, such as --allow-net ${shellWord(host.replace('*', 'api'))}` : ''

/** What people are used to from elsewhere. A rule is for one host, so that what is reached was named by a person. */
function whyNotWider(text: string, host: string): string | undefined {
  if (/^(?:all|any|\*)$/i.test(host))
    return 'there is no rule for every host\n  fix: name the hosts, each with its own --allow-net; what is refused is told with the flag for it'
  if (host.includes('*')) return `there are no patterns of hosts\n  fix: name each host${exampleOf(host)}`
  const address = /^(?<address>[\d.]+|\[?[\da-f]*:[\da-f:.]*\]?)\/\d{1,3}$/i.exec(text)?.groups?.['address']
  if (address !== undefined)
    return `there are no ranges of addresses\n  fix: name each address, such as --allow-net ${shellWord(address.includes(':') && !address.startsWith('[') ? `[${address}]` : address)}`
  return undefined
}
