import { explain } from '../denial.ts'
import { CordonError } from '../errors.ts'
import { type Capability, type FsRule } from '../rules.ts'
import { quote, show, tomlString } from '../text.ts'

/** SPEC 1.3: *bad input* is refused before any I/O, a *bad target* only shows when links are resolved. */
export type Fault = 'input' | 'target'

/** What `check*` throws about paths; `instanceof FsAccessError` catches all of them. */
export abstract class FsAccessError extends CordonError {
  abstract readonly fault: Fault
}

/** Empty, NUL, ill-formed Unicode, too long: no file can have this name. */
export class InvalidPathError extends FsAccessError {
  readonly code = 'PATH_INVALID'
  readonly fault = 'input'
  readonly input: string
  constructor(input: string, reason: string) {
    super(`invalid path: ${quote(input)} (${reason})`)
    this.input = input
  }
}

/** SPEC 1.4: the input is absolute. */
export class OutsideError extends FsAccessError {
  readonly code = 'PATH_OUTSIDE'
  readonly fault = 'input'
  readonly input: string
  constructor(input: string) {
    super(`path is outside the workspace: ${show(input)} (absolute paths are not permitted)`)
    this.input = input
  }
}

/** SPEC 1.4: the input climbs out by `..` (fault `input`), or a link leads out (fault `target`). */
export class EscapeError extends FsAccessError {
  readonly code = 'PATH_ESCAPE'
  readonly input: string
  readonly fault: Fault
  /** The mount whose approved target was left (SPEC 3.1), if it was one. */
  readonly mount: string | undefined
  constructor(input: string, fault: Fault, mount?: string) {
    const left = mount === undefined ? '' : ` (it leaves the approved target of the mount ${show(mount)})`
    super(`path escapes the workspace: ${show(input)}${left}`)
    this.input = input
    this.fault = fault
    this.mount = mount
  }
}

/** Links that loop, a directory without permission, a name that is not UTF-8: doubt, and doubt is a no. */
export class UnresolvableError extends FsAccessError {
  readonly code = 'PATH_UNRESOLVABLE'
  readonly fault = 'target'
  readonly input: string
  readonly reason: string
  constructor(input: string, reason: string) {
    super(`cannot resolve path: ${show(input)} (${reason})`)
    this.input = input
    this.reason = reason
  }
}

/** SPEC 1.4: the policy answered no. `explanation` is what a person or a model should see. */
export class DeniedError extends FsAccessError {
  readonly code = 'FS_DENIED'
  readonly fault = 'target'
  readonly denied: FsDenial
  readonly explanation: string
  constructor(denied: FsDenial) {
    super(`access denied: ${denied.capability} on ${show(denied.target)}`)
    this.denied = denied
    this.explanation = explainFs(this.message, denied)
  }
}

export interface FsDenial {
  readonly capability: Capability
  /** Canonical, workspace-relative. */
  readonly target: string
  /** The rule that decided; undefined when none matched. */
  readonly rule: FsRule | undefined
  /** Every configured rule that grants something, so that the reader knows what is possible. */
  readonly grants: readonly FsRule[]
  /** When no rule can change the answer (the root, a mount point), why not. */
  readonly because?: string
}

function explainFs(asked: string, { capability, target, rule, grants, because }: FsDenial): string {
  if (because !== undefined) return explain({ asked, because, toAllow: 'no rule can' })
  const granted = grants.map((grant) => `${show(grant.path)} (${[...grant.grants].join(', ')})`)
  if (!rule)
    return explain({
      asked,
      because: 'no rule covers that path',
      granted,
      toAllow: grantToml(capability, target, rule),
    })
  // Revived by approval, not by a rule (SPEC 3.2); on the wire a broken link looks the same.
  if (isTombstone(rule))
    return explain({
      asked,
      because: `${nameRule(rule)} has no approved target`,
      granted,
      toAllow: `approve where ${show(rule.path)} leads, or mend the link if it is broken`,
    })
  return explain({
    asked,
    because: `${nameRule(rule)} withholds it`,
    granted,
    toAllow: grantToml(capability, target, rule),
  })
}

const isTombstone = (rule: FsRule): boolean => rule.external && rule.approvedTarget === undefined

const nameRule = (rule: FsRule): string =>
  `the rule ${show(rule.path)}${rule.origin ? ` at ${rule.origin}` : ''}`

/**
 * SPEC 1.4: the exact TOML. It restates what the deciding rule grants, because rules inherit nothing.
 * Inside a mount it is the mount's own rule again: that path is approved already, and one below it is not.
 */
export function grantToml(want: Capability, target: string, rule: FsRule | undefined): string[] {
  const grants = new Set<Capability>([...(rule?.grants ?? []), want])
  return [
    '[[access.fs]]',
    `path = ${tomlString(rule?.external ? rule.path : target)}`,
    ...(rule?.external ? ['external = true'] : []),
    ...[...grants].map((capability) => `${capability} = true`),
  ]
}
