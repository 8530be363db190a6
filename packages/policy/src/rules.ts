/** The four axes of SPEC 1.1 as finalised data: what crosses the wire, and what evaluation reads. */

export const CAPABILITIES = ['read', 'create', 'update', 'delete', 'execute'] as const
export type Capability = (typeof CAPABILITIES)[number]

/** Where a rule was written, as a person would name it: `.cordon/config.toml:12:3`. Never crosses the wire. */
export type Origin = string

/** SPEC 1.2, after alias expansion: nothing reads `write` any more. */
export interface FsRule {
  /** Workspace-relative. Canonical for ordinary rules, lexical for external ones; `.` is the root. */
  readonly path: RelPath
  /** As it was written, where a link leads from there to `path`. Like the origin it never crosses the wire. */
  readonly written?: RelPath
  readonly grants: ReadonlySet<Capability>
  /** SPEC 3.1: this rule's path leaves the workspace through a link, on purpose. */
  readonly external: boolean
  /** Where an external rule may land. Absent on an external rule: a tombstone, which grants nothing. */
  readonly approvedTarget?: string
  /** SPEC 4.10: nobody wrote it. It takes writing back from what lies around it. */
  readonly guard?: Guard
  readonly origin?: Origin
}

/** What becomes of something new at a guarded path, once the process has ended. */
export type Guard = 'told' | 'moved-aside' | 'no-links'

/** SPEC 1.5. */
export interface NetRule {
  readonly host: HostName
  readonly scheme?: string
  readonly port?: number
  readonly pathPrefix?: string
  readonly allow: boolean
  readonly origin?: Origin
}

/** SPEC 1.6. `name` ends in `*` when it is a prefix. */
export interface EnvRule {
  readonly name: string
  readonly read: boolean
  readonly origin?: Origin
}

/** SPEC 1.7. Without `args` any arguments are allowed; each entry is one allowed list, `**` last allows more. */
export interface CommandRule {
  readonly args?: readonly (readonly string[])[]
  readonly envs?: readonly string[]
  readonly origin?: Origin
}

/** An empty list (or an absent `commands`) is an undeclared axis: unrestricted (SPEC 1.1). */
export interface AccessPolicy {
  readonly fs: readonly FsRule[]
  readonly net: readonly NetRule[]
  readonly env: readonly EnvRule[]
  readonly commands?: Readonly<Record<string, CommandRule>>
}

declare const brand: unique symbol

/** Normalised, workspace-relative, no `..`, no leading slash; `.` is the root. Made by `parseRelPath`. */
export type RelPath = string & { readonly [brand]: 'RelPath' }

/** Absolute, every link on it resolved. Made by canonicalisation only. */
export type CanonicalPath = string & { readonly [brand]: 'CanonicalPath' }

/** ASCII, lower case, no trailing dot; IP literals normalised, IPv6 in brackets. Made by `parseHost`. */
export type HostName = string & { readonly [brand]: 'HostName' }
