import { lstatSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Source } from '@cordon/config'
import { below, CordonError, parseHost, quote, show } from '@cordon/policy'

/** What a person typed on `cordon run` (SPEC 4.8). Paths as in a shell: from where the person stands. */
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

/** Where the person stands, and in which workspace. */
export interface Standing {
  readonly root: string
  readonly cwd: string
}

/**
 * The flags are the last layer of the configuration (SPEC 2), so they are validated, merged, compiled and
 * explained like any other rule. `key` is where the subject's access is written.
 */
export function flagSources(flags: AccessFlags, key: readonly string[], standing: Standing): Source[] {
  const source = (flag: string, value: string, axis: string, rule: Rule): Source => ({
    layer: 'flags',
    label: `${flag} ${value}`,
    key: [...key, axis],
    value: [rule],
  })
  const place = (flag: string, typed: string, grants: Rule): Source =>
    source(flag, typed, 'fs', { path: rulePath(flag, typed, standing), ...grants })
  return [
    ...flags.read.map((path) => place('--read', path, { read: true })),
    ...flags.write.map((path) => place('--write', path, { read: true, write: true })),
    ...flags.execute.map((path) => place('--execute', path, { read: true, execute: true })),
    ...flags.allowNet.map((text) => source('--allow-net', text, 'net', parseAllowNet(text))),
    ...flags.env.map((name) => source('--env', name, 'env', { name, read: true })),
  ]
}

type Rule = Readonly<Record<string, string | number | boolean>>

/** A rule speaks of the workspace's root (SPEC 1.2), and the kernel can only grant what is there (SPEC 4.3). */
function rulePath(flag: string, typed: string, { root, cwd }: Standing): string {
  const fail = (why: string): never => {
    throw new FlagError(`${flag} ${typed === '' ? '""' : show(typed)}: ${why}`)
  }
  if (typed === '') fail('expected a path')
  const path = resolve(cwd, typed)
  const inside = below(root, path) ?? below(root, byRealParent(path))
  if (inside === undefined)
    return fail(
      `it lies outside the workspace ${show(root)}\n  fix: link it into the workspace, and grant the link with external = true in a profile or tool (docs/mounts.md)`,
    )
  if (!isThere(path))
    fail(
      'there is no such file or directory, and what does not exist cannot be granted\n  fix: make it first, or grant the directory it will be made in',
    )
  return inside
}

/** A person may come to the workspace by another name, through a link. */
function byRealParent(path: string): string {
  try {
    return join(realpathSync.native(dirname(path)), basename(path))
  } catch {
    return path
  }
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false // its parent is a file, or may not be entered: for us, and for what we start
  }
}

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
