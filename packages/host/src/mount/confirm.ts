import { show } from '@cordon/policy'
import type { Person } from '../approve/approve.ts'
import type { MountPlan, MountStep } from './plan.ts'

export interface MountAudience {
  /** Undefined: nobody can be asked. Then the list is told, and typing the mount was the consent (SPEC 3.3). */
  readonly person: Person | undefined
  readonly tell: (text: string) => void
}

/** SPEC 3.3: a mount for all tools shows which those are, and asks. Naming one tool is its own confirmation. */
export async function confirmMounts({ steps }: MountPlan, { person, tell }: MountAudience): Promise<boolean> {
  for (const step of steps) {
    if (step.kind !== 'mount' || step.scope === 'one tool') continue
    if (step.added.length === 0 && step.link === 'keep') continue // it is all there already
    if (!person) tell(scopeText(step))
    else if (!(await person.confirms(`${scopeText(step)}\nGrant it to these tools? [y/N] `))) return false
  }
  return true
}

const scopeText = ({ name, target, tools, narrowed }: MountStep): string =>
  `Mount ${show(name)} → ${show(target)}, read-only, for all enabled local tools:

${tools.map((tool) => `  ${show(tool)}${narrowed.includes(tool) ? ' (could write there until now)' : ''}\n`).join('')}`
