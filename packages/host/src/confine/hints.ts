import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import {
  type AccessPolicy,
  allowNetFlag,
  below,
  type Capability,
  CAPABILITIES,
  CordonError,
  EnvIndex,
  isMinimalEnv,
  FsIndex,
  type FsRule,
  parseRelPath,
  type RelPath,
  type Root,
  type RuleData,
  shellWord,
  show,
  splitEntry,
} from '@cordon/policy'
import { nameOf, type OutsideRule } from '@cordon/sandbox'
import { isSecretRule } from '../compile/own-secrets.ts'
import { relativeToRoot, typedPath } from '../outside/place.ts'
import { answer, type Answer, guarded, isBroken } from '../why/answer.ts'
import { type Question, parseQuestion } from '../why/question.ts'
import { isLoopback } from './addresses.ts'
import type { HostMention, Mentions, PathMention, Trouble } from './mentions.ts'

/** SPEC 4.7: a guess why a confined program failed, and what would change it. Always labelled as a hint. */
export interface Hint {
  /** The path, host or variable: one hint for each is enough. */
  readonly about: string
  readonly text: string
  /** A flag, or a command, that works as it is pasted; undefined when nothing of ours would help. */
  readonly fix: string | undefined
  /** A command that the flag needs to be run before. */
  readonly first?: string
  /** Of a place outside the workspace: what would have to be granted. */
  readonly place?: OutsidePlace
  /** What `cordon why` would be asked about it; absent where no rule decides. */
  readonly question?: Question
  /** Where no single edit is the answer to it: the rules that are, together. */
  readonly rules?: readonly RuleData[]
  /** A hint that tells what there is on the host is the person's: a model must not learn it by asking (SPEC 4.7). */
  readonly audience: 'person' | 'anyone'
}

export interface OutsidePlace {
  readonly path: string
  readonly wanted: 'read' | 'write'
}

export interface HintFacts {
  readonly root: Root
  readonly policy: AccessPolicy
  /** What is granted outside the workspace. */
  readonly outside: readonly OutsideRule[]
  readonly cwd: string
  readonly home: string
  /** Whether there is such a file on the host. */
  readonly exists: (path: string) => boolean
  /** Whether the program saw what is there on the host, or a private place of the same name. */
  readonly isVisible: (path: string) => boolean
  /** How a path of the workspace goes on outside of it, by a link; undefined: it does not. */
  readonly wayOut: (path: string) => string | undefined
  /** Where a path outside really leads. */
  readonly realName: (path: string) => string
  /** Whether secrets live there (SPEC 4.9). */
  readonly isSensitive: (path: string) => boolean
  /** Whether the command line names it. */
  readonly isNamed: (path: string) => boolean
  /** Whether it is a file that the host would run. */
  readonly isProgram: (path: string) => boolean
  /** Whether it is withheld from every confined program, whatever the rules say (SPEC 4.3). */
  readonly isSecret: (path: string) => boolean
  readonly hasVariable: (name: string) => boolean
  /** Why no flag grants a place outside the workspace; undefined: one does. */
  readonly whyNever: (path: string, wanted: 'read' | 'write') => string | undefined
  /** Whether a host that is allowed could be reached, and no other. */
  readonly canHoldHosts: boolean
  /** Whether what is not granted outside the workspace is not there at all, and so never refused (SPEC 4.3). */
  readonly hidesOutside: boolean
  /** Whether it is known exactly what happened to this host. */
  readonly isKnown: (host: string) => boolean
}

/** Looks up in the policy whatever is named. The texts come with the most telling one first, and of two hints about one thing the first is kept. */
export function findHints(mentions: readonly Mentions[], facts: HintFacts): Hint[] {
  const withPort = new Set(
    mentions.flatMap(({ hosts }) => hosts.filter(({ port }) => port !== '').map(({ host }) => host)),
  )
  const hints = mentions.flatMap(({ paths, hosts, variables }) => [
    ...paths.flatMap((mention) => pathHint(mention, facts)),
    // Most programs name the port only once, where they name the whole URL.
    ...hosts
      .filter(({ host, port }) => port !== '' || !withPort.has(host))
      .flatMap((mention) => hostHint(mention, facts)),
    ...variables.flatMap((name) => variableHint(name, facts)),
  ])
  const seen = new Set<string>()
  return hints.filter(({ about }) => !seen.has(about) && seen.add(about)).slice(0, MOST)
}

