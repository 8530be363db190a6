import { dirname } from 'node:path'
import { below, FsIndex, type FsRule, show } from '@cordon/policy'
import { nameOf } from '@cordon/sandbox'
import { isSecretRule } from '../compile/own-secrets.ts'
import { isGitDirectoryRule } from '../outside/git-directory.ts'
import { relativeToRoot, shownInHome, typedPath } from '../outside/place.ts'
import { guarded } from '../why/answer.ts'
import type { Hint, HintFacts } from './hint.ts'
import type { PathMention } from './mentions.ts'

/** SPEC 4.8: a flag that works as pasted, for a place that is not granted, or not for writing. */
export function outsideHint(path: string, mention: PathMention, facts: HintFacts): Hint[] {
  const { trouble, isDirectory, writes, opens, runs } = mention
  const held = trouble === 'busy' ? grantedByItself(path, facts) : undefined
  if (held !== undefined) return [replacedHint(held, facts)]
  if (isMounted(path, facts)) return []
  if (trouble === 'busy' && !facts.exists(path)) return [] // `mv held missing`: it is said of the other
  const rule = new FsIndex(facts.outside).governing(relativeToRoot(path))
  const wanted = trouble === 'read-only' || trouble === 'busy' ? 'write' : 'read'
  if (isSecretRule(rule) || (!rule && facts.exists(path) && facts.isSecret(path)))
    return [withheld(path, `${show(path)} is withheld from every confined program`)]
  if (rule && isDeniedOnPurpose(rule)) return [deniedHint(path, rule, facts)]
  if (!rule && isMadeInside(path, mention, facts)) return []
  const theirs = deniedOutside(path, writes === undefined ? wanted : 'write', facts)
  if (theirs) return [theirs]
  if (writes !== undefined && (trouble === 'absent' || trouble === 'unsaid'))
    return rule && (trouble === 'absent' || rule.grants.has('create'))
      ? []
      : missedHint(path, writes, mention, facts)
  if (wanted === 'read' && rule?.grants.has('read'))
    return trouble === 'refused' && !rule.grants.has('execute') && facts.isProgram(path)
      ? [executeHint(path, facts)]
      : []
  // Something else was refused, such as a mount on it.
  if (wanted === 'read' && !rule && trouble === 'refused' && facts.hidesOutside) return []
  if (rule?.guard !== undefined) return [placeHint(nameOf(rule), guarded(rule), wanted, facts)]
  const there = nearestOutside(path, facts)
  // On the host there is nothing to be read either, so it was likely to be made. SPEC 4.9: a complaint does not choose the place of a secret.
  if (opens && trouble === 'absent' && !rule && there !== path && !facts.isSensitive(path))
    return missedHint(path, 'content', mention, facts)
  if (wanted === 'read' && (there !== path || facts.isVisible(path))) return []
  const isUpdated = rule !== undefined && rule.grants.has('update') && nameOf(rule) === path
  const ownPlace = trouble === 'busy' || isUpdated ? dirname(there) : there
  const place = rule && wanted === 'write' && isGitDirectoryRule(rule) ? nameOf(rule) : ownPlace
  const never = facts.whyNever(place, wanted)
  const shown = shownInHome(place, facts.home)
  if (never !== undefined) return [neverHint(path, { place, wanted, never }, facts)]
  if (wanted === 'read')
    return [
      {
        ...placeHint(place, `${shown} exists on the host, and is not granted`, wanted, facts),
        ...(runs && facts.isProgram(path) ? { fix: `--execute ${typedPath(place, facts.home)}` } : {}),
      },
    ]
  const hint = placeHint(place, `${shown} is not granted to be written`, wanted, facts)
  if (there === path) return [hint]
  const missing = firstMissing(path, there)
  return [missing !== path || isDirectory ? madeFirst(missing, hint, facts) : opening(hint)]
}

/** A complaint about what no flag grants: that is why, and nothing else. */
function neverHint(
  path: string,
  {
    place,
    wanted,
    never,
  }: { readonly place: string; readonly wanted: 'read' | 'write'; readonly never: string },
  facts: HintFacts,
): Hint {
  const [shownPath, shown] = [path, place].map((each) => shownInHome(each, facts.home))
  if (wanted === 'read') return withheld(path, `${shown} exists on the host, and no flag grants it: ${never}`)
  if (!facts.mayUse(place, 'write')) return withheld(path, deniedAnyway(place, 'write', facts))
  return withheld(
    path,
    facts.exists(path) && place !== path
      ? `${shownPath} is granted to be read; replacing it needs its directory, and no flag grants that: ${never}`
      : `${shown} is not granted to be written, and no flag grants it: ${never}`,
  )
}

