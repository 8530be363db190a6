import { isAbsolute, join, resolve } from 'node:path'
import {
  type AccessPolicy,
  below,
  CAPABILITIES,
  type Capability,
  CordonError,
  type Root,
  show,
} from '@cordon/policy'
import { answer, type Answer } from '../why/answer.ts'
import { type Question, parseQuestion } from '../why/question.ts'
import { findMentions } from './mentions.ts'

/** SPEC 4.7: a guess why a confined program failed, and what would change it. Always labelled as a hint. */
export interface Hint {
  readonly text: string
  /** What to type or write; undefined when nothing of ours would help. */
  readonly fix: string | undefined
}

export interface HintWorld {
  readonly root: Root
  readonly policy: AccessPolicy
  readonly cwd: string
  readonly home: string
  /** Whether there is such a file, and such a variable, on the host. */
  readonly exists: (path: string) => boolean
  readonly hasVariable: (name: string) => boolean
  /** Whether it was already said exactly what happened to this host. */
  readonly isKnown: (host: string) => boolean
  /** What the sandbox shows of the system anyway, so that nobody is told to grant it. */
  readonly isVisible: (path: string) => boolean
}

/** Looks up in the policy whatever the text names. */
export function findHints(text: string, world: HintWorld): Hint[] {
  const { paths, hosts, variables } = findMentions(text)
  return [
    ...paths.flatMap((path) => pathHint(path, text, world)),
    ...hosts.flatMap((host) => hostHint(host, world)),
    ...variables.flatMap((name) => variableHint(name, world)),
  ].slice(0, MOST)
}

const MOST = 5

function pathHint(mentioned: string, text: string, world: HintWorld): Hint[] {
  const { root, home, cwd } = world
  const absolute = mentioned.startsWith('~') ? join(home, mentioned.slice(1)) : resolve(cwd, mentioned)
  const inside = below(root.path, absolute, root.foldCase)
  if (inside !== undefined) return inWorkspace(inside, text, world)
  if (!isAbsolute(mentioned) && !mentioned.startsWith('~') && !mentioned.startsWith('..')) return []
  if (world.isVisible(absolute) || !world.exists(absolute)) return []
  const shown = below(home, absolute) === undefined ? absolute : `~/${below(home, absolute)}`
  return [
    { text: `${show(shown)} exists on the host, and no rule grants it`, fix: 'cordon mount add NAME=PATH' },
  ]
}

/** The message rarely says what was tried; the words of the kernel narrow it down. */
function inWorkspace(path: string, text: string, world: HintWorld): Hint[] {
  const wanted: readonly Capability[] = /Read-only file system|EROFS|cannot (?:create|remove|touch)/i.test(
    text,
  )
    ? ['create', 'update', 'delete']
    : CAPABILITIES
  const refused = wanted
    .map((capability) => ask(capability, path, world))
    .filter((found) => found && !found.allowed)
  const first = refused[0]
  if (!first) return []
  const what = refused.map((found) => found?.question.capability).join(', ')
  const at = first.rule?.rule.origin === undefined ? '' : ` (${first.rule.rule.origin})`
  return [
    {
      text: `${show(path)}: ${what} denied: ${first.because}${at}`,
      fix: `${FLAG[first.question.capability as Capability]} ${show(path)}`,
    },
  ]
}

/** The flag of `cordon run` that grants it. */
const FLAG: Record<Capability, string> = {
  read: '--read',
  create: '--write',
  update: '--write',
  delete: '--write',
  execute: '--execute',
}

function hostHint(host: string, world: HintWorld): Hint[] {
  const found = world.isKnown(host) ? undefined : ask('net', `https://${host}/`, world)
  if (!found || found.allowed) return []
  return [
    { text: `network access to ${show(host)} is denied: ${found.because}`, fix: `--allow-net ${show(host)}` },
  ]
}

function variableHint(name: string, world: HintWorld): Hint[] {
  const found = world.hasVariable(name) ? ask('env', name, world) : undefined
  if (!found || found.allowed) return []
  return [
    { text: `the variable ${show(name)} is set on the host, and not granted`, fix: `--env ${show(name)}` },
  ]
}

/** A text may name anything; what is no sensible question has no answer. */
function ask(
  capability: Question['capability'],
  target: string,
  { root, policy }: HintWorld,
): Answer | undefined {
  try {
    return answer(root, policy, parseQuestion(capability, target))
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}
