import { formatKeyPath } from '@cordon/config'
import { CordonError, guardedName, setCommand } from '@cordon/policy'
import { trailOf } from '@cordon/workspace'
import { isGuardedOutside, writesGuarded } from '../compile/guard.ts'
import { SENSITIVE, sensitivePattern } from '../compile/sensitive.ts'
import type { Subject } from '../compile/subject.ts'
import type { Hint, OutsidePlace } from '../confine/hints.ts'
import { relativeToRoot } from '../outside/place.ts'
import type { Policies } from '../policies.ts'
import type { Project } from '../project.ts'
import type { RunPlace } from '../why/enforced.ts'
import type { Edit } from '../why/fix.ts'
import type { Question } from '../why/question.ts'
import { why } from '../why/why.ts'
import { reachRecipe, type Recipe, recipeLines } from './reach.ts'

/** In the person's own file for this workspace: what a server needs here is nobody else's business. */
export const GRANT_LAYER = 'user-workspace'

export interface GrantWorld {
  readonly project: Project
  readonly policies: Policies
  readonly place: Pick<RunPlace, 'home' | 'env'>
}

/** SPEC 5.2: whose access it is, the server's or the called tool's. */
export type Grantee = Pick<Subject, 'kind' | 'name'> & {
  /** Of a tool: `mcp.SERVER.TOOL`. */
  readonly source?: string
}

const subjectFor = ({ kind, name }: Grantee, { bySubject }: Policies): Subject | undefined =>
  [...bySubject.keys()].find((each) => each.kind === kind && each.name === name)

/**
 * SPEC 4.10: a guess from what a server says. Where it is about writing what is guarded, that is said, and nothing that would
 * allow it: by a rule that names the path, the guard is lifted.
 */
export function withoutGuarded(hint: Hint, project: GrantWorld['project']): Hint {
  const { question, place, ...rest } = hint
  const guarded = [
    ...(question && writesGuarded(question, project) ? [question.target] : []),
    ...(place && isGuardedPlace(place, project) ? [place.path] : []),
  ]
  return guarded[0] === undefined ? hint : { ...rest, text: guardedName(guarded[0]), fix: undefined }
}

const isGuardedPlace = ({ path, wanted }: OutsidePlace, { guard }: Project): boolean =>
  wanted === 'write' && isGuardedOutside(trailOf('/', path).at(-1)?.path ?? path, guard)

/**
 * What would allow it, tried in memory; undefined when nothing does, or a rule's own words are needed for it. What is guarded
 * is not opened because a server asks for it.
 */
export function editAllowing(
  question: Question,
  { kind, name }: Grantee,
  { project, policies, place }: GrantWorld,
): Pick<Edit, 'key' | 'value'> | undefined {
  const subject = subjectFor({ kind, name }, policies)
  if (!subject || writesGuarded(question, project)) return undefined
  try {
    const { fix } = why(project, policies, name, question, { cwd: project.root.path, ...place })
    // Of a tool and a server with one name, `why` answers for the tool.
    return fix?.key === formatKeyPath([...subject.key, question.axis])
      ? { key: fix.key, value: fix.value }
      : undefined
  } catch (error) {
    if (error instanceof CordonError) return undefined // a question that no rule answers
    throw error
  }
}

/**
 * SPEC 5.4: the same as lines with what to paste; none where nothing would help. What a server prints leads to no command that opens a place where secrets live
 * (SPEC 4.9).
 */
export function grantRecipe(
  { question, place }: Wish,
  grantee: Grantee,
  world: GrantWorld,
): readonly string[] {
  if (!place && !question) return []
  const { source } = grantee
  if (source !== undefined && !subjectFor(grantee, world.policies)) {
    const key = formatKeyPath(['conversation', 'tools', grantee.name, 'source'])
    const entry = setCommand({ key, value: source, layer: GRANT_LAYER })
    return ['  to allow it, the tool needs an entry of its own first:', `    ${entry}`]
  }
  if (!question) {
    const recipe = place && placeRecipe(place, grantee, world)
    return recipe ? recipeLines(recipe) : []
  }
  if (opensSecret(question, world)) return []
  const edit = editAllowing(question, grantee, world)
  return edit ? ['  to allow it:', `    ${setCommand({ ...edit, layer: GRANT_LAYER })}`] : []
}

/** What was refused: something that a rule decides, or a place outside. */
export type Wish = Pick<Hint, 'question' | 'place'>

/** SPEC 4.9: whether the rule that would allow it opens a place where secrets live. */
export const opensSecret = (
  { axis, target }: Question,
  world: Pick<GrantWorld, 'project' | 'place'>,
): boolean => axis === 'fs' && isSensitive(`/${target}`, world.project.root.path, world)

const isSensitive = (
  path: string,
  root: string,
  { project, place }: Pick<GrantWorld, 'project' | 'place'>,
): boolean => {
  const patterns = [...SENSITIVE, ...project.loaded.config.sandbox.sensitive]
  return sensitivePattern({ path: relativeToRoot(path) }, { patterns, home: place.home, root }) !== undefined
}

/** Undefined where nothing is suggested: what may be secret, and what is guarded. */
export function placeRecipe(outside: OutsidePlace, grantee: Grantee, world: GrantWorld): Recipe | undefined {
  const { project, policies, place } = world
  const subject = subjectFor(grantee, policies)
  if (!subject || isSensitive(outside.path, '/', world) || isGuardedPlace(outside, project)) return undefined
  const { providers, conversation } = project.loaded.config
  const access =
    grantee.kind === 'server' ? providers.mcp[grantee.name]?.access : conversation.tools[grantee.name]?.access
  const facts = { root: project.root.path, home: place.home, hasRules: (access?.fs.length ?? 0) > 0 }
  return reachRecipe(formatKeyPath(subject.key), [outside], facts)
}
