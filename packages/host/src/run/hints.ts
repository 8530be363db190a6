import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import {
  type AccessPolicy,
  below,
  type Capability,
  CAPABILITIES,
  CordonError,
  EnvIndex,
  type Root,
  shellWord,
  show,
  tomlString,
} from '@cordon/policy'
import { answer, type Answer } from '../why/answer.ts'
import { type Question, parseQuestion } from '../why/question.ts'
import type { HostMention, Mentions, PathMention, Trouble } from './mentions.ts'

/** SPEC 4.7: a guess why a confined program failed, and what would change it. Always labelled as a hint. */
export interface Hint {
  /** The path, host or variable: one hint for each is enough. */
  readonly about: string
  readonly text: string
  /** What to type or write; undefined when nothing of ours would help. */
  readonly fix: string | undefined
}

export interface HintWorld {
  readonly root: Root
  readonly policy: AccessPolicy
  readonly cwd: string
  readonly home: string
  /** Whether there is such a file on the host. */
  readonly exists: (path: string) => boolean
  /** Whether the program saw what is there on the host, or a private place of the same name. */
  readonly isVisible: (path: string) => boolean
  /** Whether it is withheld from every confined program, whatever the rules say (SPEC 4.3). */
  readonly isSecret: (path: string) => boolean
  readonly hasVariable: (name: string) => boolean
  /** Whether it was already said exactly what happened to this host. */
  readonly isKnown: (host: string) => boolean
}

/** Looks up in the policy whatever is named; the first say is the most telling. */
export function findHints(mentions: readonly Mentions[], world: HintWorld): Hint[] {
  const withPort = new Set(
    mentions.flatMap(({ hosts }) => hosts.filter(({ port }) => port !== '').map(({ host }) => host)),
  )
  const hints = mentions.flatMap(({ paths, hosts, variables }) => [
    ...paths.flatMap((mention) => pathHint(mention, world)),
    // Most programs name the port only once, where they name the whole URL.
    ...hosts
      .filter(({ host, port }) => port !== '' || !withPort.has(host))
      .flatMap((mention) => hostHint(mention, world)),
    ...variables.flatMap((name) => variableHint(name, world)),
  ])
  const seen = new Set<string>()
  return hints.filter(({ about }) => !seen.has(about) && seen.add(about)).slice(0, MOST)
}

const MOST = 5

function pathHint({ path, trouble }: PathMention, world: HintWorld): Hint[] {
  const { root, home, cwd } = world
  if (path.startsWith('~') && path !== '~' && !path.startsWith('~/')) return []
  const absolute = path.startsWith('~') ? join(home, path.slice(1)) : resolve(cwd, path)
  const inside = below(root.path, absolute, root.foldCase)
  if (inside !== undefined) return inWorkspace(inside, trouble, world)
  if (!isAbsolute(path) && !path.startsWith('~') && !path.startsWith('..')) return []
  if (!world.exists(absolute) || isGranted(absolute, world)) return []
  if (world.isSecret(absolute))
    return [
      { about: absolute, text: `${show(absolute)} is withheld from every confined program`, fix: undefined },
    ]
  if (world.isVisible(absolute)) return []
  const inHome = below(home, absolute)
  const shown = inHome === undefined ? absolute : `~/${inHome}`
  const word = inHome === undefined ? shellWord(absolute) : `~/${shellWord(inHome)}`
  const name = absolute.slice(absolute.lastIndexOf('/') + 1)
  return [
    {
      about: absolute,
      text: `${show(shown)} exists on the host, and no rule grants it`,
      fix: `ln -s ${word} ${shellWord(name)}, --tool or --profile with { path = ${tomlString(name)}, external = true, read = true } in its access.fs, and cordon policy compile to approve it`,
    },
  ]
}

/** What lies behind an approved mount is there under its own name, too. */
const isGranted = (path: string, { policy }: HintWorld): boolean =>
  policy.fs.some(
    ({ approvedTarget, grants }) =>
      approvedTarget !== undefined && grants.size > 0 && below(approvedTarget, path) !== undefined,
  )

/** What the words leave open: a file that is not there was perhaps hidden, a read-only one was written to. */
const WANTED: Record<Trouble, readonly Capability[]> = {
  refused: CAPABILITIES,
  'read-only': ['create', 'update', 'delete'],
  absent: ['read'],
  unsaid: ['read'],
}