const MOST = 5

/** For a command that succeeds although it could not write something guarded, such as husky's `prepare`: its exit code does not tell. */
export function findGuardHints(mentions: Mentions, facts: HintFacts): Hint[] {
  const guards = new Set<string>([
    ...facts.policy.fs.flatMap(({ path, guard }) => (guard ? [path] : [])),
    ...facts.outside.flatMap((rule) => (rule.guard ? [nameOf(rule)] : [])),
  ])
  const written = mentions.paths.filter(({ trouble }) => trouble === 'busy' || trouble === 'read-only')
  return findHints([{ paths: written, hosts: [], variables: [] }], facts).filter(({ about }) =>
    guards.has(about),
  )
}

function pathHint(mention: PathMention, facts: HintFacts): Hint[] {
  const { path, trouble } = mention
  const { root, home, cwd } = facts
  if (path.startsWith('~') && path !== '~' && !path.startsWith('~/')) return []
  const absolute = path.startsWith('~') ? join(home, path.slice(1)) : resolve(cwd, path)
  const inside = below(root.path, absolute, root.foldCase)
  if (inside !== undefined) {
    const found = leavingHint(absolute, mention, facts)
    return found.length > 0 ? found : inWorkspace(inside, trouble, facts)
  }
  if (!isAbsolute(path) && !path.startsWith('~') && !path.startsWith('..')) return []
  return outsideHint(absolute, mention, facts)
}

/** Of what leaves the workspace by a link the place is granted where it leads. The flag names it by the way, if more links are on it. */
function leavingHint(path: string, mention: PathMention, facts: HintFacts): Hint[] {
  const way = facts.wayOut(path)
  if (way === undefined || isWaiting(path, facts)) return []
  const real = facts.realName(way)
  // SPEC 4.9: the link may be a command's work. It does not choose which secret a person is asked for.
  if (facts.isSensitive(real)) return []
  return outsideHint(real, mention, facts).map((hint) =>
    hint.place?.path === real && hint.fix !== undefined
      ? { ...hint, fix: `--${hint.place.wanted} ${typedPath(way, facts.home)}` }
      : hint,
  )
}

/** A mount that nobody approved is to be approved. */
const isWaiting = (path: string, { policy, root }: HintFacts): boolean =>
  policy.fs.some(
    (rule) =>
      rule.external &&
      rule.approvedTarget === undefined &&
      below(join(root.path, rule.path), path, root.foldCase) !== undefined,
  )

/** SPEC 4.8: a flag that works as pasted, for a place that is not granted, or not for writing. */
function outsideHint(path: string, mention: PathMention, facts: HintFacts): Hint[] {
  const { trouble, isDirectory, writes } = mention
  const held = trouble === 'busy' ? grantedByItself(path, facts) : undefined
  if (held !== undefined) return [replacedHint(held, facts)]
  if (isMounted(path, facts)) return []
  const rule = new FsIndex(facts.outside).governing(relativeToRoot(path))
  const wanted = trouble === 'read-only' || trouble === 'busy' ? 'write' : 'read'
  if (isSecretRule(rule) || (!rule && facts.exists(path) && facts.isSecret(path)))
    return [withheld(path, `${show(path)} is withheld from every confined program`)]
  if (rule && isDeniedOnPurpose(rule)) return [deniedHint(path, rule, facts)]
  if (writes !== undefined && (trouble === 'absent' || trouble === 'unsaid'))
    return rule && (trouble === 'absent' || rule.grants.has('create')) ? [] : missedHint(path, writes, facts)
  if (wanted === 'read' && rule?.grants.has('read')) return []
  // Something else was refused, such as a mount on it.
  if (wanted === 'read' && !rule && trouble === 'refused' && facts.hidesOutside) return []
  if (rule?.guard !== undefined) return [placeHint(nameOf(rule), guarded(rule), wanted, facts)]
  const there = nearestOutside(path, facts)
  if (wanted === 'read' && (there !== path || facts.isVisible(path))) return []
  const isUpdated = rule !== undefined && rule.grants.has('update') && nameOf(rule) === path
  const place = trouble === 'busy' || isUpdated ? dirname(there) : there
  const never = facts.whyNever(place, wanted)
  const shown = show(inHome(place, facts))
  if (never !== undefined)
    return wanted === 'read'
      ? [withheld(path, `${shown} exists on the host, and no flag grants it: ${never}`)]
      : []
  if (wanted === 'read')
    return [placeHint(place, `${shown} exists on the host, and is not granted`, wanted, facts)]
  const hint = placeHint(place, `${shown} is not granted to be written`, wanted, facts)
  if (there === path) return [hint]
  const missing = firstMissing(path, there)
  return [missing !== path || isDirectory ? madeFirst(missing, hint, facts) : opening(hint)]
}

