import { type Allowing, explain } from '../denial.ts'
import { CordonError } from '../errors.ts'
import { type Capability, type FsRule } from '../rules.ts'
import {
  allowLines,
  LINK_GOES_WITH,
  editFor,
  fsRulesAllowing,
  isDefaultFs,
  isReadOnlyMount,
  mountCommand,
  toolKey,
  whereLinkLeads,
} from '../suggest.ts'
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
  readonly reason: string
  constructor(input: string, reason: string) {
    super(`invalid path: ${quote(input)} (${reason})`)
    this.input = input
    this.reason = reason
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
  /** What the system said, where it was the system that refused. */
  readonly errno: string | undefined
  constructor(input: string, reason: string, errno?: string) {
    super(`cannot resolve path: ${show(input)} (${reason})`)
    this.input = input
    this.reason = reason
    this.errno = errno
  }
}

/** SPEC 1.4: the policy answered no. `explanation` is what a person or a model should see. */
export class DeniedError extends FsAccessError {
  readonly code = 'FS_DENIED'
  readonly fault = 'target'
  readonly denied: FsDenial
  readonly explanation: string
  /** The command that the explanation suggests, if it has one. */
  readonly suggested: string | undefined
  constructor(denied: FsDenial) {
    const { capability, target, named = target } = denied
    super(`access denied: ${capability} on ${named === target ? '' : `${show(named)} → `}${show(target)}`)
    const allows = allowingOf(denied)
    this.denied = denied
    this.explanation = explainFs(this.message, denied, allows)
    this.suggested = allows === 'no rule' ? undefined : allows?.[0]
  }
}

export interface FsDenial {
  readonly capability: Capability
  /** Canonical, workspace-relative. */
  readonly target: string
  /** What the caller called it, where links lead elsewhere from there. */
  readonly named?: string | undefined
  /** The rule that decided; undefined when none matched. */
  readonly rule: FsRule | undefined
  /** Every configured rule that grants something, so that the reader knows what is possible. */
  readonly grants: readonly FsRule[]
  /** When no rule can change the answer (the root, a mount point), why not. */
  readonly because?: string
  /** Whose rules they are, where that is known: for the edit that would allow it. */
  readonly tool?: string | undefined
  /** An entry that is a link itself: no rule for its path speaks of it. */
  readonly isLink?: true | undefined
  /** What would allow it is told to the person alone. */
  readonly untold?: true | undefined
  /** What is guarded there (SPEC 4.10), where the host knows it and another rule, or none, decided. */
  readonly guarded?: string | undefined
}

/** SPEC 4.10: why it may not be written. */
export const guardedName = (name: string): string =>
  `${show(name)} is guarded: the host obeys it, or runs it by itself later`

/** Decision 0443: a model reads it. Which rule lifts the guard is for a person, who asks `cordon why`. */
function allowingOf(denied: FsDenial): Allowing | undefined {
  if (denied.because !== undefined) return 'no rule'
  // Revived by approval or by mending its link, not by a rule (SPEC 3.2); on the wire the two look the same. The host knows.
  if (denied.rule && isTombstone(denied.rule)) return undefined
  return denied.untold || guardedIn(denied) !== undefined ? undefined : toAllow(denied)
}

function explainFs(asked: string, denied: FsDenial, allows: Allowing | undefined): string {
  const { rule, grants, because } = denied
  const told = allows === undefined ? {} : { toAllow: allows }
  if (because !== undefined) return explain({ asked, because, ...told })
  const granted = grants.map((grant) => `${show(grant.path)} (${[...grant.grants].join(', ')})`)
  const guarded = guardedIn(denied)
  if (guarded !== undefined) return explain({ asked, because: guardedName(guarded), granted })
  return explain({ asked, because: rule ? reasonOf(rule) : 'no rule covers that path', granted, ...told })
}

/** The guard takes back writing; what else is withheld there is withheld by what lies around it. */
function guardedIn({ capability, rule, guarded }: FsDenial): string | undefined {
  if (!WRITING.has(capability)) return undefined
  return rule?.guard === undefined ? guarded : rule.path
}

const reasonOf = (rule: FsRule): string =>
  `${nameRule(rule)} ${isTombstone(rule) ? 'has no approved target: `cordon mount ls` says what it lacks' : 'withholds it'}`

function toAllow({ capability, target, rule, grants, tool, isLink }: FsDenial): Allowing {
  if (rule && isReadOnlyMount(rule) && WRITING.has(capability)) return writableMount(rule, tool)
  const [narrowest] = fsRulesAllowing({ capability, target, isLink, rule, rules: grants })
  if (!narrowest) return 'no rule'
  const before = isDefaultFs(grants) ? 'default' : 'rules'
  const lines = allowLines(tool, editFor(toolKey(tool, 'fs'), narrowest, before))
  return isLink ? [...lines, `(${LINK_GOES_WITH})`] : lines
}

const WRITING: ReadonlySet<Capability> = new Set(['create', 'update', 'delete'])

const writableMount = ({ path }: FsRule, tool: string | undefined): readonly string[] => [
  mountCommand({ tool, name: path, target: whereLinkLeads(path), mode: 'rw' }),
  // Whoever reads it may stand anywhere, and `mount add` takes a name from there.
  tool === undefined
    ? '(at the root of the workspace, with the name of the tool for TOOL)'
    : '(at the root of the workspace)',
]

const isTombstone = (rule: FsRule): boolean => rule.external && rule.approvedTarget === undefined

const nameRule = (rule: FsRule): string =>
  rule.guard !== undefined
    ? `the built-in guard of ${show(rule.path)}`
    : `the rule ${show(rule.path)}${rule.origin ? ` at ${rule.origin}` : ''}`
