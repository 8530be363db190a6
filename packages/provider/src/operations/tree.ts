import { createHash, hash } from 'node:crypto'
import { type FileError, type FileStat, isTempName, type WalkEntry } from '@cordon/files'
import { joinRel, type RelPath, ROOT, show } from '@cordon/policy'
import type { Command } from '../commands.ts'
import { Refusal } from '../errors.ts'
import { asRefusal, type Place, statOf } from '../pipeline/places.ts'
import type { AnyArgs } from './args.ts'
import { Capped, MOST_OUTPUT_BYTES } from './capped.ts'
import { requireSignedAnswer } from './content.ts'
import { HalfDone, type Operation, type Work } from './operation.ts'

/** Others have their turn after so many entries. */
const A_TURN = 100

const MOST_PATHS = 1000

type Walking = Pick<Work<'/filesystem/dir/tree'>, 'place' | 'deadline'>

export const absolute = ({ path, inside }: Pick<Place, 'path' | 'inside'>, found: RelPath): string => {
  const below = inside === ROOT ? found : found.slice(inside.length + 1)
  return path === '/' ? `/${below}` : `${path}/${below}`
}

export const treeDirectory: Operation<'/filesystem/dir/tree'> = {
  meaning: 'object',
  changes: false,
  run: async (work) => {
    const value = await treeOf(work)
    requireSignedAnswer(work, value)
    return { answer: { kind: 'json', value }, before: { entries: value.entries.length } }
  },
}

export interface TreeListing {
  readonly entries: readonly { readonly path: string; readonly kind: string }[]
  readonly truncated: boolean
  readonly withheld: number
  readonly unreadable: number
}

/** SPEC 7.3: capped. A directory below whose own tree is withheld is named, counted and not entered. */
export async function treeOf(work: Work<'/filesystem/dir/tree'>): Promise<TreeListing> {
  const { args, place, deadline } = work
  const entries = new Capped<{ path: string; kind: string }>()
  let withheld = 0
  let unreadable = 0
  const enter = (path: RelPath): boolean => {
    const answer = mayEnter(work, '/filesystem/dir/tree', path)
    if (answer === 'withheld') withheld++
    return answer === 'yes'
  }
  const walk = place.anchor.walk(place.inside, {
    maxDepth: args.depth ?? 64,
    enter,
    unreadable: () => void unreadable++,
  })
  let seen = 0
  for (const { path, kind } of walk) {
    if (++seen % A_TURN === 0) await deadline.breathe()
    if (path === undefined || isTempName(path.slice(path.lastIndexOf('/') + 1))) continue
    if (!entries.add({ path: absolute(place, path), kind })) break
  }
  return { entries: entries.items, truncated: entries.truncated, withheld, unreadable }
}

/** SPEC 7.4: whether a directory that was met on a walk is entered: the policy is asked about it, as about the one above. */
export function mayEnter(
  { place, may, cosigned }: Pick<Work<Command>, 'place' | 'may' | 'cosigned'>,
  command: '/filesystem/dir/tree' | '/filesystem/file/search',
  path: RelPath,
): 'yes' | 'gone' | 'withheld' {
  const stat = statOf(place.anchor, path)
  if (!stat) return 'gone'
  return may(command, { path: absolute(place, path), stat }, cosigned) ? 'yes' : 'withheld'
}

export interface TreeSurvey {
  readonly files: number
  readonly directories: number
  readonly bytes: number
  /** Of the files. */
  readonly links: number
  /** The first of them, absolute. */
  readonly paths: readonly string[]
  /** A letter for each of them. */
  readonly kinds: string
  readonly morePaths: boolean
  /** Over names, kinds and versions of everything below. */
  readonly digest: string
  /** Whether an entry was there, and the same one: everything below, by a hash of 16 bytes each. */
  readonly holds: (path: RelPath, stat: FileStat) => boolean
}

/** Each may refuse, which refuses the whole. */
export interface TreeChecks {
  readonly each?: (entry: Entry) => void
  /** Told of a name that is not UTF-8. */
  readonly unnameable?: () => void
  /** Told of a directory that cannot be listed. Without it, that refuses the whole. */
  readonly unreadable?: () => void
}

/** Everything below a directory, looked at and not touched. */
export async function surveyTree(
  { place, deadline }: Walking,
  { each, unnameable, unreadable }: TreeChecks = {},
  mostPaths: number = MOST_PATHS,
): Promise<TreeSurvey> {
  const digest = createHash('sha256')
  const met = new Set<string>()
  const paths: string[] = []
  let kinds = ''
  let [files, directories, bytes, links, seen] = [0, 0, 0, 0, 0]
  const options = { maxDepth: 256, ...(unreadable ? { unreadable } : {}) }
  for (const entry of place.anchor.walk(place.inside, options)) {
    if (++seen % A_TURN === 0) await deadline.breathe()
    const { path, kind } = entry
    if (path === undefined) {
      unnameable?.()
      digest.update(`${nameOf(entry)}\0${kind}\n`)
      files++
      continue
    }
    const stat = place.anchor.stat(path)
    const full = absolute(place, path)
    each?.({ path: full, stat })
    if (kind === 'directory') directories++
    else files++
    if (kind === 'link') links++
    if (kind === 'file') bytes += stat.size
    // A directory's own version changes with what is in it, which is hashed anyway.
    digest.update(`${full}\0${kind}\0${kind === 'directory' ? '' : stat.version}\n`)
    met.add(markOf(path, stat))
    if (paths.length >= mostPaths) continue
    paths.push(full)
    kinds += letterOf(kind)
  }
  return {
    files,
    directories,
    bytes,
    links,
    paths,
    kinds,
    morePaths: seen > paths.length,
    digest: digest.digest('hex'),
    holds: (path, stat) => met.has(markOf(path, stat)),
  }
}

