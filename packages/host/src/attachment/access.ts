import type { Source } from '@cordon/config'
import { type AccessPolicy, setCommand } from '@cordon/policy'
import type { Subject } from '../compile/subject.ts'
import { compileProject, type Compiler } from '../policies.ts'
import type { Project } from '../project.ts'

/** Whose rules hold for what is fetched and run to be attached (decision 0111): `[profiles.attach.access]`. */
const PROFILE = 'attach'

/** Makes the profile known where nobody wrote it. An empty list declares nothing, so it compiles to the defaults. */
export const ATTACH_PROFILE: Source = {
  layer: 'flags',
  label: 'cordon attachment',
  key: ['profiles', PROFILE, 'access', 'fs'],
  value: [],
}

export interface AttachAccess {
  readonly policy: AccessPolicy
  readonly warnings: readonly string[]
}

/** The project was opened with `ATTACH_PROFILE` among its flags. */
export async function compileAttachAccess(project: Project, compiler: Compiler): Promise<AttachAccess> {
  const only = ({ kind, name }: Subject): boolean => kind === 'profile' && name === PROFILE
  const { bySubject, warnings } = await compileProject(project, compiler, { only })
  const [policy] = bySubject.values()
  if (!policy) throw new Error('the profile of attachments did not compile')
  return { policy, warnings }
}

/** The edit that grants it to this profile. */
export const grantToProfile = (rule: string): string =>
  setCommand({ key: `profiles.${PROFILE}.access.net`, value: `+${rule}` })
