import type { Source } from '@cordon/config'
import { CordonError, parseHost, quote } from '@cordon/policy'

/** What a person typed on `cordon run` (SPEC 4.8). */
export interface AccessFlags {
  readonly read: readonly string[]
  readonly write: readonly string[]
  readonly execute: readonly string[]
  readonly allowNet: readonly string[]
  readonly env: readonly string[]
}

class FlagError extends CordonError {
  readonly code = 'FLAG'
}

/**
 * The flags are the last layer of the configuration (SPEC 2), so they are validated, merged, compiled and
 * explained like any other rule. `key` is where the subject's access is written.
 */
export function flagSources(flags: AccessFlags, key: readonly string[]): Source[] {
  const source = (flag: string, value: string, axis: string, rule: Rule): Source => ({
    layer: 'flags',
    label: `${flag} ${value}`,
    key: [...key, axis],
    value: [rule],
  })
  return [
    ...flags.read.map((path) => source('--read', path, 'fs', { path, read: true })),
    ...flags.write.map((path) => source('--write', path, 'fs', { path, read: true, write: true })),
    ...flags.execute.map((path) => source('--execute', path, 'fs', { path, read: true, execute: true })),
    ...flags.allowNet.map((text) => source('--allow-net', text, 'net', parseAllowNet(text))),
    ...flags.env.map((name) => source('--env', name, 'env', { name, read: true })),
  ]
}

type Rule = Readonly<Record<string, string | number | boolean>>

/** `[scheme://]host[:port][/path]`. */
function parseAllowNet(text: string): Rule {
  const parts = SHAPE.exec(text)?.groups
  const host = parts?.['host'] ?? ''
  if (!parts || !parseHost(host))
    throw new FlagError(
      `--allow-net ${quote(text)}: expected [scheme://]host[:port][/path], such as api.github.com/repos`,
    )
  return {
    host,
    ...(parts['scheme'] === undefined ? {} : { scheme: parts['scheme'] }),
    ...(parts['port'] === undefined ? {} : { port: Number(parts['port']) }),
    ...(parts['path'] === undefined ? {} : { path_prefix: parts['path'] }),
    allow: true,
  }
}

const SHAPE =
  /^(?:(?<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):\/\/)?(?<host>\[[^\]]+\]|[^/:[\]]+)(?::(?<port>\d{1,5}))?(?<path>\/.*)?$/
