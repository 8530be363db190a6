import { basename, dirname, join } from 'node:path'
import {
  below,
  type Capability,
  CAPABILITIES,
  FsIndex,
  type FsRule,
  parseRelPath,
  type RelPath,
  shellWord,
  show,
  splitEntry,
} from '@cordon/policy'
import { isSecretRule } from '../compile/own-secrets.ts'
import { fromHere } from '../outside/place.ts'
import { type Answer, guarded, isBroken } from '../why/answer.ts'
import { parseQuestion } from '../why/question.ts'
import { ask, type Hint, type HintFacts } from './hint.ts'
import type { PathMention, Trouble } from './mentions.ts'
import { isDeniedOnPurpose } from './outside-hints.ts'

/** SPEC 4.7: what the rules for the workspace say of a path in it that a program could not use. */
export function workspaceHint(path: string, mention: PathMention, facts: HintFacts): Hint[] {
  const { trouble, writes } = mention
  if (path === '.' && trouble === 'busy') return [WHOLE]
  const there = facts.exists(join(facts.root.path, path))
  const saved = there || trouble === 'absent' || trouble === 'unsaid' ? undefined : savedBeside(path, facts)
  if (saved) return [savedHint(saved, 'saving it by a rename', facts)]
  const isMeant = trouble === 'unsaid' && writes !== undefined
  const apart = there && isMeant && writes === 'entry' ? ruleApart(path, facts) : undefined
  if (apart) return [savedHint(apart, 'removing or replacing it', facts)]
  if (!there && trouble !== 'read-only' && trouble !== 'refused' && !isMeant) return []
  // What exists is not created; what does not exist is not read, changed or removed. The workspace itself is never removed.
  const possible = wantedOf(mention, there).filter(
    (capability) => (capability === 'create') !== there && !(capability === 'delete' && path === '.'),
  )
  const refused = possible.flatMap((capability) => {
    const found = ask(capability, path, facts)
    return found && !found.allowed ? [found] : []
  })
  const byItself = there ? ruledByItself(path, trouble, facts) : undefined
  if (byItself) return [byItself]
  const [first, ...others] = trouble === 'refused' ? likeliest(refused, path, facts) : refused
  if (!first) return there ? pinnedHint(path, mention, facts) : notThereYet(path, facts)
  const unmade = there ? undefined : ruleFurtherDown(path, facts)
  if (unmade) return [unmadeHint(path, unmade, facts)]
  const guard = first.rule?.axis === 'fs' && first.rule.rule.guard !== undefined ? first.rule.rule : undefined
  // SPEC 4.10: what is guarded and not there yet may be made.
  if (guard && isMeant && !facts.exists(join(facts.root.path, guard.path))) return []
  if (guard) return [guardHint(guard, there && isInPlace(mention) ? path : undefined, facts)]
  const what = [first, ...others].map(({ question }) => question.capability).join(', ')
  // What is removed or replaced is written in its directory.
  const isEntry =
    writes === 'entry' || (there && refused.every(({ question }) => question.capability === 'delete'))
  const at = first.rule?.rule.origin === undefined ? '' : ` (${first.rule.rule.origin})`
  return [
    {
      about: path,
      text: `${show(path)}: ${what} denied: ${first.because}${at}`,
      fix: isEntry
        ? fixForEntry([first, ...others], path, facts)
        : fixInWorkspace([first, ...others], path, facts),
      question: first.question,
      // The program knows that it was refused. That a hidden file exists would be news to it, so that hint is the person's.
      audience: trouble === 'refused' || trouble === 'read-only' ? 'anyone' : 'person',
    },
  ]
}

/** The capabilities that each complaint may be about: what is "not there" may be hidden, what is "read-only" was to be written. */
const WANTED: Record<Trouble, readonly Capability[]> = {
  refused: CAPABILITIES,
  'read-only': ['create', 'update', 'delete'],
  busy: ['update', 'delete'],
  absent: ['read'],
  unsaid: ['read'],
}

/** What a command line says is written: its content, or the entry itself. */
const WRITTEN: Record<NonNullable<PathMention['writes']>, readonly Capability[]> = {
  content: ['create', 'update'],
  entry: ['delete'],
}

