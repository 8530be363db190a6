import { formatKeyPath, formatValue, setValue, type Source } from '@cordon/config'
import {
  type Capability,
  CordonError,
  DEFAULT_PORTS,
  type FsRule,
  type NetRule,
  parseNetTarget,
  parseRelPath,
  splitEntry,
} from '@cordon/policy'
import { type Subject } from '../compile/subject.ts'
import { type EditableLayer } from '../project.ts'
import { textOf, withText } from '../sources.ts'
import { type Answer } from './answer.ts'

/** An edit that was tried in memory and makes the same question answer "allow". */
export interface Edit {
  readonly layer: EditableLayer
  readonly key: string
  /** As `cordon config set` takes it. */
  readonly value: string
}

export interface EditWorld {
  readonly sources: readonly Source[]
  /** Asks the same question again under other sources. */
  readonly ask: (sources: readonly Source[]) => Answer
}

/**
 * SPEC 4.7: the edit that would change the answer. Layers after the one that is edited can still override
 * it, so each candidate is tried before it is suggested. Undefined when no edit of a file can do it.
 */
export function findEdit(answer: Answer, subject: Subject, { sources, ask }: EditWorld): Edit | undefined {
  const key = [...subject.key, answer.question.axis]
  for (const rule of candidates(answer)) {
    for (const layer of EDITED) {
      const edit = { layer, key: formatKeyPath(key), value: `+${formatValue(rule)}` }
      if (works(edit, sources, ask)) return edit
    }
  }
  return undefined
}

/** In the order in which a person would prefer to write it: shared, then their own for this workspace. */
const EDITED = ['workspace', 'user-workspace'] as const satisfies readonly EditableLayer[]

function works({ layer, key, value }: Edit, sources: readonly Source[], ask: EditWorld['ask']): boolean {
  try {
    return ask(withText(sources, layer, setValue(textOf(sources, layer), key, value))).allowed
  } catch (error) {
    // The edit does not fit that file, or the policy no longer compiles with it: not a fix.
    if (error instanceof CordonError) return false
    throw error
  }
}

type RuleData = Record<string, string | number | boolean>

/** Rules that would allow it, the narrowest first. Which of them really does is found out by trying. */
function candidates({ question, canonical, rule }: Answer): RuleData[] {
  if (canonical === undefined) return [] // no rule can grant what lies outside
  switch (question.axis) {
    case 'fs':
      return fsCandidates(question.capability, canonical, rule?.axis === 'fs' ? rule.rule : undefined)
    case 'net':
      return [netCandidate(question.target, rule?.axis === 'net' ? rule.rule : undefined)]
    case 'env':
      return [{ name: canonical, read: true }]
  }
}

function fsCandidates(want: Capability, canonical: string, rule: FsRule | undefined): RuleData[] {
  // Rules inherit nothing (SPEC 1.1), so the new one restates what the deciding one granted.
  const grants = Object.fromEntries([...new Set([...(rule?.grants ?? []), want])].map((name) => [name, true]))
  // Within a mount only a rule at the mount point itself rides on the approval that was given.
  if (rule?.external)
    return rule.approvedTarget === undefined ? [] : [{ path: rule.path, external: true, ...grants }]
  return upwards(canonical).map((path) => ({ path, ...grants }))
}

/** A rule on a link speaks of the link's target; to delete the link itself, its directory must grant it. */
function upwards(path: string): string[] {
  const parent = splitEntry(parseRelPath(path))?.parent
  return parent === undefined ? [path] : [path, ...upwards(parent)]
}

function netCandidate(url: string, rule: NetRule | undefined): RuleData {
  const { scheme, host, port } = parseNetTarget(url)
  if (!rule)
    return { host, ...(port === DEFAULT_PORTS[scheme] || port === undefined ? {} : { port }), allow: true }
  // As specific as the rule that said no, and later: the last one wins a tie.
  return {
    host,
    ...(rule.scheme === undefined ? {} : { scheme: rule.scheme }),
    ...(rule.port === undefined ? {} : { port: rule.port }),
    ...(rule.pathPrefix === undefined ? {} : { path_prefix: rule.pathPrefix }),
    allow: true,
  }
}
