import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import {
  below,
  type Capability,
  FsIndex,
  mountCommand,
  parseNetTarget,
  type RelPath,
  shellWord,
  show,
} from '@cordon/policy'
import { isInSystem, whyNotOutside } from '@cordon/sandbox'
import { isShipped } from '../compile/boundary.ts'
import { WRITING } from '../compile/names.ts'
import { isSecretRule, WHY_SECRET } from '../compile/own-secrets.ts'
import { labelOf, PLAIN, type Subject } from '../compile/subject.ts'
import { absolutePath, relativeToRoot, typedPath } from '../outside/place.ts'
import type { Project } from '../project.ts'
import type { Chosen } from '../run/choose.ts'
import { type Answer, answer } from './answer.ts'
import type { RunPlace } from './enforced.ts'
import type { Question } from './question.ts'
import type { Why } from './why.ts'

/** `cordon why run …`: what a plain `cordon run` here would have, and the flag that would change it (SPEC 4.7, 4.8). */
export function whyRun(chosen: Chosen, question: Question, place: RunPlace): Why {
  const { project, policy } = chosen
  if (question.axis !== 'fs') return told(answer(project.root, policy, question), flagFor(question))
  const path = absolutePath(question.target, place)
  const inside = below(project.root.path, path, project.root.foldCase)
  if (inside === undefined) return whyOutside(chosen, question, path, place)
  const found = answer(project.root, policy, { ...question, target: inside })
  return told({ ...found, question }, `--${FLAGS[question.capability]} ${typedPath(path, place.home)}`)
}

const told = (found: Answer, flag: string | undefined): Why => ({
  ...found,
  subject: labelOf(SUBJECT),
  notes: [],
  fix: undefined,
  ...(found.allowed || flag === undefined || (found.rule?.axis === 'fs' && isSecretRule(found.rule.rule))
    ? {}
    : { command: `cordon run ${flag} -- COMMAND` }),
})

const SUBJECT: Pick<Subject, 'kind' | 'name'> = { kind: 'profile', name: PLAIN }

const FLAGS: Record<Capability, 'read' | 'write' | 'execute'> = {
  read: 'read',
  create: 'write',
  update: 'write',
  delete: 'write',
  execute: 'execute',
}

function flagFor(question: Exclude<Question, { axis: 'fs' }>): string {
  if (question.axis === 'env') return `--env ${shellWord(question.target)}`
  const { host, port, scheme } = parseNetTarget(question.target)
  const isUsual = port === undefined || port === 443 || (scheme === 'http' && port === 80)
  return `--allow-net ${shellWord(isUsual ? host : `${host}:${port}`)}`
}

/** Outside the workspace there are no rules of the policy, but places that this command has, and the system. */
function whyOutside(
  { outside }: Pick<Chosen, 'outside'>,
  question: Question & { axis: 'fs' },
  named: string,
  { home }: Pick<RunPlace, 'home'>,
): Why {
  const { capability } = question
  const path = realOf(named)
  const writes = WRITING.has(capability)
  const rule = new FsIndex(outside).governing(relativeToRoot(path))
  const common = { question, canonical: path, others: [], rule: rule && ({ axis: 'fs', rule } as const) }
  if (rule) {
    const allowed = rule.grants.has(capability)
    const because = isSecretRule(rule)
      ? WHY_SECRET
      : `${show(rule.origin ?? `/${rule.path}`)} ${allowed ? 'grants' : 'does not grant'} ${capability}`
    return told({ ...common, allowed, because }, flagOutside(capability, path, home))
  }
  if (!writes && isInSystem(path))
    return told(
      {
        ...common,
        allowed: true,
        because: 'it is part of the system: what every user may read, every program may',
      },
      undefined,
    )
  const isPrivate = below(home, path) !== undefined
  const because = isPrivate
    ? 'it lies outside the workspace; the home inside is private and empty'
    : 'it lies outside the workspace'
  return told({ ...common, allowed: false, because }, flagOutside(capability, path, home))
}

/** What is never granted has no flag; what does not exist is granted by the directory that it would be made in. */
function flagOutside(capability: Capability, path: string, home: string): string | undefined {
  if (!existsSync(path)) return path === '/' ? undefined : flagOutside(capability, dirname(path), home)
  if (whyNotOutside(path, { writes: WRITING.has(capability), home }) !== undefined) return undefined
  return `--${FLAGS[capability]} ${typedPath(path, home)}`
}

const realOf = (path: string): string => {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

/**
 * A tool's question about a path that was named from the root or the home: the same one below the workspace, or the
 * answer, where it lies elsewhere.
 */
export function asAsked(
  question: Question,
  subject: string,
  { root, loaded }: Pick<Project, 'root' | 'loaded'>,
  place: RunPlace,
): Question | Why {
  if (question.axis !== 'fs' || !/^(?:\/|~(?:\/|$))/.test(question.target)) return question
  const path = absolutePath(question.target, place)
  const inside: RelPath | undefined = below(root.path, path, root.foldCase)
  const denied = {
    question,
    subject,
    allowed: false,
    canonical: undefined,
    rule: undefined,
    others: [],
  } as const
  const named = { kind: 'tool', name: subject } as const
  if (inside !== undefined && isShipped(loaded.config, named))
    return {
      ...denied,
      // SPEC 1.3; for a program that is not ours the kernel sees the place, however it is named.
      because: 'a shipped tool takes paths relative to the workspace, and refuses absolute ones',
      notes: [`as it has to be named: cordon why ${subject} ${question.capability} ${shellWord(inside)}`],
      fix: undefined,
    }
  if (inside !== undefined) return { ...question, target: inside }
  return {
    ...denied,
    because: 'it lies outside the workspace, where a tool gets only by a mount',
    notes: [],
    fix: undefined,
    ...(existsSync(path) ? { command: commandFor(subject, question.capability, path, place) } : {}),
  }
}

function commandFor(subject: string, capability: Capability, path: string, { home }: RunPlace): string {
  const target = typedPath(path, home)
  const name = basename(join(path))
  return WRITING.has(capability)
    ? mountCommand({ tool: subject, name, target, mode: 'rw' })
    : `cordon mount add ${shellWord(name)}=${target}`
}