function inWorkspace(path: string, trouble: Trouble, world: HintWorld): Hint[] {
  const there = world.exists(join(world.root.path, path))
  if (!there && trouble !== 'read-only' && trouble !== 'refused') return []
  // Of what is there nothing is created, and of what is not there nothing is read, changed or removed.
  const possible = WANTED[trouble].filter((capability) => (capability === 'create') !== there)
  const refused = possible.flatMap((capability) => {
    const found = ask(capability, path, world)
    return found && !found.allowed ? [found] : []
  })
  const first = refused[0]
  if (!first) return there ? [] : notThereYet(path, world)
  const what = refused.map(({ question }) => question.capability).join(', ')
  const at = first.rule?.rule.origin === undefined ? '' : ` (${first.rule.rule.origin})`
  return [
    {
      about: path,
      text: `${show(path)}: ${what} denied: ${first.because}${at}`,
      fix: fixInWorkspace(refused, path, world),
    },
  ]
}

/**
 * A rule grants it, and yet it could not be made: nothing can be mounted on what is not there yet (SPEC 4.3), so the
 * directory above decides.
 */
function notThereYet(path: string, world: HintWorld): Hint[] {
  const rule = ask('create', path, world)?.rule
  if (rule?.axis !== 'fs' || world.exists(join(world.root.path, rule.rule.path))) return []
  const above = nearest(path, world)
  if (ask('create', above, world)?.allowed) return []
  return [
    {
      about: path,
      text: `${show(path)}: the rule for ${show(rule.rule.path)} holds only once it exists, and ${show(above)} does not grant create`,
      fix: `mkdir -p ${typed(rule.rule.path, world)} first, or --write ${typed(above, world)}`,
    },
  ]
}

/** Who may not even read wants that first. A program that was refused a file it can read wanted to change or to run it. */
function fixInWorkspace(refused: readonly Answer[], path: string, world: HintWorld): string | undefined {
  // A flag cannot approve a target; only a person can (SPEC 3.2).
  if (refused.some(({ rule }) => rule?.axis === 'fs' && rule.rule.external)) return ASKS
  // It leads out, or nowhere: a flag for it would be refused.
  if (refused.some(({ canonical }) => canonical === undefined)) return undefined
  const flags = new Set(refused.map(({ question }) => FLAG[question.capability as Capability]))
  // What is not there yet cannot be granted by itself: nothing can be mounted on it (SPEC 4.3).
  const place = typed(nearest(path, world), world)
  return [...(flags.has('--read') ? ['--read'] : flags)].map((flag) => `${flag} ${place}`).join(', or ')
}

const ASKS = 'cordon policy compile, which asks about it at a terminal'

/** As the person would type it, standing where the command was started. */
function typed(path: string, { root, cwd }: HintWorld): string {
  const from = relative(cwd, join(root.path, path)) || '.'
  return shellWord(from.startsWith('-') ? `./${from}` : from)
}

function nearest(path: string, world: HintWorld): string {
  if (path === '.' || world.exists(join(world.root.path, path))) return path
  return nearest(dirname(path), world)
}

/** The flag of `cordon run` that grants it. */
const FLAG: Record<Capability, string> = {
  read: '--read',
  create: '--write',
  update: '--write',
  delete: '--write',
  execute: '--execute',
}

function hostHint({ scheme, host, port, path }: HostMention, world: HintWorld): Hint[] {
  // Where a part of the host is granted, the proxy was there to say exactly what else was refused.
  if (world.isKnown(host) || world.policy.net.some((rule) => rule.allow && rule.host === host && path === ''))
    return []
  const target = port === '' ? host : `${host}:${port}`
  const found = ask('net', `${scheme}://${target}${path || '/'}`, world)
  if (!found || found.allowed) return []
  return [
    {
      about: target,
      text: `network access to ${show(target)} is denied: ${found.because}`,
      fix: `--allow-net ${shellWord(target)}`,
    },
  ]
}

function variableHint(name: string, { policy, hasVariable }: HintWorld): Hint[] {
  if (!hasVariable(name) || MINIMAL.test(name)) return []
  const decision = new EnvIndex(policy.env).evaluate(name)
  if (decision.kind === 'allowed') return []
  return [
    {
      about: name,
      text: `the variable ${show(name)} is set on the host, and not granted`,
      fix: `--env ${shellWord(name)}`,
    },
  ]
}

/** SPEC 4.2: passed on without a rule. One that a rule takes away was taken away on purpose. */
const MINIMAL = /^(?:PATH|HOME|USER|LANG|LC_.*|TERM|TZ)$/

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