/** As a person is shown it: a file, a directory, a link, or something else. */
export const letterOf = (kind: string | undefined): string =>
  kind === 'file' || kind === 'directory' || kind === 'link' ? kind.charAt(0) : 'o'

/** Short, as a tree may have hundreds of thousands of entries; of a directory, which one it is and not how it is. */
const markOf = (path: RelPath, { kind, identity, version }: FileStat): string =>
  hash('sha256', `${path}\0${kind}\0${kind === 'directory' ? identity : version}`, 'base64url').slice(0, 22)

const nameOf = ({ parent, bytes }: WalkEntry): string => `${joinRel(parent, ROOT)}/${bytes?.toString('hex')}`

/** SPEC 7.2: all that is below it, after everything was looked at; or, with `dry_run`, only that. */
export const deleteRecursively: Operation<'/filesystem/dir/delete_recursive'> = {
  meaning: 'entry',
  changes: true,
  run: async (work) => {
    const { args, place, deadline, may } = work
    // What a person signed for is looked at again: it took its time.
    const known = work.signedFor === undefined ? work.survey : undefined
    const survey = known ?? (await surveyRemoval(work))
    const { files, directories, bytes, digest, holds } = survey
    if (work.signedFor !== undefined && work.signedFor !== digest)
      throw new Refusal('changed', 'it holds something else than what was signed for; nothing was removed')
    const before = { sha256: digest, bytes, entries: files + directories }
    const told = { files, directories: directories + 1, bytes }
    if (args.dry_run === true) {
      const shown = may('/filesystem/dir/tree', place) ? shownOf(survey) : {}
      return { answer: { kind: 'json', value: { ...told, dry_run: true, ...shown } }, before }
    }
    // Exactly what was just compared and decided on: what came since is nobody's word.
    const removal = await place.anchor.removeTree(place.inside, { signal: deadline.signal, only: holds })
    const gone = removal.files + removal.others + removal.directories
    if (removal.failed && gone === 0) throw removal.failed
    if (removal.failed) {
      const { code, message } = whyEnded(removal.failed, work)
      const all = files + directories + 1
      throw new HalfDone(code, `${gone} of ${all} entries are gone: ${message}`, {
        before,
        after: { entries: all - gone },
      })
    }
    return {
      answer: { kind: 'json', value: { ...told, deleted: place.path } },
      before,
      after: { entries: 0 },
    }
  },
}

/** What was stopped says only that; why, is known to the deadline (SPEC 7.3: 504 when time was up). */
function whyEnded(failed: FileError, { deadline, place }: Work<Command>): Refusal {
  if (failed.code === 'FILE_STOPPED' && deadline.reason) return deadline.reason
  const refusal = asRefusal(failed, place.path)
  return refusal instanceof Refusal ? refusal : new Refusal('failed', failed.message)
}

export interface RemovalSurvey extends TreeSurvey {
  /** Of how many entries a person must sign for the removal, the directory itself among them; and the first of them. */
  readonly needPerson: number
  readonly needPersonPaths: readonly string[]
}

/**
 * Everything that would go, each allowed to: as a part of this, and by itself (decision 0591). With a signature for all of
 * it; without one, it says what needs one, and then all of it does (SPEC 7.5).
 */
export async function surveyRemoval(work: Work<Command>): Promise<RemovalSurvey> {
  const { place, may, cosigned } = work
  const { dry_run: dryRun = false }: AnyArgs = work.args
  let needPerson = 0
  const needPersonPaths: string[] = []
  const each = (entry: Entry): void => {
    if (!(cosigned && !dryRun) && may('/filesystem/dir/delete_recursive', entry)) return
    requireAlso({ may, cosigned: true }, entry)
    needPerson++
    if (needPersonPaths.length < MOST_PATHS) needPersonPaths.push(entry.path)
  }
  each(place)
  return { ...(await surveyTree(work, { each })), needPerson, needPersonPaths }
}

/** What is withheld below is not removed with the rest: nothing is. A signature is for all of it. */
export function requireAlso({ may, cosigned }: Pick<Work<Command>, 'may' | 'cosigned'>, entry: Entry): void {
  if (may('/filesystem/dir/delete_recursive', entry, cosigned)) return
  throw new Refusal(
    'policy_denied',
    `it holds ${show(entry.path)}, which the policy withholds; nothing was removed`,
  )
}

type Entry = Pick<Place, 'path' | 'stat'>

/** Of a dry run: what would go, and which of it a person has to sign for. */
function shownOf({ paths, morePaths, needPerson, needPersonPaths }: RemovalSurvey): object {
  const all = capPaths(paths)
  const signed = capPaths(needPersonPaths)
  return {
    paths: all.items,
    truncated: all.truncated || morePaths,
    ...(needPerson > 0 ? { needs_person: { entries: needPerson, paths: signed.items } } : {}),
  }
}

/** Two of them fit. */
function capPaths(paths: readonly string[]): Capped<string> {
  const capped = new Capped<string>(MOST_OUTPUT_BYTES / 2 - 1024)
  for (const path of paths) if (!capped.add(path)) break
  return capped
}
