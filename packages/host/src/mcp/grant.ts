import { formatKeyPath } from '@cordon/config'
import { CordonError, guardedName, setCommand } from '@cordon/policy'
import { writesGuarded } from '../compile/guard.ts'
import { SENSITIVE, sensitivePattern } from '../compile/sensitive.ts'
import type { Subject } from '../compile/subject.ts'
import type { Hint, OutsidePlace } from '../confine/hint.ts'
import { relativeToRoot } from '../outside/place.ts'
import type { Policies } from '../policies.ts'
import type { Project } from '../project.ts'
import type { RunPlace } from '../why/enforced.ts'
import type { Edit } from '../why/fix.ts'
import type { Question } from '../why/question.ts'
import { why } from '../why/why.ts'
import { whyNotAsked } from './advised-host.ts'
import { whyNotAdvised } from './advised.ts'
import { reachRecipe, type Recipe, recipeLines } from './reach.ts'

/** In the person's own file for this workspace: what a server needs here is nobody else's business. */
export const GRANT_LAYER = 'user-workspace'

export interface GrantWorld {
  readonly project: Project
  readonly policies: Policies
  readonly place: Pick<RunPlace, 'home' | 'env'>
}

/** SPEC 5.2: whose access it is, the server's or the called tool's. */
export type Grantee =
  | { readonly kind: 'server'; readonly name: string }
  | {
      readonly kind: 'tool'
      readonly name: string
      /** Absent: the tool is a local one. */
      readonly of?: {
        readonly server: string
        /** `mcp.SERVER.TOOL`, for an entry that the tool may not have yet. */
        readonly source: string
      }
    }

const serverOf = (grantee: Grantee): string | undefined =>
  grantee.kind === 'server' ? grantee.name : grantee.of?.server

const subjectFor = (
  { kind, name }: Pick<Subject, 'kind' | 'name'>,
  { bySubject }: Policies,
): Subject | undefined => [...bySubject.keys()].find((each) => each.kind === kind && each.name === name)

/**
 * SPEC 4.10, 5.4: a guess from what a server says. Where it is about what no command of ours opens for a server, the reason is
 * said, and nothing that would allow it: by a rule that names the path, the guard is lifted.
 */
export function withoutForbidden(hint: Hint, grantee: Grantee, world: GrantWorld): Hint {
  const { question, place, ...rest } = hint
  if (question && writesGuarded(question, world.project))
    return { ...rest, text: guardedName(question.target), fix: undefined }
  const inner = question && serverOf(grantee) !== undefined ? whyNotAsked(question) : undefined
  if (inner !== undefined) return { ...rest, text: `${rest.text}; ${inner}`, fix: undefined }
  const not = place && whyNotAdvised(place, askingIn(grantee, world))
  if (!not) return hint
  return { ...rest, text: not.said === 'alone' ? not.reason : `${rest.text}; ${not.reason}`, fix: undefined }
}

const askingIn = (grantee: Grantee, { project, place }: Pick<GrantWorld, 'project' | 'place'>) => ({
  server: serverOf(grantee),
  project,
  home: place.home,
  path: place.env['PATH'],
})

/**
 * What would allow it, tried in memory; undefined when nothing does, or a rule's own words are needed for it. What is guarded,
 * or where secrets live (SPEC 4.9), is not opened because a server asks for it.
 */
export function editAllowing(
  question: Question,
  { kind, name }: Pick<Subject, 'kind' | 'name'>,
  { project, policies, place }: GrantWorld,
): Pick<Edit, 'key' | 'value'> | undefined {
  const subject = subjectFor({ kind, name }, policies)
  if (!subject || writesGuarded(question, project) || opensSecret(question, { project, place }))
    return undefined
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

/** SPEC 4.9: whether the rule that would allow it opens a place where secrets live. */
export function opensSecret(
  { axis, target }: Question,
  { project: { root, loaded }, place: { home } }: Pick<GrantWorld, 'project' | 'place'>,
): boolean {
  if (axis !== 'fs') return false
  const patterns = [...SENSITIVE, ...loaded.config.sandbox.sensitive]
  const path = relativeToRoot(`/${target}`)
  return sensitivePattern({ path }, { patterns, home, root: root.path }) !== undefined
}

/** SPEC 5.4: the same as lines with what to paste; none where nothing would help, or nothing is to be granted. */
export function grantRecipe(
  { question, place }: Wish,
  grantee: Grantee,
  world: GrantWorld,
): readonly string[] {
  if (!place && !question) return []
  if (place && whyNotAdvised(place, askingIn(grantee, world)) !== undefined) return []
  if (grantee.kind === 'tool' && grantee.of && !subjectFor(grantee, world.policies)) {
    const key = formatKeyPath(['conversation', 'tools', grantee.name, 'source'])
    const entry = setCommand({ key, value: grantee.of.source, layer: GRANT_LAYER })
    return ['  to allow it, the tool needs an entry of its own first:', `    ${entry}`]
  }
  if (!question) {
    const recipe = place && placeRecipe(place, grantee, world)
    return recipe ? recipeLines(recipe) : []
  }
  const edit = editAllowing(question, grantee, world)
  return edit ? ['  to allow it:', `    ${setCommand({ ...edit, layer: GRANT_LAYER })}`] : []
}

/** What was refused: something that a rule decides, or a place outside. */
export type Wish = Pick<Hint, 'question' | 'place'>

/** Undefined where nothing is suggested. */
export function placeRecipe(outside: OutsidePlace, grantee: Grantee, world: GrantWorld): Recipe | undefined {
  const { project, policies, place } = world
  const subject = subjectFor(grantee, policies)
  if (!subject || whyNotAdvised(outside, askingIn(grantee, world)) !== undefined) return undefined
  const { providers, conversation } = project.loaded.config
  const access =
    grantee.kind === 'server' ? providers.mcp[grantee.name]?.access : conversation.tools[grantee.name]?.access
  const facts = { root: project.root.path, home: place.home, hasRules: (access?.fs.length ?? 0) > 0 }
  return reachRecipe(formatKeyPath(subject.key), [outside], facts)
}
