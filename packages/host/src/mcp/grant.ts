import { formatKeyPath } from '@cordon/config'
import { CordonError, setCommand } from '@cordon/policy'
import { SENSITIVE, sensitivePattern } from '../compile/sensitive.ts'
import type { Subject } from '../compile/subject.ts'
import { relativeToRoot } from '../outside/place.ts'
import type { Policies } from '../policies.ts'
import type { Project } from '../project.ts'
import type { RunPlace } from '../why/enforced.ts'
import type { Edit } from '../why/fix.ts'
import type { Question } from '../why/question.ts'
import { why } from '../why/why.ts'

/** In the person's own file for this workspace: what a server needs here is nobody else's business. */
export const GRANT_LAYER = 'user-workspace'

export interface GrantWorld {
  readonly project: Project
  readonly policies: Policies
  readonly place: Pick<RunPlace, 'home' | 'env'>
}

/** SPEC 5.2: whose access it is, the server's or the called tool's. */
export type Grantee = Pick<Subject, 'kind' | 'name'>

/** What would allow it, tried in memory; undefined when nothing does, or a rule's own words are needed for it. */
export function editAllowing(
  question: Question,
  { kind, name }: Grantee,
  { project, policies, place }: GrantWorld,
): Pick<Edit, 'key' | 'value'> | undefined {
  const subject = [...policies.bySubject.keys()].find((each) => each.kind === kind && each.name === name)
  if (!subject) return undefined
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
 * SPEC 5.4: the same as a command to paste. What a server prints leads to no command that opens a place where secrets live
 * (SPEC 4.9).
 */
export function grantCommand(question: Question, grantee: Grantee, world: GrantWorld): string | undefined {
  const { project, place } = world
  const patterns = [...SENSITIVE, ...project.loaded.config.sandbox.sensitive]
  const where = { patterns, home: place.home, root: project.root.path }
  if (
    question.axis === 'fs' &&
    sensitivePattern({ path: relativeToRoot(`/${question.target}`) }, where) !== undefined
  )
    return undefined
  const edit = editAllowing(question, grantee, world)
  return edit && setCommand({ ...edit, layer: GRANT_LAYER })
}
