import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Config } from '@cordon/config'
import { below, type Capability, FsIndex, mountCommand, type RelPath, shellWord, show } from '@cordon/policy'
import { isInSystem, type KernelReport, nameOf, scratchAround } from '@cordon/sandbox'
import { isShipped } from '../compile/boundary.ts'
import { WRITING } from '../compile/names.ts'
import { isSecretRule, WHY_SECRET } from '../compile/own-secrets.ts'
import { labelOf, type Subject, subjectsOf } from '../compile/subject.ts'
import { absolutePath, isForAll, relativeToRoot, typedPath, WITHHELD } from '../outside/place.ts'
import { isMountable } from '../mount/grammar.ts'
import { SHIPPED_NAMES } from '../profiles/shipped.ts'
import type { Project } from '../project.ts'
import type { Chosen } from '../run/choose.ts'
import { EVERYTHING } from '../outside/rules.ts'
import { type Answer, guarded } from './answer.ts'
import type { RunPlace } from './enforced.ts'
import { findSubject } from './find-subject.ts'
import { toldNotHeld } from './not-held.ts'
import type { Question } from './question.ts'
import type { Why } from './why.ts'

type FsQuestion = Question & { readonly axis: 'fs' }

/** Outside the workspace a policy has no rules. There are the places that this command has, the system, and what is private to it. */
export function answerOutside(
  { outside, replaced }: Pick<Chosen, 'outside' | 'replaced'>,
  question: FsQuestion,
  named: string,
  { home, kernel }: { readonly home: string; readonly kernel: () => KernelReport },
): Answer {
  const { capability } = question
  const path = realOf(named)
  const rule = new FsIndex(outside).governing(relativeToRoot(path))
  const found = { question, canonical: path, others: [], rule: rule && ({ axis: 'fs', rule } as const) }
  if (rule) {
    const allowed = rule.grants.has(capability)
    const said = `${show(rule.origin ?? nameOf(rule))} ${allowed ? 'grants' : 'does not grant'} ${capability}`
    const isGuarded = rule.guard !== undefined && WRITING.has(capability)
    const because = isSecretRule(rule) ? WHY_SECRET : isGuarded ? guarded(rule) : said
    return toldNotHeld({ ...found, allowed, because }, { fs: outside }, EVERYTHING)
  }
  if (capability !== 'execute' && replaced.some((file) => file.path === path))
    return { ...found, allowed: true, because: 'it is copied in, and written back at the end if it changed' }
  const ofSystem = whatSystemGives(capability, path)
  if (ofSystem) return { ...found, ...ofSystem }
  // A flag grants what exists; the directory around what does not would be more than was asked for.
  if (!WRITING.has(capability) && !existsSync(path))
    return { ...found, allowed: false, because: 'it does not exist' }
  // Without namespaces there is no other home or /tmp than the host's, and none of it is granted.
  const own = kernel().newRoot === 'works' ? privatePlace(path, home) : undefined
  if (own === undefined) return { ...found, allowed: false, because: OUTSIDE }
  // It is empty at first, so a name is free there, and what the command makes is its own.
  const isOwn = capability === 'create' || (WRITING.has(capability) && !existsSync(path))
  return isOwn
    ? {
        ...found,
        allowed: true,
        because: `the ${own} inside is private: what is made there is gone at the end`,
      }
    : { ...found, allowed: false, because: `${OUTSIDE}; the ${own} inside is private and empty` }
}

const OUTSIDE = 'it lies outside the workspace'

/** SPEC 4.3: what every program is shown of the system; undefined: the path is no part of it, or it is about writing. */
function whatSystemGives(
  capability: Capability,
  path: string,
): Pick<Answer, 'allowed' | 'because'> | undefined {
  if (WRITING.has(capability) || !isInSystem(path)) return undefined
  return isForAll(path)
    ? { allowed: true, because: 'it is part of the system: what every user may read, every program may' }
    : { allowed: false, because: WITHHELD }
}

const privatePlace = (path: string, home: string): string | undefined =>
  below(realOf(home), path) === undefined ? scratchAround(path) : 'home'

/** What a flag would name: what exists, or the directory that something would be made in. Undefined: no flag would help. */
export function flagPlace(capability: Capability, path: string): string | undefined {
  if (existsSync(path)) return isInSystem(path) && !WRITING.has(capability) ? undefined : path
  if (capability !== 'create' && capability !== 'update') return undefined
  return path === '/' ? undefined : flagPlace(capability, dirname(path))
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
  if (!Object.hasOwn(config.profiles, name) || question?.axis !== 'fs') return false
  return below(root.path, absolutePath(question.target, place), root.foldCase) === undefined
}

/**
 * A tool's question about a path that was named from the root or the home: the same one below the workspace, or the
 * answer, where it lies elsewhere.
 */
export function asAsked(
  question: Question,
  name: string,
  { root, loaded }: Pick<Project, 'root' | 'loaded'>,
  place: RunPlace,
): Question | Why {
  if (question.axis !== 'fs' || !/^(?:\/|~(?:\/|$))/.test(question.target)) return question
  const path = absolutePath(question.target, place)
  const inside: RelPath | undefined = below(root.path, path, root.foldCase)
  const { config } = loaded
  const subject = findSubject(config, subjectsOf(config), name)
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
  const ofSystem = isShipped(config, subject) ? undefined : whatSystemGives(question.capability, realOf(path))
  if (ofSystem) return { ...found, canonical: realOf(path), ...ofSystem }
  return {
    ...found,
    allowed: false,
    canonical: undefined,
    because: `${OUTSIDE}, where a tool gets only by a mount`,
    ...(existsSync(path) && canMount(subject, config)
      ? { command: commandFor(subject, question.capability, path, place) }
      : {}),
  }
}

/** As `mount add` takes it: a tool that is a program of its own. */
const canMount = ({ kind, name }: Pick<Subject, 'kind' | 'name'>, { conversation }: Config): boolean =>
  kind === 'tool' && conversation.tools[name]?.source.kind === 'local' && isMountable(name)

/** For that tool alone: it is the least. */
const commandFor = (
  { name }: Pick<Subject, 'name'>,
  capability: Capability,
  path: string,
  { home }: RunPlace,
): string =>
  mountCommand({
    tool: name,
    name: basename(join(path)),
    target: typedPath(path, home),
    mode: WRITING.has(capability) ? 'rw' : 'ro',
  })