/**
 * A rule that grants nothing was written in order to deny, or is what a person was asked about and said no to (SPEC 4.9). That is
 * not to be talked out of.
 */
const isDeniedOnPurpose = ({ grants, guard, external, origin }: FsRule): boolean =>
  grants.size === 0 && guard === undefined && !external && origin !== undefined

const deniedHint = (path: string, { origin }: FsRule, facts: HintFacts): Hint =>
  withheld(
    path,
    origin?.startsWith('--')
      ? `${show(inHome(path, facts))} is not granted: that was asked, and the answer was no`
      : `${show(inHome(path, facts))} is denied by the rule at ${show(origin ?? '')}`,
  )

/**
 * What was to be written, and is not there inside. On the host there is something to write, or a directory to make it in;
 * else it would fail there as well.
 */
function missedHint(path: string, writes: 'content' | 'entry', facts: HintFacts): Hint[] {
  const isThere = facts.exists(path)
  const place = isThere && writes === 'content' ? path : dirname(path)
  if (!isThere && (writes === 'entry' || !facts.exists(place))) return []
  if (facts.isVisible(place) || facts.whyNever(place, 'write') !== undefined) return []
  const text = `${show(inHome(place, facts))} is not granted to be written`
  const hint = { ...placeHint(place, text, 'write', facts), about: path }
  return [place === path ? hint : opening(hint)]
}

/** Making a directory needs the one around it, with everything in it. One that a person has made can be granted alone. */
function madeFirst(directory: string, hint: Hint, { home }: HintFacts): Hint {
  const place = typedPath(directory, home)
  return {
    ...hint,
    text: `${hint.text}, and ${place} is not there yet`,
    first: `mkdir ${place}`,
    fix: `--write ${place}`,
  }
}

/** What is not there yet, and may be no directory: only the one around it can be granted, and that is more. */
const opening = (hint: Hint): Hint => ({
  ...hint,
  text: `${hint.text}, and can be only with all that is in it`,
})

const firstMissing = (path: string, there: string): string =>
  dirname(path) === there ? path : firstMissing(dirname(path), there)

const withheld = (path: string, text: string): Hint => ({
  about: path,
  text,
  fix: undefined,
  audience: 'person',
})

const placeHint = (path: string, text: string, flag: 'read' | 'write', { home }: HintFacts): Hint => ({
  about: path,
  text,
  fix: `--${flag} ${typedPath(path, home)}`,
  place: { path, wanted: flag },
  audience: 'person',
})

/**
 * A place that was granted by itself is a mount point: a program that saves by a rename needs its directory. Of the two names
 * of the rename some programs complain about the other, which lies beside it.
 */
function grantedByItself(path: string, { outside, policy }: HintFacts): string | undefined {
  const granted = [
    ...outside.filter(({ grants }) => grants.has('update')).map(nameOf),
    ...policy.fs.flatMap(({ approvedTarget, grants }) =>
      approvedTarget !== undefined && grants.has('update') ? [approvedTarget] : [],
    ),
  ]
  return granted.includes(path) ? path : granted.find((place) => dirname(place) === dirname(path))
}