/** Where it is known how it was to be written, no more than that; of what replaces it both are asked. */
function wantedOf({ trouble, writes }: PathMention, there: boolean): readonly Capability[] {
  if (writes === undefined || trouble === 'absent' || trouble === 'busy') return WANTED[trouble]
  return trouble === 'unsaid' || there ? WRITTEN[writes] : WANTED[trouble]
}

const WHOLE: Hint = {
  about: '.',
  text: 'the workspace itself is not moved or removed from inside: do that outside',
  fix: undefined,
  audience: 'anyone',
}

/**
 * What may not be read was to be read, as far as anybody knows. A program that can read a file and was refused wanted to run it, if
 * it is one that can be run, and else to change it.
 */
function likeliest(refused: readonly Answer[], path: string, facts: HintFacts): readonly Answer[] {
  const read = refused.filter(({ question }) => question.capability === 'read')
  if (read.length > 0) return read
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
    fix: replacingFlags(own, facts),
    question: parseQuestion('delete', path),
    audience: 'anyone',
  }
}

/** What the rules let go, and a mount keeps where it is. */
function pinnedHint(path: string, { trouble, writes }: PathMention, { root, whyPinned }: HintFacts): Hint[] {
  const isMeant = trouble === 'busy' || (trouble === 'unsaid' && writes === 'entry')
  const why = isMeant ? whyPinned(join(root.path, path)) : undefined
  return why === undefined
    ? []
    : [{ about: path, text: `${show(path)}: ${why}`, fix: undefined, audience: 'anyone' }]
}

/**
 * What `sed -i`, git and editors make beside a file and rename over it. The file has a rule of its own, and its directory does not
 * have the same, so it is a mount point: a new file beside it may be refused, and taking its place always is.
 */
function savedBeside(path: string, facts: HintFacts): FsRule | undefined {
  const directory = splitEntry(parseRelPath(path))?.parent
  const files = facts.policy.fs.filter(
    ({ path: file }) => splitEntry(file)?.parent === directory && ruleApart(file, facts) !== undefined,
  )
  // Of programs that are not told by name what to change, most make `notes.txt.tmp` or `.notes.txt.swp`.
  return files.find(
    ({ path: file }) => facts.isNamed(join(facts.root.path, file)) || basename(path).includes(basename(file)),
  )
}

/** The rule of a file that may be changed and is a region of its own, because what lies around it grants something else. */
function ruleApart(path: string, { policy, root, exists }: HintFacts): FsRule | undefined {
  const index = new FsIndex(policy.fs, root.foldCase)
  const own = index.at(parseRelPath(path))
  const directory = splitEntry(parseRelPath(path))?.parent
  if (!own?.grants.has('update') || own.guard !== undefined || own.external) return undefined
  if (!exists(join(root.path, path)) || directory === undefined) return undefined
  return isAlike(own.grants, index.governing(directory)?.grants) ? undefined : own
}

const isAlike = (a: ReadonlySet<Capability> | undefined, b: ReadonlySet<Capability> | undefined): boolean =>
  a !== undefined && b !== undefined && a.size === b.size && [...a].every((each) => b.has(each))

/** SPEC 4.8: what replaces a file needs create and delete in its directory. What both have in the end has to be the same. */
function savedHint(own: FsRule, what: string, facts: HintFacts): Hint {
  const { path, grants } = own
  const directory = splitEntry(path)!.parent
  const runs = grants.has('execute')
  return {
    about: path,
    text: `${show(path)} has a rule of its own, so it is changed in place: ${what} takes create and delete in ${show(directory)}, with all that is in it`,
    fix: replacingFlags(own, facts),
    question: parseQuestion('delete', path),
    rules: replacingPaths(own, facts).map((each) => ({
      path: each,
      read: true,
      write: true,
      ...(runs ? { execute: true } : {}),
    })),
    audience: 'anyone',
  }
}

const replacingFlags = (own: FsRule, facts: HintFacts): string | undefined =>
  replacingPaths(own, facts)
    .map((each) => {
      const place = typed(each, facts)
      return `--write ${place}${own.grants.has('execute') ? ` --execute ${place}` : ''}`
    })
    .join(' ') || undefined

