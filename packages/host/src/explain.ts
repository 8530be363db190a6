import { cooperativeHoldings, type Holding } from './holders.ts'
import { type Policies } from './policies.ts'
import { type Project } from './project.ts'
import { findSubject } from './why/find-subject.ts'

/** SPEC 4.7, `policy explain`: one subject and who holds each of its rules. */
export interface PolicyView {
  readonly subject: string
  readonly holdings: readonly Holding[]
}

export function explainPolicies({ loaded }: Project, { bySubject }: Policies, name?: string): PolicyView[] {
  const subjects = [...bySubject.keys()]
  const wanted = name === undefined ? subjects : [findSubject(loaded.config, subjects, name)]
  return wanted.map((subject) => ({
    subject: `${subject.kind} ${subject.name}`,
    holdings: cooperativeHoldings(bySubject.get(subject)!),
  }))
}