/**
 * SPEC 4.3: what a command line writes in a private directory was written, whatever lies there on the host; but for `cp f ~/dir/`,
 * which wants the directory.
 */
const isMadeInside = (
  path: string,
  { trouble, writes, isDirectory }: PathMention,
  facts: HintFacts,
): boolean =>
  trouble === 'unsaid' &&
  writes === 'content' &&
  facts.hidesOutside &&
  facts.isVisible(dirname(path)) &&
  !facts.isTheWay(dirname(path)) &&
  (isDirectory === true || !facts.exists(`${path}/`))

/** What the permissions of a file deny, no flag grants: it would be the next error. */
const deniedOutside = (path: string, wanted: 'read' | 'write', facts: HintFacts): Hint | undefined =>
  facts.isVisible(path) || facts.mayUse(path, wanted)
    ? undefined
    : withheld(path, deniedAnyway(path, wanted, facts))

const deniedAnyway = (path: string, wanted: 'read' | 'write', facts: HintFacts): string =>
  `${shownInHome(path, facts.home)} cannot be ${wanted === 'read' ? 'read' : 'written'} without a sandbox either: its permissions deny it`

/** It can be read, and starting it was refused. */
const executeHint = (path: string, facts: HintFacts): Hint => ({
  about: path,
  text: `${shownInHome(path, facts.home)} is granted to be read, and not to be executed`,
  fix: `--execute ${typedPath(path, facts.home)}`,
  audience: 'person',
})

/**
 * A rule that grants nothing was written in order to deny, or is what a person was asked about and said no to (SPEC 4.9). That is
 * not to be talked out of.
 */
export const isDeniedOnPurpose = ({ grants, guard, external, origin }: FsRule): boolean =>
  grants.size === 0 && guard === undefined && !external && origin !== undefined

const deniedHint = (path: string, { origin }: FsRule, facts: HintFacts): Hint =>
  withheld(
    path,
    origin?.startsWith('--')
      ? `${shownInHome(path, facts.home)} is not granted: that was asked, and the answer was no`
      : `${shownInHome(path, facts.home)} is denied by the rule at ${show(origin ?? '')}`,
  )

/**
 * What was to be written, and is not there inside. On the host there is something to write, or a directory to make it in;
 * else it would fail there as well.
 */
function missedHint(
  path: string,
  writes: 'content' | 'entry',
  { isDirectory }: Pick<PathMention, 'isDirectory'>,
  facts: HintFacts,
): Hint[] {
  const isThere = facts.exists(path)
  const place = isThere && writes === 'content' ? path : dirname(path)
  if (!isThere && (writes === 'entry' || !facts.exists(place))) return []
  if (facts.isVisible(place) && !facts.isTheWay(place)) return []
  if (facts.whyNever(isDirectory ? path : place, 'write') !== undefined) return []
  const theirs = deniedOutside(place, 'write', facts)
  if (theirs) return [theirs]
  const text = `${shownInHome(place, facts.home)} is not granted to be written`
  const hint = { ...placeHint(place, text, 'write', facts), about: path }
  if (place === path) return [hint]
  // Of the way to the workspace not all is to be opened. Elsewhere `mkdir` would find what was made first.
  return [isDirectory && facts.isTheWay(place) ? madeFirst(path, hint, facts) : opening(hint)]
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
  const held = `${shownInHome(path, facts.home)} is granted by itself, so it is written in place and not replaced: saving by a rename needs its directory`
  return facts.whyNever(directory, 'write') === undefined
    ? { ...placeHint(directory, held, 'write', facts), about: path }
    : {
        about: path,
        text: `${held}, which is not to be granted; keep it in a directory of its own`,
        fix: undefined,
        audience: 'person',
      }
}

const nearestOutside = (path: string, facts: HintFacts): string =>
  path === '/' || facts.exists(path) ? path : nearestOutside(dirname(path), facts)

/** What lies behind an approved mount is there under its own name, too. */
const isMounted = (path: string, { policy }: HintFacts): boolean =>
  policy.fs.some(
    ({ approvedTarget, grants }) =>
      approvedTarget !== undefined && grants.size > 0 && below(approvedTarget, path) !== undefined,
  )