/** The directory and the file, without what has its own rule for all of that already: a flag that was given is not named again. */
function replacingPaths({ path, grants }: FsRule, { policy, root }: HintFacts): readonly RelPath[] {
  const index = new FsIndex(policy.fs, root.foldCase)
  const wanted: readonly Capability[] = grants.has('execute') ? [...WRITES, 'execute'] : WRITES
  return [splitEntry(path)!.parent, path].filter(
    (each) => !wanted.every((capability) => index.at(each)?.grants.has(capability)),
  )
}

const WRITES: readonly Capability[] = ['read', 'create', 'update', 'delete']

/**
 * SPEC 4.10: the flag names all of what is guarded, because many programs replace a file instead of changing it; but for the file
 * itself, where that was to be written in its place (decision 0496).
 */
const guardHint = (rule: FsRule, file: string | undefined, facts: HintFacts): Hint => ({
  about: rule.path,
  text: guarded(rule),
  // In a mount only the mount's own rule has an approval.
  fix: isInMount(rule.path, facts) ? undefined : `--write ${typed(file ?? rule.path, facts)}`,
  audience: 'anyone',
})

/** Who replaces a file complains of another name, or that it is busy; who removes it says so. */
const isInPlace = ({ trouble, writes }: PathMention): boolean => trouble === 'read-only' && writes !== 'entry'

const isInMount = (path: RelPath, { policy, root }: HintFacts): boolean =>
  new FsIndex(policy.fs, root.foldCase).bounding(path)?.approvedTarget !== undefined

/**
 * A rule grants it, and yet it could not be made: nothing can be mounted on what is not there yet (SPEC 4.3), so the
 * directory above decides.
 */
function notThereYet(path: string, facts: HintFacts): Hint[] {
  const rule = ask('create', path, facts)?.rule
  if (rule?.axis !== 'fs' || facts.exists(join(facts.root.path, rule.rule.path))) return []
  return ask('create', nearest(path, facts), facts)?.allowed ? [] : [unmadeHint(path, rule.rule, facts)]
}

const unmadeHint = (path: string, rule: FsRule, facts: HintFacts): Hint => ({
  about: path,
  text: `${show(path)}: the rule for ${show(rule.path)} holds only once it exists, and ${show(nearest(path, facts))} does not grant create`,
  fix: `mkdir -p ${typed(rule.path, facts)}`,
  audience: 'anyone',
})

/** `mkdir -p new/dir` makes `new` first, and complains of that. */
const ruleFurtherDown = (path: string, { policy, root, exists, isNamed }: HintFacts): FsRule | undefined =>
  policy.fs.find(
    (rule) =>
      rule.guard === undefined &&
      !rule.external &&
      rule.grants.has('create') &&
      below(path, rule.path, root.foldCase) !== undefined &&
      isNamed(join(root.path, rule.path)) &&
      !exists(join(root.path, rule.path)),
  )

/**
 * Where its own rule decides, nothing that is granted around it helps alone. SPEC 4.10: what is guarded once its directory may be
 * written is named beside it, or it would be the next error.
 */
function fixForEntry(refused: readonly Answer[], path: string, facts: HintFacts): string | undefined {
  const around = fixInWorkspace(refused, dirname(path), facts)
  if (refused.some(({ rule }) => rule?.axis === 'fs' && rule.rule.path === path)) {
    const own = fixInWorkspace(refused, path, facts)
    return own === undefined || isWritable(dirname(path), facts) ? own : `${around} ${own}`
  }
  return around?.startsWith('--write ') && facts.isGuarded(join(facts.root.path, path))
    ? `${around} --write ${typed(path, facts)}`
    : around
}

const isWritable = (directory: string, { policy, root }: HintFacts): boolean => {
  const grants = new FsIndex(policy.fs, root.foldCase).governing(parseRelPath(directory))?.grants
  return WRITES.every((capability) => grants?.has(capability))
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
const typed = (path: string, { root, cwd }: HintFacts): string =>
  shellWord(fromHere(join(root.path, path), cwd))

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
