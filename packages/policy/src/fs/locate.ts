import { DeniedError, EscapeError } from './errors.ts'
import { type CanonicalPath, type FsRule, type RelPath } from '../rules.ts'
import { canonicalize, canonicalizeRoot } from './canonical.ts'
import { ignoresCase } from './case-fold.ts'
import { type FsIndex } from './fs-index.ts'
import { below, type FoldCase, joinRel, parseRelPath, ROOT, splitEntry } from './rel-path.ts'

/** The workspace root as the filesystem sees it. */
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
}

/**
 * SPEC 1.3 steps 1 to 3 for the *object* a path names: links are followed to the end. Throws on what
 * cannot be a path and on what lies outside; decides nothing about capabilities.
 */
export function locateObject(root: Root, index: FsIndex | undefined, input: string): Location {
  return place(root, index, parseRelPath(input), input)
}

/**
 * The same for the directory *entry* a path names, which is what `delete` and the source of a move act
 * on: the parent is resolved, the last component kept, so a link is removed and never its target.
 */
export function locateEntry(root: Root, index: FsIndex | undefined, input: string): Location {
  const entry = splitEntry(parseRelPath(input))
  if (!entry) throw refuseEntry(ROOT, 'the workspace root is not an entry of the workspace')
  const parent = place(root, index, entry.parent, input)
  const relative = joinRel(parent.relative, entry.name)
  if (index?.at(relative)?.external)
    throw refuseEntry(relative, 'a mount point is not removed or moved by a tool')
  const slash = parent.absolute === '/' ? '' : '/'
  return {
    absolute: `${parent.absolute}${slash}${entry.name}` as CanonicalPath,
    relative,
    anchor: parent.anchor,
    inside: joinRel(parent.inside, entry.name),
  }
}

function place(root: Root, index: FsIndex | undefined, path: RelPath, input: string): Location {
  const absolute = canonicalize(root.path, path)
  const named = index?.governing(path)
  const location = named?.external
    ? placeInMount(root, named, path, absolute, input)
    : placeInWorkspace(root, absolute, input)
  // Links may lead from one rule's ground to another's; the rule that will decide has its boundary too.
  const deciding = location.relative === path ? named : index?.governing(location.relative)
  const boundary = deciding?.approvedTarget
  if (boundary !== undefined && below(boundary, absolute, root.foldCase) === undefined)
    throw new EscapeError(input, 'target', deciding?.path)
  return location
}

function placeInWorkspace(root: Root, absolute: CanonicalPath, input: string): Location {
  const relative = below(root.path, absolute, root.foldCase)
  if (relative === undefined) throw new EscapeError(input, 'target')
  return { absolute, relative, anchor: root.path, inside: relative }
}

/** SPEC 3.1: inside a mount nothing may leave the approved target, not even back into the workspace. */
function placeInMount(
  root: Root,
  mount: FsRule,
  path: RelPath,
  absolute: CanonicalPath,
  input: string,
): Location {
  const target = mount.approvedTarget as CanonicalPath | undefined
  // A tombstone has no target to be under; it grants nothing, and that is the answer wherever the link leads.
  if (target === undefined) return { absolute, relative: path, anchor: root.path, inside: path }
  const inside = below(target, absolute, root.foldCase)
  if (inside === undefined) throw new EscapeError(input, 'target', mount.path)
  // A target that contains the workspace must not give its files a second name that dodges their rules.
  if (below(root.path, absolute, root.foldCase) !== undefined) return placeInWorkspace(root, absolute, input)
  return { absolute, relative: joinRel(mount.path, inside), anchor: target, inside }
}

const refuseEntry = (target: RelPath, because: string): DeniedError =>
  new DeniedError({ capability: 'delete', target, rule: undefined, grants: [], because })