function replacedHint(path: string, facts: HintFacts): Hint {
  const directory = dirname(path)
  const held = `${show(inHome(path, facts))} is granted by itself, so it is written in place and not replaced: saving by a rename needs its directory`
  return facts.whyNever(directory, 'write') === undefined
    ? { ...placeHint(directory, held, 'write', facts), about: path }
    : {
        about: path,
        text: `${held}, which is not to be granted; keep it in a directory of its own`,
        fix: undefined,
        audience: 'person',
      }
}

const inHome = (path: string, { home }: HintFacts): string => {
  const rest = below(home, path)
  return rest === undefined || rest === '.' ? path : `~/${rest}`
}

const nearestOutside = (path: string, facts: HintFacts): string =>
  path === '/' || facts.exists(path) ? path : nearestOutside(dirname(path), facts)

/** What lies behind an approved mount is there under its own name, too. */
const isMounted = (path: string, { policy }: HintFacts): boolean =>
  policy.fs.some(
    ({ approvedTarget, grants }) =>
      approvedTarget !== undefined && grants.size > 0 && below(approvedTarget, path) !== undefined,
  )

/** The capabilities that each complaint may be about: what is "not there" may be hidden, what is "read-only" was to be written. */
const WANTED: Record<Trouble, readonly Capability[]> = {
  refused: CAPABILITIES,
  'read-only': ['create', 'update', 'delete'],
  busy: ['update', 'delete'],
  absent: ['read'],
  unsaid: ['read'],
}

function inWorkspace(path: string, trouble: Trouble, facts: HintFacts): Hint[] {
  const there = facts.exists(join(facts.root.path, path))
  const saved = there || trouble === 'absent' || trouble === 'unsaid' ? undefined : savedBeside(path, facts)
  if (saved) return [savedHint(saved, facts)]
  if (!there && trouble !== 'read-only' && trouble !== 'refused') return []
  // What exists is not created; what does not exist is not read, changed or removed.
  const possible = WANTED[trouble].filter((capability) => (capability === 'create') !== there)
  const refused = possible.flatMap((capability) => {
    const found = ask(capability, path, facts)
    return found && !found.allowed ? [found] : []
  })
  const byItself = there ? ruledByItself(path, trouble, facts) : undefined
  if (byItself) return [byItself]
  const [first, ...others] = trouble === 'refused' ? likeliest(refused, path, facts) : refused
  if (!first) return there ? [] : notThereYet(path, facts)
  if (first.rule?.axis === 'fs' && first.rule.rule.guard !== undefined)
    return [guardHint(first.rule.rule, facts)]
  const what = [first, ...others].map(({ question }) => question.capability).join(', ')
  const at = first.rule?.rule.origin === undefined ? '' : ` (${first.rule.rule.origin})`
  return [
    {
      about: path,
      text: `${show(path)}: ${what} denied: ${first.because}${at}`,
      fix: fixInWorkspace([first, ...others], path, facts),
      question: first.question,
      // The program knows that it was refused. That a hidden file exists would be news to it, so that hint is the person's.
      audience: trouble === 'refused' || trouble === 'read-only' ? 'anyone' : 'person',
    },
  ]
}

/** A program that can read a file and was refused wanted to run it, if it is one that can be run, and else to change it. */
function likeliest(refused: readonly Answer[], path: string, facts: HintFacts): readonly Answer[] {
  if (refused.some(({ question }) => question.capability === 'read')) return refused
  const runs = facts.isProgram(join(facts.root.path, path))
  const meant = refused.filter(({ question }) => (question.capability === 'execute') === runs)
  return meant.length > 0 ? meant : refused
}

/**
 * A path with a rule of its own is a mount point, unless what lies around it grants the same: it is not removed or replaced,
 * although the rule grants that. Programs call this busy, or read-only where the directory is.
 */
