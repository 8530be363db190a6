import { type Config, formatKeyPath, LAYERS, type LoadedConfig } from '@cordon/config'
import { below, type Capability, type FsRule, type RelPath } from '@cordon/policy'
import type { Json, JsonObject } from '@cordon/workspace'
import { type Subject, subjectsOf } from '../compile/subject.ts'
import type { MountMode } from './grammar.ts'

/** A change of the conversation's layer, and whom it is about (decisions 0084 and 0085). */
export interface Delta {
  readonly delta: JsonObject
  readonly subjects: readonly SubjectRef[]
}

export type SubjectRef = Pick<Subject, 'kind' | 'name' | 'key'>

/**
 * SPEC 3.3: the rules that a mount adds for these tools. Pure, and idempotent: laid over the configuration that
 * it was made from, a second call finds nothing left to add.
 */
export function mountDelta(
  config: Config,
  tools: readonly string[],
  { name, mode }: { readonly name: RelPath; readonly mode: MountMode },
): Delta | undefined {
  const added = tools.filter((tool) => !hasMount(rulesOf(config, tool), name, mode))
  if (added.length === 0) return undefined
  const rule: JsonObject = {
    path: name,
    external: true,
    read: true,
    ...(mode === 'rw' ? { write: true } : {}),
  }
  const subjects = added.map((tool): SubjectRef => {
    return { kind: 'tool', name: tool, key: ['conversation', 'tools', tool, 'access'] }
  })
  const deltas = subjects.map(({ name: tool, key }) =>
    nest([...key, 'fs'], rulesOf(config, tool).length === 0 ? [WORKSPACE_AS_BEFORE, rule] : [rule]),
  )
  return { delta: deltas.reduce(overlay), subjects }
}

/** One rule makes the axis default-deny (SPEC 1.1), so what the tool had without any rule is written down first. */
const WORKSPACE_AS_BEFORE: JsonObject = { path: '.', read: true, write: true, execute: true }

const rulesOf = (config: Config, tool: string): readonly FsRule[] =>
  config.conversation.tools[tool]?.access?.fs ?? []

/** The last rule at a path wins, so it alone says what is granted there. */
function hasMount(rules: readonly FsRule[], name: RelPath, mode: MountMode): boolean {
  const last = rules.findLast(({ path }) => path === name)
  if (!last?.external || last.grants.size !== GRANTS[mode].size) return false
  return [...GRANTS[mode]].every((capability) => last.grants.has(capability))
}

const GRANTS: Readonly<Record<MountMode, ReadonlySet<Capability>>> = {
  ro: new Set(['read']),
  rw: new Set(['read', 'create', 'update', 'delete']),
}

/** What a tool may do under a mount that it has. */
export function mountedMode(config: Config, tool: string, name: RelPath): MountMode | undefined {
  const last = rulesOf(config, tool).findLast(({ path }) => path === name)
  return last?.external ? modeOf(last) : undefined
}

/** As it is shown: whether anything at all can be changed under it. */
export const modeOf = ({ grants }: Pick<FsRule, 'grants'>): MountMode =>
  (['create', 'update', 'delete'] as const).some((capability) => grants.has(capability)) ? 'rw' : 'ro'

/**
 * SPEC 3.4: for every subject with a mount at one of the names, its rules without those mounts, as a `replace`. Rules of
 * later layers (`--cfg`, flags) are not written down: they are not the conversation's.
 */
export function unmountDelta(loaded: LoadedConfig, names: ReadonlySet<RelPath>): Delta | undefined {
  const affected = subjectsOf(loaded.config).filter(({ access }) =>
    access?.fs.some((rule) => isMountAt(rule, names)),
  )
  if (affected.length === 0) return undefined
  const deltas = affected.map((subject) =>
    replaceRules(
      subject,
      writtenRules(loaded, subject).filter(({ rule }) => !isMountAt(rule, names)),
    ),
  )
  return { delta: deltas.reduce(overlay), subjects: affected }
}

/** Puts the rules of some subjects back to what they are in this configuration. */
export function restoringDelta(loaded: LoadedConfig, changed: readonly SubjectRef[]): JsonObject {
  const keys = new Set(changed.map(({ key }) => formatKeyPath(key)))
  return subjectsOf(loaded.config)
    .filter(({ key }) => keys.has(formatKeyPath(key)))
    .map((subject) => {
      const rules = writtenRules(loaded, subject)
      // Without any rule the defaults held; an empty list declares nothing (SPEC 1.1), so they hold again.
      return nest([...subject.key, 'fs'], { strategy: 'replace', value: rules.map(({ value }) => value) })
    })
    .reduce(overlay, {})
}

/** What lies below a mount is part of it: a narrower rule there has no meaning without the link. */
export const isMountAt = ({ external, path }: FsRule, names: ReadonlySet<RelPath>): boolean =>
  external && (names.has(path) || [...names].some((name) => below(name, path) !== undefined))

interface WrittenRule {
  readonly value: Json
  readonly rule: FsRule
}

/** As they were written, up to the conversation's layer. Elements and parsed rules are the same list. */
function writtenRules(loaded: LoadedConfig, { key, access }: Subject): WrittenRule[] {
  const elements = loaded.explain([...key, 'fs'])?.elements ?? []
  return elements.flatMap(({ value, origin }, i) => {
    const rule = access?.fs[i]
    const isLater = LAYERS.indexOf(origin.layer) > LAYERS.indexOf('conversation')
    return rule === undefined || isLater ? [] : [{ value: value as Json, rule }]
  })
}

/** SPEC 3.4: what is left may be nothing, and nothing must not become everything. */
const replaceRules = ({ key }: Subject, rules: readonly WrittenRule[]): JsonObject =>
  nest([...key, 'fs'], {
    strategy: 'replace',
    value: rules.length === 0 ? [{ path: '.' }] : rules.map(({ value }) => value),
  })

const nest = (key: readonly string[], value: Json): JsonObject =>
  key.reduceRight<Json>((inner, name) => ({ [name]: inner }), value) as JsonObject

/** Two tables as one. They speak of different subjects, so no list meets another. */
function overlay(a: JsonObject, b: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...a }
  for (const [name, value] of Object.entries(b)) {
    const before = Object.hasOwn(a, name) ? a[name] : undefined
    merged[name] = isTable(before) && isTable(value) ? overlay(before, value) : value
  }
  return merged
}

const isTable = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
