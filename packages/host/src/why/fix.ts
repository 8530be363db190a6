import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { formatKeyPath, LAYERS, setValue, type Source } from '@cordon/config'
import {
  below,
  type Capability,
  CordonError,
  type Edit as SetEdit,
  editFor,
  envRuleAllowing,
  formatRule,
  fsRulesAllowing,
  netRuleAllowing,
  parseRelPath,
  ROOT,
  type RuleData,
  setCommand,
  shellWord,
} from '@cordon/policy'
import type { Subject } from '../compile/subject.ts'
import { typedPath } from '../outside/place.ts'
import type { EditableLayer, Project } from '../project.ts'
import { textOf, withText } from '../config-file.ts'
import type { Answer } from './answer.ts'
import { askedPlace, wishFor } from './network.ts'

/** An edit that was tried in memory and makes the same question answer "allow". */
export interface Edit extends SetEdit {
  readonly layer: EditableLayer
  /** What has to be typed before it; undefined: nothing. */
  readonly first?: string
}

/** As the person types it. */
export const typedEdit = ({ key, value, layer, first = '' }: Edit): string =>
  `${first}${setCommand({ key, value, layer: layer === 'workspace' ? undefined : layer })}`

/** What the workspace keeps in itself needs a marked one: where none is, that comes first, at its root. */
export function markingFirst({ root, cwd }: Pick<Project, 'root' | 'cwd'>, home: string): string | undefined {
  if (existsSync(join(root.path, '.cordon'))) return undefined
  return `${root.path === cwd ? '' : `cd ${typedPath(root.path, home)} && `}cordon init && `
}

export interface EditTrial {
  readonly sources: readonly Source[]
  /** Asks the same question again under other sources; what the machine cannot enforce is no yes. */
  readonly ask: (sources: readonly Source[]) => Answer
}

/**
 * SPEC 4.7: the edit that would change the answer. Layers after the one that is edited can still override
 * it, so each candidate is tried before it is suggested. Undefined when no edit of a file can do it.
 */
export const findEdit = (answer: Answer, subject: Subject, { sources, ask }: EditTrial): Edit | undefined =>
  editsFor(answer, subject).find((edit) => works(edit, sources, ask))

/**
 * Why no edit of a file counts, where that is a later layer's doing: `mount rm` writes the whole list of a tool's rules into the
 * conversation. And what counts for one command. Undefined: edits would not help without that layer either.
 */
export function findOverride(
  answer: Answer,
  subject: Subject,
  { sources, ask }: EditTrial,
): { readonly by: string; readonly flag: string | undefined } | undefined {
  const isLater = ({ layer }: Source): boolean => LAYERS.indexOf(layer) > LAYERS.indexOf('user-workspace')
  const [later, earlier] = [sources.filter(isLater), sources.filter((source) => !isLater(source))]
  const edit = later.length > 0 && editsFor(answer, subject).find((each) => works(each, earlier, ask))
  if (!edit) return undefined
  const by = later.find((_, i) => !works(edit, [...earlier, ...later.slice(0, i + 1)], ask))
  const key = [...subject.key, answer.question.axis]
  const rule = candidates(answer).find((each) =>
    isAllowed(() => ask([...sources, { layer: 'command-line', label: '--cfg', key, value: [each] }])),
  )
  const flag = rule && `--cfg ${shellWord(`${formatKeyPath(key)}=[${formatRule(rule)}]`)}`
  return by && { by: by.label, flag }
}

/** What the plan says to the least edit, where the rules with it would allow it. Undefined: the rules would not either. */
export function findObstacle(
  answer: Answer,
  subject: Subject,
  { sources, ask }: EditTrial,
): { readonly rule: string; readonly because: string } | undefined {
  const [least] = candidates(answer)
  if (!least) return undefined
  const key = [...subject.key, answer.question.axis]
  const added: Source = { layer: 'command-line', label: 'edit', key, value: [least] }
  const tried = orNothing(() => ask([...sources, added]))
  // The rule that was tried answered, so what says no is no rule.
  const isDecided =
    tried?.rule?.axis === 'fs' && tried.rule.rule.grants.has(answer.question.capability as Capability)
  return tried && !tried.allowed && isDecided && tried.because !== answer.because
    ? { rule: formatRule(least), because: tried.because }
    : undefined
}

/** Every edit that could change it, the one that grants least first. */
export function editsFor(answer: Answer, subject: Subject): readonly Edit[] {
  const key = formatKeyPath([...subject.key, answer.question.axis])
  const isFirst = answer.question.axis === 'fs' && (subject.access?.fs ?? []).length === 0
  return candidates(answer).flatMap((rule) => {
    const edit = editFor(key, rule, isFirst ? 'default' : 'rules')
    return EDITED.map((layer) => ({ ...edit, layer }))
  })
}

/** In the order in which a person would prefer to write it: shared, then their own for this workspace. */
const EDITED = ['workspace', 'user-workspace'] as const satisfies readonly EditableLayer[]

const works = (edit: Edit, sources: readonly Source[], ask: EditTrial['ask']): boolean =>
  isAllowed(() => ask(edited(sources, edit)))

/** What the configuration is with it. */
export const edited = (sources: readonly Source[], { layer, key, value }: Edit): readonly Source[] =>
  withText(sources, layer, setValue(textOf(sources, layer), key, value))

const isAllowed = (ask: () => Answer): boolean => orNothing(ask)?.allowed ?? false

function orNothing(ask: () => Answer): Answer | undefined {
  try {
    return ask()
  } catch (error) {
    // The edit does not fit that file, or the policy no longer compiles with it: not a fix.
    if (error instanceof CordonError) return undefined
    throw error
  }
}

/** Rules that would allow it, the one that grants least first. */
function candidates({ question, canonical, isLink, rule, others }: Answer): readonly RuleData[] {
  if (canonical === undefined) return [] // no rule can grant what lies outside
  switch (question.axis) {
    case 'fs': {
      const rules = [...others, ...(rule ? [rule] : [])].flatMap((each) =>
        each.axis === 'fs' ? [each.rule] : [],
      )
      const decided = rule?.axis === 'fs' ? rule.rule : undefined
      const found = fsRulesAllowing({
        capability: question.capability,
        target: canonical,
        isLink,
        rule: decided,
        rules,
      })
      // A rule for the path as it was named shows the links on the way to it as well.
      const named = asNamed(question.target, canonical)
      return found.flatMap((each) => {
        const path = named(String(each['path']))
        return path === undefined ? [each] : [each, { ...each, path }]
      })
    }
    case 'net':
      return [
        netRuleAllowing(wishFor(askedPlace(question.target)), rule?.axis === 'net' ? rule.rule : undefined),
      ]
    case 'env':
      return [envRuleAllowing(canonical)]
  }
}

/** What a directory above a path was called on the way to it, or the path itself; undefined: the same, or it has no name there. */
function asNamed(target: string, canonical: string): (path: string) => string | undefined {
  const named = parseRelPath(target)
  return (path) => {
    const rest = below(path, canonical)
    if (named === canonical || rest === undefined) return undefined
    if (rest === ROOT) return named
    return named.endsWith(`/${rest}`) ? named.slice(0, -rest.length - 1) : undefined
  }
}