function ruledByItself(path: string, trouble: Trouble, facts: HintFacts): Hint | undefined {
  if (trouble !== 'busy' && trouble !== 'read-only') return undefined
  const index = new FsIndex(facts.policy.fs, facts.root.foldCase)
  const { parent } = splitEntry(parseRelPath(path)) ?? {}
  const own = index.at(parseRelPath(path))
  if (parent === undefined || !own || own.guard !== undefined || !own.grants.has('delete')) return undefined
  if (isAlike(own.grants, index.governing(parent)?.grants)) return undefined
  const inPlace = own.grants.has('update') ? '' : ', and it does not grant update'
  return {
    about: path,
    text: `${show(path)} has a rule of its own, so it can be changed in place, and not be removed or replaced: that is for a rule of ${show(parent)}${inPlace}`,
    fix: `--write ${typed(parent, facts)}`,
    question: parseQuestion('delete', path),
    audience: 'anyone',
  }
}

/**
 * What `sed -i`, git and editors make beside a file and rename over it. The file has a rule of its own, and its directory does not
 * have the same, so it is a mount point: a new file beside it may be refused, and taking its place always is.
 */
function savedBeside(path: string, facts: HintFacts): FsRule | undefined {
  const index = new FsIndex(facts.policy.fs, facts.root.foldCase)
  const directory = splitEntry(parseRelPath(path))?.parent
  const files = facts.policy.fs.filter(
    ({ path: file, grants, guard, external }) =>
      splitEntry(file)?.parent === directory &&
      grants.has('update') &&
      guard === undefined &&
      !external &&
      facts.exists(join(facts.root.path, file)) &&
      !isAlike(index.at(file)?.grants, directory && index.governing(directory)?.grants),
  )
  // Of programs that are not told by name what to change, most make `notes.txt.tmp` or `.notes.txt.swp`.
  return files.find(
    ({ path: file }) => facts.isNamed(join(facts.root.path, file)) || basename(path).includes(basename(file)),
  )
}

const isAlike = (a: ReadonlySet<Capability> | undefined, b: ReadonlySet<Capability> | undefined): boolean =>
  a !== undefined && b !== undefined && a.size === b.size && [...a].every((each) => b.has(each))

/** SPEC 4.8: what replaces a file needs create and delete in its directory. What both have in the end has to be the same. */
function savedHint({ path, grants }: FsRule, facts: HintFacts): Hint {
  const directory = splitEntry(path)!.parent
  const runs = grants.has('execute')
  const isShort = WRITES.some((each) => !grants.has(each))
  const paths = isShort ? [directory, path] : [directory]
  return {
    about: path,
    text: `${show(path)} has a rule of its own, so it is changed in place: saving it by a rename takes create and delete in ${show(directory)}, with all that is in it`,
    fix: paths
      .map((each) => `--write ${typed(each, facts)}${runs ? ` --execute ${typed(each, facts)}` : ''}`)
      .join(' '),
    question: parseQuestion('delete', path),
    rules: paths.map((each) => ({
      path: each,
      read: true,
      write: true,
      ...(runs ? { execute: true } : {}),
    })),
    audience: 'anyone',
  }
}

const WRITES: readonly Capability[] = ['read', 'create', 'update', 'delete']

/** SPEC 4.10: the flag names all of what is guarded, because many programs replace a file instead of changing it. */
const guardHint = (rule: FsRule, facts: HintFacts): Hint => ({
  about: rule.path,
  text: guarded(rule),
  // In a mount only the mount's own rule has an approval.
  fix: isInMount(rule.path, facts) ? undefined : `--write ${typed(rule.path, facts)}`,
  audience: 'anyone',
})

const isInMount = (path: RelPath, { policy, root }: HintFacts): boolean =>
  new FsIndex(policy.fs, root.foldCase).bounding(path)?.approvedTarget !== undefined

/**
 * A rule grants it, and yet it could not be made: nothing can be mounted on what is not there yet (SPEC 4.3), so the
 * directory above decides.
 */
function notThereYet(path: string, facts: HintFacts): Hint[] {
  const rule = ask('create', path, facts)?.rule
  if (rule?.axis !== 'fs' || facts.exists(join(facts.root.path, rule.rule.path))) return []
  const above = nearest(path, facts)
  if (ask('create', above, facts)?.allowed) return []
  return [
    {
      about: path,
      text: `${show(path)}: the rule for ${show(rule.rule.path)} holds only once it exists, and ${show(above)} does not grant create`,
      fix: `mkdir -p ${typed(rule.rule.path, facts)}`,
      audience: 'anyone',
    },
  ]
}

