import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import {
  below,
  type Capability,
  FsIndex,
  type FsRule,
  joinRel,
  type RelPath,
  shellWord,
  show,
} from '@cordon/policy'
import { isInSystem, type KernelReport, nameOf, probeKernel } from '@cordon/sandbox'
import { isShipped } from '../compile/boundary.ts'
import { WRITING } from '../compile/names.ts'
import { isSecretRule, WHY_SECRET } from '../compile/own-secrets.ts'
import { labelOf, type Subject, subjectsOf } from '../compile/subject.ts'
import { absolutePath, relativeToRoot } from '../outside/place.ts'
import type { MountView } from '../mount/list.ts'
import { SHIPPED_NAMES } from '../profiles/shipped.ts'
import type { Project } from '../project.ts'
import type { Chosen } from '../run/choose.ts'
import { EVERYTHING } from '../outside/rules.ts'
import { type Answer, guarded } from './answer.ts'
import { RULED_BY_ITSELF, type RunPlace } from './enforced.ts'
import { findSubject } from './find-subject.ts'
import { canMount, type TypedMount, typedMount } from './mounts.ts'
import { whyNever } from './never.ts'
import { toldNotHeld } from './not-held.ts'
import { whyNotPermitted } from './permissions.ts'
import type { Question } from './question.ts'
import type { Why } from './why.ts'
import { type Bare, emptyInside, whatIsPrivate, whatKernelGives, whatSystemGives } from './without-rules.ts'

type FsQuestion = Question & { readonly axis: 'fs' }

/** Outside the workspace a policy has no rules. There are the places that this command has, the system, and what is private to it. */
export function answerOutside(
  { outside, replaced, project }: Pick<Chosen, 'outside' | 'replaced' | 'project'>,
  question: FsQuestion,
  named: string,
  { home, kernel }: { readonly home: string; readonly kernel: () => KernelReport },
): Answer {
  const { capability } = question
  const root = project.root.path
  const path = realOf(named)
  const rule = new FsIndex(outside).governing(relativeToRoot(path))
  const found = { question, canonical: path, others: [], rule: rule && ({ axis: 'fs', rule } as const) }
  if (rule) {
    const allowed = rule.grants.has(capability)
    const said = `${show(rule.origin ?? nameOf(rule))} ${allowed ? 'grants' : 'does not grant'} ${capability}`
    const isGuarded = rule.guard !== undefined && WRITING.has(capability)
    const because = isSecretRule(rule) ? WHY_SECRET : isGuarded ? guarded(rule) : said
    if (allowed && capability === 'delete' && isItsOwnPlace(rule, relativeToRoot(path), outside))
      return { ...found, allowed: false, because: RULED_BY_ITSELF }
    return toldNotHeld({ ...found, allowed, because }, { fs: outside }, EVERYTHING, kernel)
  }
  if (capability !== 'execute' && replaced.some((file) => file.path === path))
    return { ...found, allowed: true, because: 'it is copied in, and written back at the end if it changed' }
  const bare: Bare = {
    home: realOf(home),
    shown: [root, ...outside.filter(({ grants }) => grants.size > 0).map(nameOf)],
    hasNamespaces: kernel().newRoot === 'works',
  }
  const given = whatAllHave(capability, named, bare)
  if (given) return { ...found, ...given }
  // A flag grants what exists; the directory around what does not would be more than was asked for.
  if (!WRITING.has(capability) && !existsSync(path))
    return { ...found, allowed: false, because: 'it does not exist' }
  return { ...found, allowed: false, because: `${OUTSIDE}${emptyInside(path, bare)}` }
}

/** SPEC 4.3: what no rule has to grant, by the name it was asked for. */
function whatAllHave(
  capability: Capability,
  named: string,
  bare: Bare,
): Pick<Answer, 'allowed' | 'because' | 'canonical'> | undefined {
  const ofKernel = whatKernelGives(capability, named, bare)
  if (ofKernel) return { canonical: named, ...ofKernel }
  const path = realOf(named)
  const given = whatSystemGives(capability, path) ?? whatIsPrivate(capability, path, bare)
  return given && { canonical: path, ...given }
}

/** A mount point is not removed: that is for a rule of the directory above, unless both are one region. */
function isItsOwnPlace(rule: FsRule, path: RelPath, outside: readonly FsRule[]): boolean {
  const around =
    path === rule.path ? new FsIndex(outside).governing(relativeToRoot(dirname(`/${path}`))) : rule
  return around !== rule && !(around && isSameGrants(around, rule))
}

const isSameGrants = ({ grants }: FsRule, other: FsRule): boolean =>
  grants.size === other.grants.size && [...grants].every((each) => other.grants.has(each))

const OUTSIDE = 'it lies outside the workspace'

/** What a flag would name: what exists, or the directory that something is made in. Undefined: no flag would help. */
export function flagPlace(capability: Capability, path: string): string | undefined {
  // What a flag names outside is a mount point, and not removed: an entry goes with its directory.
  if (capability === 'delete') return existsSync(path) && path !== '/' ? dirname(path) : undefined
  return flagInside(capability, path)
}

