import { type Capability, show } from '@cordon/policy'
import type { Person } from '../approve/approve.ts'
import type { SessionMemory } from '../approve/session.ts'
import { grantKey } from '../compile/sensitive.ts'
import type { MountMode } from './grammar.ts'
import type { MountPlan, MountStep } from './plan.ts'

export interface MountAudience {
  /** Undefined: nobody can be asked. Then the list is told, and typing the mount was the consent (SPEC 3.3). */
  readonly person: Person | undefined
  readonly tell: (text: string, what: 'list' | 'warning') => void
}

/**
 * SPEC 3.3: a mount for all tools shows which those are, and asks. Naming one tool is its own confirmation; but where
 * secrets live (SPEC 4.9) it is said, and asked, whoever gets it (decision 0179).
 */
export async function confirmMounts({ steps }: MountPlan, { person, tell }: MountAudience): Promise<boolean> {
  for (const step of steps) {
    if (step.kind !== 'mount' || (step.added.length === 0 && step.link === 'keep')) continue // it is all there already
    const secrets = step.sensitive === undefined ? '' : `${secretsText(step)}\n`
    const scope = step.scope === 'one tool' ? '' : scopeText(step)
    if (secrets === '' && scope === '') continue
    const question = scope === '' ? 'Mount it? [y/N] ' : 'Grant it to these tools? [y/N] '
    if (!person) {
      if (secrets !== '') tell(`warning: ${secrets}`, 'warning')
      if (scope !== '') tell(scope, 'list')
    } else if (!(await person.confirms(`${secrets}${scope}\n${question}`))) return false
  }
  return true
}

/** What was confirmed here is not asked again in this session, when it is first used. */
export function rememberSecrets({ steps }: MountPlan, memory: SessionMemory): void {
  for (const step of steps)
    if (step.kind === 'mount' && step.sensitive !== undefined)
      for (const subject of step.added)
        memory.add(grantKey(subject, { path: step.name, grants: new Set(GRANTS[step.mode]) }))
}

const GRANTS: Readonly<Record<MountMode, readonly Capability[]>> = {
  ro: ['read'],
  rw: ['read', 'create', 'update', 'delete'],
}

const secretsText = ({ name, target, sensitive }: MountStep): string =>
  `${show(name)} → ${show(target)} is where secrets live (${sensitive})`

const scopeText = ({ name, target, tools, narrowed }: MountStep): string =>
  `Mount ${show(name)} → ${show(target)}, read-only, for all enabled local tools:

${tools.map((tool) => `  ${show(tool)}${narrowed.includes(tool) ? ' (could write there until now)' : ''}\n`).join('')}`
