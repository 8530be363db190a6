import { CordonError } from '../errors.ts'
import { type Capability, type FsRule } from '../rules.ts'
import { quote, show } from '../text.ts'

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
  constructor(input: string, reason: string) {
    super(`cannot resolve path: ${show(input)} (${reason})`)
    this.input = input
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
    this.explanation = [this.message, ...explain(denied)].join('\n')
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

function explain({ capability, target, rule, grants, because }: FsDenial): string[] {
  if (because !== undefined) return [`  because: ${because}`]
  const lines = [`  because: ${rule ? `${nameRule(rule)} withholds it` : 'no rule covers that path'}`]
  const listed = grants.slice(0, GRANTS_SHOWN).map((g) => `${show(g.path)} (${[...g.grants].join(', ')})`)
  const more = grants.length > GRANTS_SHOWN ? `, and ${grants.length - GRANTS_SHOWN} more` : ''
  lines.push(`  granted: ${listed.length > 0 ? listed.join(', ') + more : 'nothing'}`)
  // A tombstone is revived by approval, not by a rule; see SPEC 3.2.
  if (rule?.external && rule.approvedTarget === undefined)
    lines.push(`  to allow: approve where ${show(rule.path)} leads`)
  else lines.push('  to allow:', ...grantToml(capability, target, rule).map((line) => `    ${line}`))
  return lines
}

const GRANTS_SHOWN = 8

const nameRule = (rule: FsRule): string =>
  `the rule ${show(rule.path)}${rule.origin ? ` at ${rule.origin}` : ''}`

/** SPEC 1.4: the exact TOML. It restates what the deciding rule grants, because rules inherit nothing. */
export function grantToml(want: Capability, target: string, rule: FsRule | undefined): string[] {
  const grants = new Set<Capability>([...(rule?.grants ?? []), want])
  return ['[[access.fs]]', `path = ${quote(target)}`, ...[...grants].map((c) => `${c} = true`)]
}