/** The same in the workspace, where a flag makes a rule, and what has it may go. */
export function flagInside(capability: Capability, path: string): string | undefined {
  if (existsSync(path)) return isInSystem(path) && !WRITING.has(capability) ? undefined : path
  if (capability !== 'create' && capability !== 'update') return undefined
  return path === '/' ? undefined : flagInside(capability, dirname(path))
}

const realOf = (path: string): string => {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

/**
 * Whether `cordon run --profile` answers: of a shipped profile, which no file declares, and of places outside, which only a
 * profile has.
 */
export function isOfProfile(
  question: Question | undefined,
  name: string,
  { root, loaded }: Pick<Project, 'root' | 'loaded'>,
  place: Pick<RunPlace, 'cwd' | 'home'>,
): boolean {
  const { config } = loaded
  if (subjectsOf(config).some((subject) => subject.kind !== 'profile' && subject.name === name)) return false
  if (SHIPPED_NAMES.includes(name)) return true
  if (!Object.hasOwn(config.profiles, name)) return false
  // To explain it: its places outside are no rules of a policy.
  if (question === undefined) return (config.profiles[name]?.outside ?? []).length > 0
  if (question.axis !== 'fs') return false
  return below(root.path, absolutePath(question.target, place), root.foldCase) === undefined
}

/**
 * A tool's question about a path that was named from the root or the home: the same one below the workspace, or the
 * answer, where it lies elsewhere.
 */
export function asAsked(
  question: Question,
  name: string,
  project: Pick<Project, 'root' | 'cwd' | 'loaded'>,
  place: RunPlace & { readonly mounts: readonly MountView[] },
): Question | Why {
  const { root, loaded } = project
  if (question.axis !== 'fs' || !/^(?:\/|~(?:\/|$))/.test(question.target)) return question
  const path = absolutePath(question.target, place)
  const { config } = loaded
  const subject = findSubject(config, subjectsOf(config), name)
  const inside: RelPath | undefined =
    below(root.path, path, root.foldCase) ?? nameInMount(path, subject, place.mounts)
  const found = {
    question,
    subject: labelOf(subject),
    rule: undefined,
    others: [],
    notes: [],
    fix: undefined,
  }
  if (inside !== undefined && isShipped(config, subject))
    return {
      ...found,
      allowed: false,
      canonical: undefined,
      // SPEC 1.3; for a program that is not ours the kernel sees the place, however it is named.
      because: 'a shipped tool takes paths relative to the workspace, and refuses absolute ones',
      notes: [`as it has to be named: cordon why ${name} ${question.capability} ${shellWord(inside)}`],
    }
  if (inside !== undefined) return { ...question, target: inside }
  // Whatever is started reads what is installed; a tool of ours takes no path out of the workspace.
  const given = isShipped(config, subject)
    ? undefined
    : whatAllHave(question.capability, path, {
        home: realOf(place.home),
        shown: [root.path],
        hasNamespaces: probeKernel().newRoot === 'works',
      })
  if (given) return { ...found, ...given }
  const never = existsSync(path) ? whyNoMount(question, path, subject, project) : undefined
  const canHelp = existsSync(path) && never === undefined && canMount(subject, config)
  return {
    ...found,
    allowed: false,
    canonical: undefined,
    because: `${OUTSIDE}, where a tool gets only by a mount`,
    notes: [
      ...(never === undefined ? [] : [`no mount helps: ${never}`]),
      ...(canHelp && isShipped(config, subject)
        ? [`mounted, it has to be named ${show(mountName(path))}: the tool refuses absolute paths`]
        : []),
    ],
    ...(canHelp
      ? { command: typedMount(mountFor(subject, question.capability, path), { project, home: place.home }) }
      : {}),
  }
}

/** What a tool calls a place that one of its mounts leads to. */
function nameInMount(
  path: string,
  { name: tool }: Pick<Subject, 'name'>,
  mounts: readonly MountView[],
): RelPath | undefined {
  const real = realOf(path)
  for (const { name, target, tools, state } of mounts) {
    const rest = target === undefined || state !== 'ok' ? undefined : below(target, real)
    if (rest !== undefined && tools.includes(tool)) return joinRel(name, rest)
  }
  return undefined
}

/** Why a mount of what exists would be of no use to this tool; undefined: it would be. */
function whyNoMount(
  question: FsQuestion,
  path: string,
  subject: Subject,
  { root, loaded }: Pick<Project, 'root' | 'loaded'>,
): string | undefined {
  const { capability } = question
  const never = whyNever(
    { question, canonical: undefined, place: realOf(path) },
    subject,
    loaded.config,
    root,
  )
  return never ?? whyNotPermitted(capability, capability === 'delete' ? dirname(path) : path)
}

const mountName = (path: string): string => basename(join(path))

/** For that tool alone: it is the least. */
const mountFor = ({ name }: Pick<Subject, 'name'>, capability: Capability, path: string): TypedMount => ({
  tool: name,
  name: mountName(path),
  target: path,
  mode: WRITING.has(capability) ? 'rw' : 'ro',
})