/** Where reading is refused, `--read` alone is suggested. */
function fixInWorkspace(refused: readonly Answer[], path: string, facts: HintFacts): string | undefined {
  // A flag cannot approve a target; only a person can (SPEC 3.2). Nor can it mend a mount, or make one writable.
  const [mount] = refused.flatMap(({ rule }) =>
    rule?.axis === 'fs' && rule.rule.external ? [rule.rule] : [],
  )
  if (mount) return mount.approvedTarget !== undefined || isBroken(mount, facts.root) ? undefined : ASKS
  const rules = refused.flatMap(({ rule }) => (rule?.axis === 'fs' ? [rule.rule] : []))
  if (rules.some((rule) => isSecretRule(rule) || isDeniedOnPurpose(rule))) return undefined
  // It leads out, or nowhere: a flag for it would be refused.
  if (refused.some(({ canonical }) => canonical === undefined)) return undefined
  const flags = new Set(refused.map(({ question }) => FLAG[question.capability as Capability]))
  // What is not there yet cannot be granted by itself: nothing can be mounted on it (SPEC 4.3).
  const place = typed(nearest(path, facts), facts)
  const [flag] = flags.has('--read') ? ['--read'] : flags
  return flag === undefined ? undefined : `${flag} ${place}`
}

/** It asks about the target. */
const ASKS = 'cordon policy compile'

/** As the person would type it, standing where the command was started. */
function typed(path: string, { root, cwd }: HintFacts): string {
  const from = relative(cwd, join(root.path, path)) || '.'
  return shellWord(from.startsWith('-') ? `./${from}` : from)
}

function nearest(path: string, facts: HintFacts): string {
  if (path === '.' || facts.exists(join(facts.root.path, path))) return path
  return nearest(dirname(path), facts)
}

/** The flag of `cordon run` that grants it. */
const FLAG: Record<Capability, string> = {
  read: '--read',
  create: '--write',
  update: '--write',
  delete: '--write',
  execute: '--execute',
}

function hostHint({ scheme, host, port, path }: HostMention, facts: HintFacts): Hint[] {
  if (isLoopback(host)) return [] // what the host has there is looked up (`network-hints.ts`)
  // Where a part of the host is granted, the proxy was there to say exactly what else was refused.
  if (facts.isKnown(host) || facts.policy.net.some((rule) => rule.allow && rule.host === host && path === ''))
    return []
  const target = port === '' ? host : `${host}:${port}`
  const found = ask('net', `${scheme}://${target}${path || '/'}`, facts)
  if (!found || found.allowed) return []
  return [
    {
      about: target,
      text: `network access to ${show(target)} is denied: ${found.because}${facts.canHoldHosts ? '' : `; ${NO_HOSTS}`}`,
      fix: facts.canHoldHosts
        ? allowNetFlag({ host, port: port === '' ? undefined : Number(port) })
        : undefined,
      question: found.question,
      audience: 'anyone',
    },
  ]
}

/** SPEC 4.7: no flag is named that would be refused. */
export const NO_HOSTS =
  'without namespaces no host can be allowed on this machine, and cordon doctor says how to get them'

function variableHint(name: string, { policy, hasVariable }: HintFacts): Hint[] {
  // A variable of the minimal set is missing only where a rule takes it away on purpose.
  if (!hasVariable(name) || isMinimalEnv(name)) return []
  const decision = new EnvIndex(policy.env).evaluate(name)
  if (decision.kind === 'allowed') return []
  return [
    {
      about: name,
      text: `the variable ${show(name)} is set on the host, and not granted`,
      fix: `--env ${shellWord(name)}`,
      question: parseQuestion('env', name),
      audience: 'person',
    },
  ]
}

/** A text may name anything; what is no sensible question has no answer. */
function ask(
  capability: Question['capability'],
  target: string,
  { root, policy }: HintFacts,
): Answer | undefined {
  try {
    return answer(root, policy, parseQuestion(capability, target))
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}
