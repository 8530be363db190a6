import { formatOrigin, type LoadedConfig } from '@cordon/config'
import { type AccessPolicy, CordonError } from '@cordon/policy'
import { PLAIN, type Subject, subjectsOf } from '../compile/subject.ts'
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
  /** The sandbox is off or weaker than it could be, and who said so. Never to be kept from the person. */
  readonly alarms: readonly string[]
}

export async function choosePolicy(
  options: ProjectOptions,
  compiler: Compiler,
  choice: PolicyChoice,
  flags: AccessFlags,
): Promise<Chosen> {
  // An empty list declares nothing, and makes the profile known, so that it compiles to the defaults.
  const plain = {
    layer: 'flags',
    label: PLAIN,
    key: [...keyOf({ kind: 'default' }), 'fs'],
    value: [],
  } as const
  const project = openAmbientProject({
    ...options,
    flags: ({ root }) => [...flagSources(flags, keyOf(choice), { root, cwd: options.cwd }), plain],
  })
  const { config } = project.loaded
  refuseForeignDefault(project.loaded)
  const candidates = subjectsOf(config).filter(
    (each) =>
      (each.kind === 'profile') !== (choice.kind === 'tool') &&
      (choice.kind === 'default') === (each.name === PLAIN),
  )
  const { kind, name } = findSubject(
    config,
    candidates,
    choice.kind === 'default' ? PLAIN : choice.name,
    choice.kind === 'tool' ? 'tool or server' : 'profile',
  )
  const only = (subject: Subject): boolean => subject.kind === kind && subject.name === name
  const { bySubject, warnings } = await compileProject(project, compiler, only)
  const [[subject, policy] = never()] = bySubject
  return { project, subject, policy, warnings, alarms: alarmsOf(project.loaded) }
}

/**
 * A checked-out repository brings its own configuration, and any text can be a TOML key. What a person did not ask
 * for by name must not be changed by it, so nobody but our flags may speak of the default's profile.
 */
function refuseForeignDefault({ explain }: LoadedConfig): void {
  for (const axis of ['fs', 'net', 'env', 'commands']) {
    const found = explain(['profiles', PLAIN, 'access', axis])
    const origins = found ? [found, ...(found.elements ?? [])].map(({ origin }) => origin) : []
    const foreign = origins.find(({ layer }) => layer !== 'flags')
    if (foreign) throw new ReservedNameError(formatOrigin(foreign))
  }
}

class ReservedNameError extends CordonError {
  readonly code = 'RESERVED_NAME'
  constructor(origin: string) {
    super(
      `${origin}: the profile "${PLAIN}" is what the command has without --profile; give yours another name`,
    )
  }
}

/** Layers that come with the files of a workspace, so from whoever wrote them. */
const CHECKED_OUT: readonly string[] = ['workspace', 'directory']

function alarmsOf({ config, explain }: LoadedConfig): string[] {
  const origin = explain(['sandbox', 'mode'])?.origin
  if (config.sandbox.mode === 'enforce' || !origin) return []
  const written = `sandbox.mode = "${config.sandbox.mode}" at ${formatOrigin(origin)}`
  const foreign = CHECKED_OUT.includes(origin.layer)
  if (config.sandbox.mode === 'off')
    return [
      foreign
        ? `THE WORKSPACE'S OWN FILES switch the sandbox off (${written}): the command runs with all your rights`
        : `the sandbox is off (${written}): the command runs with all your rights`,
    ]
  return foreign
    ? [`the workspace's own files let commands run without what cannot be held (${written})`]
    : []
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
