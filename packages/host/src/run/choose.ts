import type { AccessPolicy } from '@cordon/policy'
import { type Subject, subjectsOf } from '../compile/subject.ts'
import { compileProject, type Compiler } from '../policies.ts'
import { openAmbientProject, type Project, type ProjectOptions } from '../project.ts'
import { findSubject } from '../why/find-subject.ts'
import { type AccessFlags, flagSources } from './flags.ts'

/** Under whose policy `cordon run` runs (SPEC 4.8). */
export type PolicyChoice =
  | { readonly kind: 'default' }
  | { readonly kind: 'tool'; readonly name: string }
  | { readonly kind: 'profile'; readonly name: string }

export interface Chosen {
  readonly project: Project
  readonly subject: Subject
  readonly policy: AccessPolicy
  readonly warnings: readonly string[]
}

/** The profile that flags without `--tool` or `--profile` build on. No TOML key can be mistaken for it. */
const PLAIN = 'cordon run'

export async function choosePolicy(
  options: ProjectOptions,
  compiler: Compiler,
  choice: PolicyChoice,
  flags: AccessFlags,
): Promise<Chosen> {
  const sources = flagSources(flags, keyOf(choice))
  // An empty list declares nothing, and makes the profile known, so that it compiles to the defaults.
  const plain = {
    layer: 'flags',
    label: PLAIN,
    key: [...keyOf({ kind: 'default' }), 'fs'],
    value: [],
  } as const
  const project = openAmbientProject({ ...options, flags: [...sources, plain] })
  const { config } = project.loaded
  const candidates = subjectsOf(config).filter(
    ({ kind }) => (kind === 'profile') !== (choice.kind === 'tool'),
  )
  const { kind, name } = findSubject(config, candidates, choice.kind === 'default' ? PLAIN : choice.name)
  const only = (subject: Subject): boolean => subject.kind === kind && subject.name === name
  const { bySubject, warnings } = await compileProject(project, { ...compiler, only })
  const [[subject, policy] = never()] = bySubject
  return { project, subject, policy, warnings }
}

/** The subject was found in the very list that is compiled. */
const never = (): never => {
  throw new Error('the chosen subject did not compile')
}

function keyOf(choice: PolicyChoice): readonly string[] {
  switch (choice.kind) {
    case 'default':
      return ['profiles', PLAIN, 'access']
    case 'tool':
      return ['conversation', 'tools', choice.name, 'access']
    case 'profile':
      return ['profiles', choice.name, 'access']
  }
}
