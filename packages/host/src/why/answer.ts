import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AccessPolicy,
  DeniedError,
  type EnvRule,
  EnvIndex,
  evaluateFs,
  FsAccessError,
  FsIndex,
  type FsRule,
  guardedName,
  isEnvName,
  locate,
  type Meant,
  type NetRule,
  NetIndex,
  quote,
  type Root,
  show,
} from '@cordon/policy'
import { nameOf } from '@cordon/sandbox'
import { isSecretRule, WHY_SECRET } from '../compile/own-secrets.ts'
import { DEFAULT_NET } from '../compile/defaults.ts'
import { askedPlace, urlOf } from './network.ts'
import { type Question, QuestionError } from './question.ts'

export type AnyRule =
  | { readonly axis: 'fs'; readonly rule: FsRule }
  | { readonly axis: 'net'; readonly rule: NetRule }
  | { readonly axis: 'env'; readonly rule: EnvRule }

/** SPEC 4.7: the decision, the rule that made it, and the rules that would have made it otherwise. */
export interface Answer {
  readonly question: Question
  readonly allowed: boolean
  /** The target in the form that rules are matched on; undefined when it has none. */
  readonly canonical: string | undefined
  /** It is an entry that is a link itself: rules for its path speak of what it leads to. */
  readonly isLink?: true | undefined
  /** Where that is on this host. For planning, and never to be printed (SPEC 3.2). */
  readonly place?: string
  readonly rule: AnyRule | undefined
  readonly because: string
  /** Other rules that match the target and lost, in the order they were written. */
  readonly others: readonly AnyRule[]
}

/** Throws `QuestionError` or a bad-input `FsAccessError` when the question makes no sense. */
export function answer(root: Root, policy: AccessPolicy, question: Question, meant?: Meant): Answer {
  switch (question.axis) {
    case 'fs':
      return answerFs(root, policy.fs, question, meant)
    case 'net':
      return answerNet(policy.net, question)
    case 'env':
      return answerEnv(policy.env, question)
  }
}

function answerFs(
  root: Root,
  rules: readonly FsRule[],
  question: Question & { axis: 'fs' },
  meant: Meant | undefined,
): Answer {
  const index = rules.length > 0 ? new FsIndex(rules, root.foldCase) : undefined
  try {
    const { target, capability } = question
    const { relative, absolute, isLink } = locate(root, index, target, capability, meant)
    const matching = rules.filter((rule) => new FsIndex([rule], root.foldCase).governing(relative))
    const decision = index && evaluateFs(index, relative, question.capability)
    if (!decision)
      return unrestricted(question, relative, 'no file rules are declared, so the whole workspace is open')
    const rule = decision.kind === 'unmatched' ? undefined : decision.rule
    const allowed = decision.kind === 'granted'
    return {
      question,
      allowed,
      canonical: relative,
      isLink,
      place: absolute,
      rule: rule && { axis: 'fs', rule },
      because: rule ? fsReason(rule, question.capability, allowed, root) : 'no rule covers that path',
      others: matching.filter((other) => other !== rule).map((other) => ({ axis: 'fs', rule: other })),
    }
  } catch (error) {
    // Bad input makes the question wrong, and is thrown. A bad target has an answer: no, and why.
    if (!(error instanceof FsAccessError) || error.fault === 'input') throw error
    const rule = error instanceof DeniedError ? error.denied.rule : undefined
    return {
      question,
      allowed: false,
      canonical: undefined,
      rule: rule && { axis: 'fs', rule },
      because: rule ? fsReason(rule, question.capability, false, root) : reasonOf(error),
      others: [],
    }
  }
}

/** A denial that no rule made says by itself why: the rest of its message is the question. */
const reasonOf = (error: FsAccessError): string =>
  (error instanceof DeniedError ? error.denied.because : undefined) ?? error.message

function fsReason(rule: FsRule, capability: string, allowed: boolean, root: Root): string {
  if (allowed) return `the rule for ${show(rule.path)} grants ${capability}`
  if (isSecretRule(rule)) return `${WHY_SECRET} (${show(nameOf(rule))})`
  if (rule.guard !== undefined)
    return capability === 'read' || capability === 'execute'
      ? `what lies around ${show(rule.path)} does not grant ${capability}`
      : `${guarded(rule)}, and no rule names it`
  if (rule.external && rule.approvedTarget === undefined)
    return isBroken(rule, root)
      ? `the mount ${show(rule.path)} leads to nothing, so it grants nothing`
      : `where the mount ${show(rule.path)} leads is not approved, so it grants nothing`
  return `the rule for ${show(rule.path)} does not grant ${capability}`
}

/** Of a mount that grants nothing: no approval would mend it. */
export const isBroken = ({ path }: FsRule, root: Root): boolean => !existsSync(join(root.path, path))

/** SPEC 4.10, for people. */
export const guarded = (rule: FsRule): string => guardedName(nameOf(rule))

function answerNet(rules: readonly NetRule[], question: Question & { axis: 'net' }): Answer {
  const target = askedPlace(question.target)
  const port = target.port === undefined ? '' : `:${target.port}`
  const canonical = urlOf(target)
  if (rules.length === 0) return unrestricted(question, canonical, 'no network rules are declared')
  // That everything is refused is the absence of a rule, and written as one only for the machine (SPEC 1.1).
  const written = rules.filter((each) => !DEFAULT_NET.includes(each))
  const decision = new NetIndex(written).evaluate(target)
  const rule = decision.kind === 'unmatched' ? undefined : decision.rule
  return {
    question,
    allowed: decision.kind === 'allowed',
    canonical,
    rule: rule && { axis: 'net', rule },
    because: rule
      ? `the rule for ${show(`${rule.host}${rule.pathPrefix ?? ''}`)} ${rule.allow ? 'allows it' : 'says no'}`
      : `no rule covers ${target.host}${port}`,
    others: written
      .filter((other) => other !== rule && new NetIndex([other]).evaluate(target).kind !== 'unmatched')
      .map((other) => ({ axis: 'net', rule: other })),
  }
}

function answerEnv(rules: readonly EnvRule[], question: Question & { axis: 'env' }): Answer {
  const name = question.target
  if (!isEnvName(name)) throw new QuestionError(`${quote(name)} is not a variable name`)
  if (rules.length === 0) return unrestricted(question, name, 'no environment rules are declared')
  const decision = new EnvIndex(rules).evaluate(name)
  const rule = decision.kind === 'unmatched' ? undefined : decision.rule
  return {
    question,
    allowed: decision.kind === 'allowed',
    canonical: name,
    rule: rule && { axis: 'env', rule },
    because: rule
      ? `the rule for ${show(rule.name)} ${rule.read ? 'allows it' : 'says no'}`
      : 'no rule names it',
    others: rules
      .filter((other) => other !== rule && new EnvIndex([other]).evaluate(name).kind !== 'unmatched')
      .map((other) => ({ axis: 'env', rule: other })),
  }
}

/** SPEC 1.1: an undeclared axis restricts nothing (it only stays undeclared with the sandbox off). */
const unrestricted = (question: Question, canonical: string, because: string): Answer => ({
  question,
  allowed: true,
  canonical,
  rule: undefined,
  because,
  others: [],
})
