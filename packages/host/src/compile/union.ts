import {
  type AccessPolicy,
  type Capability,
  CordonError,
  EnvIndex,
  type EnvRule,
  FsIndex,
  type FsRule,
  type NetRule,
  type RelPath,
  show,
} from '@cordon/policy'
import { buildEnvironment } from '@cordon/sandbox'
import { DEFAULT_NET } from './defaults.ts'
import { writes } from './names.ts'

class UnionError extends CordonError {
  readonly code = 'POLICY'
}

/**
 * SPEC 4.8: what a command has under several policies at once: whatever any of them grants, and nothing else. An empty axis
 * is unrestricted (SPEC 1.1), so it stays that.
 */
export function unionOf(policies: readonly AccessPolicy[]): AccessPolicy {
  const [first] = policies
  if (policies.length === 1 && first) return first
  const unionOn = <T>(lists: readonly (readonly T[])[], join: () => readonly T[]): readonly T[] =>
    lists.some((list) => list.length === 0) ? [] : join()
  const all = policies.map(({ fs, net, env, commands }) => ({ fs, net, env, commands }))
  const commands = unionOfCommands(all.map((policy) => policy.commands))
  return {
    fs: unionOn(
      all.map(({ fs }) => fs),
      () => unionOfFs(all.map(({ fs }) => fs)),
    ),
    net: unionOn(
      all.map(({ net }) => net),
      () => unionOfNet(all.map(({ net }) => net)),
    ),
    env: unionOn(
      all.map(({ env }) => env),
      () => unionOfEnv(all.map(({ env }) => env)),
    ),
    ...(commands ? { commands } : {}),
  }
}

/**
 * A path is governed by the deepest rule on the way to it. So one rule for each path that any list names, with what each
 * list grants there, answers as all lists together.
 */
export function unionOfFs<Rule extends FsRule>(lists: readonly (readonly Rule[])[]): readonly Rule[] {
  const filled = lists.filter((list) => list.length > 0)
  if (filled.length <= 1) return filled[0] ?? []
  const indexes = filled.map((rules) => new FsIndex(rules))
  const named = new Map<RelPath, Rule[]>()
  for (const rules of filled)
    for (const rule of new Map(rules.map((each) => [each.path, each])).values())
      named.set(rule.path, [...(named.get(rule.path) ?? []), rule])
  return [...named].map(([path, rules]) => {
    const grants = new Set<Capability>(indexes.flatMap((index) => [...(index.governing(path)?.grants ?? [])]))
    // Of several rules at one path: an approved mount rather than a tombstone, a written rule rather than the guard's.
    const shown = rules.toSorted((a, b) => rank(b) - rank(a))[0]!
    if (shown.guard === undefined || !writes({ grants })) return { ...shown, grants }
    const { guard: _, ...lifted } = shown
    return { ...(lifted as Rule), grants }
  })
}

const rank = ({ approvedTarget, guard }: FsRule): number =>
  approvedTarget !== undefined ? 2 : guard === undefined ? 1 : 0

/** Rules for one host overlap by scheme, port and path. Where one profile refuses a part and another grants it, no order of rules is sure to be right. */
function unionOfNet(lists: readonly (readonly NetRule[])[]): readonly NetRule[] {
  const declared = lists.filter((list) => list !== DEFAULT_NET)
  if (declared.length === 0) return DEFAULT_NET
  const speaking = Map.groupBy(
    declared.flatMap((rules, list) => rules.map((rule) => ({ rule, list }))),
    ({ rule }) => rule.host,
  )
  for (const [host, said] of speaking)
    if (new Set(said.map(({ list }) => list)).size > 1 && said.some(({ rule }) => !rule.allow))
      throw new UnionError(
        `the profiles disagree about ${show(host)}: one of them refuses a part of it\n  fix: use one of them, or write a profile of your own (cordon profile copy)`,
      )
  return declared.flat()
}

/** As with paths: one rule for each name or prefix that any list has, with what each list says of it. */
function unionOfEnv(lists: readonly (readonly EnvRule[])[]): readonly EnvRule[] {
  const indexes = lists.map((rules) => new EnvIndex(rules))
  const rules = new Map(lists.flat().map((rule) => [rule.name, rule]))
  return [...rules.values()].map((rule) => {
    const read = rule.name.endsWith('*')
      ? // No name has that character, so only prefixes answer.
        indexes.some((index) => index.evaluate(rule.name.slice(0, -1) + '\0').kind === 'allowed')
      : lists.some((env) => rule.name in buildEnvironment({ fs: [], net: [], env }, { [rule.name]: '' }))
    return { ...rule, read }
  })
}

function unionOfCommands(tables: readonly AccessPolicy['commands'][]): AccessPolicy['commands'] {
  const all = tables.filter((table) => table !== undefined)
  if (all.length < tables.length) return undefined // one of them allows any
  const programs = new Set(all.flatMap((table) => Object.keys(table)))
  return Object.fromEntries(
    [...programs].map((program) => {
      const rules = all.flatMap((table) => table[program] ?? [])
      const args = rules.some((rule) => rule.args === undefined)
        ? undefined
        : rules.flatMap((rule) => rule.args!)
      const envs = rules.flatMap((rule) => rule.envs ?? [])
      return [program, { ...(args ? { args } : {}), ...(envs.length > 0 ? { envs } : {}) }]
    }),
  )
}
