import type { LoadedConfig, SandboxConfig } from '@cordon/config'
import { type AccessPolicy, CordonError } from '@cordon/policy'
import { buildEnvironment, findProgram, type OutsideRule } from '@cordon/sandbox'
import { labelOf, PLAIN, type Subject, subjectsOf } from '../compile/subject.ts'
import { unionOf, unionOfFs } from '../compile/union.ts'
import { sandboxOff } from '../confine/sandbox-off.ts'
import { confirmLed, describeLed, type LedPlace, ledPlaces, unconfirmed } from '../outside/led.ts'
import { ledElsewhere, placeOrigin } from '../outside/place.ts'
import { profilePlaces, type ReplacedFile } from '../outside/profile.ts'
import { guardOf } from '../compile/guard.ts'
import { guardOutside } from '../outside/rules.ts'
import { confirmOutside } from '../outside/secrets.ts'
import { gitDirectoryRule } from '../outside/git-directory.ts'
import { compileProject, type Compiler, makeOwnPlaces, unseenBy } from '../policies.ts'
import { SHIPPED_NAMES, shippedProfiles } from '../profiles/shipped.ts'
import { openAmbientProject, type Project, type ProjectOptions } from '../project.ts'
import { findSubject } from '../why/find-subject.ts'
import { type AccessFlags, flagPaths, flagSources } from './flags.ts'

/** Under whose policy `cordon run` runs (SPEC 4.8). */
export type PolicyChoice =
  | { readonly kind: 'default' }
  | { readonly kind: 'tool'; readonly name: string }
  | { readonly kind: 'profiles'; readonly names: readonly [string, ...string[]] }

/** All that one command is granted. */
export interface Chosen {
  readonly project: Project
  /** For people: `this command`, `tool x`, `profile a and profile b`. */
  readonly label: string
  readonly policy: AccessPolicy
  /** Places outside the workspace, with what is guarded in them. */
  readonly outside: readonly OutsideRule[]
  /** Files that are copied in, and written back. */
  readonly replaced: readonly ReplacedFile[]
  /** As configured, with what a profile says of unix sockets (SPEC 4.5). */
  readonly sandbox: SandboxConfig
  readonly warnings: readonly string[]
  /** The sandbox is off or weaker than it could be, and who said so. Never to be kept from the person. */
  readonly alarms: readonly string[]
}

/** `ask`: nothing is started, made or confirmed. */
export type Purpose = 'ask' | { readonly program: string }

export async function choosePolicy(
  options: ProjectOptions,
  compiler: Compiler,
  choice: PolicyChoice,
  flags: AccessFlags,
  purpose: Purpose,
): Promise<Chosen> {
  const project = await openAmbientProject({
    ...options,
    shipped: choice.kind === 'profiles' ? shippedProfiles(choice.names) : [],
    flags: () => [...flagSources(flags, keyOf(choice)), PLAIN_SOURCE],
  })
  const { loaded, guard, root, workspace } = project
  const wanted = subjectsFor(loaded, choice)
  const isWanted = (subject: Subject): boolean =>
    wanted.some(({ kind, name }) => subject.kind === kind && subject.name === name)
  const { unfinished } = workspace
  const standing = { root: root.path, cwd: options.cwd, home: compiler.home, guard, unfinished }
  const typed = flagPaths(flags, standing)
  const { bySubject, warnings } = await compileProject(project, compiler, {
    only: isWanted,
    typed: typed.rules,
  })
  const policies = [...bySubject.values()]
  const policy = unionOf(policies)
  // SPEC 4.8: each compiles alone, under the guard, and the command has what any of them grants.
  const profiles = wanted.flatMap(({ kind, name }) =>
    kind === 'profile' ? (loaded.config.profiles[name] ?? []) : [],
  )
  const led = profiles.flatMap(({ outside }) => ledPlaces(outside, standing))
  if (purpose !== 'ask') await confirmLed(led, options.surroundings, compiler.person)
  const missing = purpose === 'ask' ? 'as if made' : isFound(purpose, options, policy) ? 'make' : 'leave'
  const ofProfiles = profiles.map(({ outside }) => profilePlaces(outside, led, standing, missing))
  const gitDirectory =
    options.unmarked === 'here' ? undefined : gitDirectoryRule(root.path, policies, options.surroundings)
  const asked = await confirmOutside(
    {
      typed: typed.outside,
      configured: ofProfiles.map(({ rules }) => rules),
      shipped: shippedOrigins(loaded, wanted),
    },
    project,
    compiler,
  )
  const guarded = guardOf(project, loaded, 'granted')
  const outside = unionOfFs(
    [...asked.lists, gitDirectory ? [gitDirectory] : []].map((rules) => guardOutside(rules, guarded)),
  )
  makeOwnPlaces(project, outside)
  return {
    project,
    label: wanted.map(labelOf).join(' and '),
    policy,
    outside,
    replaced: ofProfiles.flatMap(({ replaced }) => replaced),
    sandbox: profiles.some(({ unixSockets }) => unixSockets === 'private')
      ? { ...loaded.config.sandbox, unix_sockets: 'private' }
      : loaded.config.sandbox,
    warnings: [...warnings, ...unseenBy(guard), ...asked.warnings],
    alarms: [
      ...project.notices,
      ...sandboxOff(loaded, 'the command runs'),
      // What is granted is not what was typed, and a command before may have made the link.
      ...typed.outside.flatMap((rule) => ledElsewhere(rule) ?? []),
      ...(purpose === 'ask' ? unconfirmed(led, options.surroundings).map(describeUnconfirmed) : []),
    ],
  }
}

