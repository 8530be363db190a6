import { mergeSources } from '@cordon/config'
import { compileWith, type Policies } from '../policies.ts'
import type { Project } from '../project.ts'
import { type Answer, answer } from './answer.ts'
import { labelOf } from '../compile/subject.ts'
import { findSubject } from './find-subject.ts'
import { type Edit, findEdit } from './fix.ts'
import type { Question } from './question.ts'

export interface Why extends Answer {
  readonly subject: string
  /** Undefined when it is allowed, or when no edit of a config file would allow it. */
  readonly fix: Edit | undefined
}

/** SPEC 4.7: answers the question, and when the answer is no, finds the edit that would change it. */
export function why(project: Project, policies: Policies, name: string, question: Question): Why {
  const subject = findSubject(project.loaded.config, [...policies.bySubject.keys()], name)
  const found = answer(project.root, policies.bySubject.get(subject)!, question)
  const subjectLabel = labelOf(subject)
  if (found.allowed) return { ...found, subject: subjectLabel, fix: undefined }
  const ask = (sources: Project['sources']): Answer => {
    const loaded = mergeSources(sources)
    const { bySubject } = compileWith(project.root, loaded, policies.approved)
    const same = findSubject(loaded.config, [...bySubject.keys()], name)
    return answer(project.root, bySubject.get(same)!, question)
  }
  return { ...found, subject: subjectLabel, fix: findEdit(found, subject, { sources: project.sources, ask }) }
}
