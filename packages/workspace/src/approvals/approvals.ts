import { type CanonicalPath, type RelPath, show } from '@cordon/policy'
import { sha256 } from './digest.ts'
import {
  asApproval,
  asServer,
  asTrust,
  type ConfigTrust,
  type MountApproval,
  type ReadResult,
  type ServerSeen,
} from './document.ts'

/** SPEC 3.2: exact match, nothing known, or known with another target. */
export type MountLookup = 'approved' | 'unknown' | { readonly was: string }

/** What the store held when it was read. Lookup does no I/O, so that compiling a policy stays pure. */
export class Approvals {
  readonly mounts: readonly MountApproval[]
  readonly configs: readonly ConfigTrust[]
  readonly servers: readonly ServerSeen[]
  /** What a person must be told: the file is broken, or an entry in it is. */
  readonly warnings: readonly string[]
  readonly #isAsWritten: boolean

  constructor(
    mounts: readonly MountApproval[],
    configs: readonly ConfigTrust[],
    warnings: readonly string[],
    servers: readonly ServerSeen[] = [],
    isAsWritten = false,
  ) {
    this.mounts = mounts
    this.configs = configs
    this.servers = servers
    this.warnings = warnings
    this.#isAsWritten = isAsWritten
  }

  /**
   * SPEC 2.1: whether the digest of exactly this text is in the store under this path. In a file that nobody has edited the text
   * that was kept is the one of its digest, and to compare it costs nothing (decision 0580).
   */
  trusts(path: string, text: string): boolean {
    const known = this.configs.filter((config) => config.path === path)
    if (known.length === 0) return false
    if (this.#isAsWritten && known.some((config) => config.text === text)) return true
    const digest = sha256(text)
    return known.some((config) => config.sha256 === digest)
  }

  /** What was trusted last under this path, for the difference; without a text that is not what was trusted. */
  lastTrusted(path: string): ConfigTrust | undefined {
    const last = this.configs.findLast((config) => config.path === path)
    if (last?.text === undefined || sha256(last.text) === last.sha256) return last
    const { text: _, ...rest } = last
    return rest
  }

  lookup(rulePath: RelPath, target: CanonicalPath): MountLookup {
    const known = this.mounts.filter((mount) => mount.rule_path === rulePath)
    if (known.some((mount) => mount.canonical_target === target)) return 'approved'
    const was = this.last(rulePath)
    return was === undefined ? 'unknown' : { was }
  }

  /** Where a mount was last approved to lead. */
  last(rulePath: RelPath): string | undefined {
    return this.mounts.findLast((mount) => mount.rule_path === rulePath)?.canonical_target
  }
}

/** Whatever cannot be understood approves nothing (SPEC 3.2). */
export function interpret(file: string, read: ReadResult): Approvals {
  if (read.kind !== 'usable')
    return new Approvals(
      [],
      [],
      [`approvals are ignored: ${show(file)}: ${read.problem}; nothing counts as approved`],
    )
  const { mounts = [], configs = [], servers = [] } = read.document
  const warnings: string[] = []
  const understood = <T>(
    name: string,
    entries: readonly unknown[],
    as: (entry: unknown) => T | undefined,
    what: string,
  ): T[] =>
    entries.flatMap((entry, i) => {
      const known = as(entry)
      if (known !== undefined) return [known]
      warnings.push(`an approval is ignored: ${show(file)}: ${name}[${i}] is not ${what}`)
      return []
    })
  return new Approvals(
    understood('mounts', mounts, asApproval, 'a rule path with an absolute target'),
    understood('configs', configs, asTrust, 'a path with a SHA-256 digest'),
    warnings,
    understood('servers', servers, asServer, 'a server with its tools'),
    read.isAsWritten,
  )
}