/** As the plan will look for it. Where it is not found that is said then, and nothing was made for it. */
function isFound(
  { program }: Exclude<Purpose, 'ask'>,
  { cwd, surroundings: { env } }: ProjectOptions,
  policy: AccessPolicy,
): boolean {
  const path = buildEnvironment(policy, env)['PATH'] ?? env['PATH'] ?? ''
  try {
    findProgram(program, cwd, path)
    return true
  } catch (error) {
    if (error instanceof CordonError) return false
    throw error
  }
}

const describeUnconfirmed = (place: LedPlace): string =>
  `${describeLed(place)}; before it is granted, a person is asked`

const shippedOrigins = ({ config, origin }: LoadedConfig, wanted: readonly Subject[]): ReadonlySet<string> =>
  new Set(
    wanted.flatMap(({ kind, name }) =>
      (kind === 'profile' ? (config.profiles[name]?.outside ?? []) : [])
        .filter((_, at) => origin(['profiles', name, 'outside', at])?.layer === 'built-in')
        .map(placeOrigin),
    ),
  )

/** An empty list declares nothing, and makes the profile known, so that it compiles to the defaults. */
const PLAIN_SOURCE = {
  layer: 'flags',
  label: PLAIN,
  key: ['profiles', PLAIN, 'access', 'fs'],
  value: [],
} as const

function subjectsFor({ config, origin }: LoadedConfig, choice: PolicyChoice): readonly Subject[] {
  const subjects = subjectsOf(config)
  switch (choice.kind) {
    case 'default':
      return subjects.filter(({ kind, name }) => kind === 'profile' && name === PLAIN)
    case 'tool': {
      const runnable = subjects.filter(({ kind }) => kind !== 'profile')
      return [findSubject(config, runnable, choice.name, 'tool or server')]
    }
    case 'profiles': {
      // A table's origin is who wrote it first: a flag adds to a profile, and does not make one of a mistyped name.
      const profiles = subjects.filter(
        ({ kind, name }) => kind === 'profile' && origin(['profiles', name])?.layer !== 'flags',
      )
      return [...new Set(choice.names)].map((name) =>
        findSubject(config, profiles, name, 'profile', SHIPPED_NAMES),
      )
    }
  }
}

/** What flags say of hosts and variables is one profile's: the command has what any of them grants. */
function keyOf(choice: PolicyChoice): readonly string[] {
  switch (choice.kind) {
    case 'default':
      return ['profiles', PLAIN, 'access']
    case 'tool':
      return ['conversation', 'tools', choice.name, 'access']
    case 'profiles':
      return ['profiles', choice.names[0], 'access']
  }
}
