import { lstatSync } from 'node:fs'
import { DeniedError, EscapeError, UnresolvableError } from './errors.ts'
import { type CanonicalPath, type Capability, type FsRule, type RelPath } from '../rules.ts'
import { canonicalize, canonicalizeRoot } from './canonical.ts'
import { ignoresCase, sameFile } from './case-fold.ts'
import { type FsIndex } from './fs-index.ts'
import { below, type FoldCase, joinRel, parseRelPath, ROOT, splitEntry } from './rel-path.ts'

/** The workspace root as the filesystem sees it (decision 0003). */
export interface Root {
  readonly path: CanonicalPath
  readonly foldCase: FoldCase
}

/** Uses the process's authority to look at the root; everything below is relative to what it found. */
export function openAmbientRoot(path: string): Root {
  const canonical = canonicalizeRoot(path)
  return { path: canonical, foldCase: ignoresCase(canonical) ? 'folded' : 'exact' }
}

/** Where an input path really is. `absolute` is `anchor` joined with `inside`, with no link between them. */
export interface Location {
  readonly absolute: CanonicalPath
  /** The form that rules are matched on: canonical, with the mount's name instead of its target. */
  readonly relative: RelPath
  /** The directory that anchored I/O holds (SPEC 6.4): the root, or the mount's approved target. */
  readonly anchor: CanonicalPath
  readonly inside: RelPath
  /** Of an entry: it is a link itself. A rule for its path would speak of what it leads to. */
  readonly isLink?: true
}

/** What a path stands for: what its links lead to in the end, or the entry of a directory, which may be a link itself. */
export type Meant = 'object' | 'entry'

/** SPEC 1.3: of what is asked for, only `delete` is about the entry by itself; a move takes both of its names so. */
export const meantBy = (want: Capability): Meant => (want === 'delete' ? 'entry' : 'object')

export const locate = (
  root: Root,
  index: FsIndex | undefined,
  input: string,
  want: Capability,
  meant: Meant = meantBy(want),
): Location =>
  meant === 'entry' ? locateEntry(root, index, input, want) : locateObject(root, index, input, want)

/**
 * SPEC 1.3 steps 1 to 3 for the *object* a path names: links are followed to the end. Throws on what
 * cannot be a path, on what lies outside, and on what only a tombstone covers; other than that it decides
 * nothing about capabilities.
 */
export function locateObject(
  root: Root,
  index: FsIndex | undefined,
  input: string,
  want: Capability,
): Location {
  return place(root, index, parseRelPath(input), { input, want })
}

/**
 * The same for the directory *entry* a path names, which is what `delete` and the source of a move act
 * on: the parent is resolved, the last component kept, so a link is removed and never its target (decision 0021).
 */
export function locateEntry(
  root: Root,
  index: FsIndex | undefined,
  input: string,
  want: Capability = 'delete',
): Location {
  const entry = splitEntry(parseRelPath(input))
  const refuseEntry = (target: RelPath, because: string): DeniedError =>
    new DeniedError({ capability: want, target, rule: undefined, grants: [], because })
  if (!entry) throw refuseEntry(ROOT, 'the workspace root is not an entry of the workspace')
  const parent = place(root, index, entry.parent, { input, want })
  const relative = joinRel(parent.relative, entry.name)
  const slash = parent.absolute === '/' ? '' : '/'
  const absolute = `${parent.absolute}${slash}${entry.name}` as CanonicalPath
  // A mount may lead to a directory that holds the workspace, and name the root as its entry.
  if (within(root, absolute, root.path) !== undefined)
    throw refuseEntry(relative, 'it holds the workspace, which is not removed or moved by a tool')
  if (isMountPoint(index?.at(relative), absolute))
    throw refuseEntry(relative, 'a mount point is not removed or moved by a tool')
  const inside = joinRel(parent.inside, entry.name)
  return { absolute, relative, anchor: parent.anchor, inside, ...(isLink(absolute) ? { isLink: true } : {}) }
}

/** What cannot be looked at is told by whoever acts on it. */
function isLink(path: CanonicalPath): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  } catch {
    return false
  }
}

/** A rule inside a mount is external as well, but what it names is the object itself and no link to it. */
const isMountPoint = (rule: FsRule | undefined, absolute: CanonicalPath): boolean =>
  rule !== undefined && rule.external && rule.approvedTarget !== absolute

interface Request {
  readonly input: string
  readonly want: Capability
}

function place(root: Root, index: FsIndex | undefined, path: RelPath, request: Request): Location {
  const named = index?.bounding(path)
  // A tombstone has no target to be under; it grants nothing, and that is the answer wherever the link leads.
  if (index && named?.external && named.approvedTarget === undefined)
    throw new DeniedError({ capability: request.want, target: path, rule: named, grants: index.granting })
  const { input } = request
  const absolute = resolve(root, index, path, request)
  const location =
    named?.approvedTarget === undefined
      ? placeInWorkspace(root, absolute, input)
      : placeInMount(root, named.path, named.approvedTarget as CanonicalPath, absolute, input)
  // Links may lead from one rule's ground to another's; the rule that will decide has its boundary too.
  const deciding = location.relative === path ? named : index?.bounding(location.relative)
  const boundary = deciding?.approvedTarget
  if (boundary !== undefined && within(root, boundary, absolute) === undefined)
    throw new EscapeError(input, 'target', deciding?.path)
  return location
}

/**
 * Inside the sandbox the kernel does not even let a tool look at what a rule withholds (SPEC 4.3). The rule is then the
 * reason and not the error that it caused; the answer is no in either case.
 */
function resolve(
  root: Root,
  index: FsIndex | undefined,
  path: RelPath,
  { input, want }: Request,
): CanonicalPath {
  try {
    return canonicalize(root.path, path)
  } catch (error) {
    const target = parseRelPath(input)
    const rule = index?.governing(target)
    if (
      !index ||
      !(error instanceof UnresolvableError) ||
      error.reason !== 'EACCES' ||
      rule?.grants.has(want)
    )
      throw error
    throw new DeniedError({ capability: want, target, rule, grants: index.granting })
  }
}

function placeInWorkspace(root: Root, absolute: CanonicalPath, input: string): Location {
  const relative = within(root, root.path, absolute)
  if (relative === undefined) throw new EscapeError(input, 'target')
  return { absolute, relative, anchor: root.path, inside: relative }
}

/** SPEC 3.1: inside a mount nothing may leave the approved target, not even back into the workspace. */
function placeInMount(
  root: Root,
  mount: RelPath,
  target: CanonicalPath,
  absolute: CanonicalPath,
  input: string,
): Location {
  const inside = within(root, target, absolute)
  if (inside === undefined) throw new EscapeError(input, 'target', mount)
  // A target that contains the workspace must not give its files a second name that dodges their rules.
  if (within(root, root.path, absolute) !== undefined) return placeInWorkspace(root, absolute, input)
  return { absolute, relative: joinRel(mount, inside), anchor: target, inside }
}

/**
 * SPEC 1.3: compared folded where the root ignores case. But the directories above it may not, so two
 * that only fold alike must also be one file before the answer is yes.
 */
function within(root: Root, base: string, path: string): RelPath | undefined {
  const exact = below(base, path)
  if (exact !== undefined || root.foldCase === 'exact') return exact
  const folded = below(base, path, 'folded')
  const spelled = path.split('/').slice(0, base.split('/').length).join('/')
  return folded !== undefined && sameFile(base, spelled) === true ? folded : undefined
}
