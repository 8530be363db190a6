import { basename, dirname, join, resolve } from 'node:path'
import {
  type AccessPolicy,
  below,
  type CanonicalPath,
  type Capability,
  FsIndex,
  type FsRule,
  lookAt,
  ROOT,
} from '@cordon/policy'
import type { OutsideRule } from '@cordon/sandbox'
import { strangerIn, type Surroundings, upwards } from '@cordon/workspace'
import { isWholeGitDirectory } from '../guard/git.ts'
import { parseGitConfig } from '../guard/git-config.ts'
import { entriesOf, readText, realDirectory } from '../guard/read.ts'
import { relativeToRoot } from './place.ts'

/**
 * SPEC 4.8: of a linked worktree, and of a submodule, the git directory lies elsewhere. It is granted like the workspace,
 * when it says itself that this is its work tree: a `.git` file alone could name anybody's repository.
 */
export function gitDirectoryRule(
  root: string,
  policies: readonly AccessPolicy[],
  surroundings: Surroundings,
): OutsideRule | undefined {
  const found = gitDirectoryOf(root)
  if (found === undefined || below(root, found.path) !== undefined) return undefined
  const stats = lookAt(found.path)
  if (!stats || strangerIn(stats, surroundings)) return undefined
  const grants = new Set<Capability>(
    policies.flatMap(({ fs }) => [...(new FsIndex(fs).governing(ROOT)?.grants ?? [])]),
  )
  return {
    outside: true,
    path: relativeToRoot(found.path),
    grants,
    external: false,
    origin: `${ORIGIN} ${found.kind}`,
  }
}

const ORIGIN = 'the repository of this'

/** Nobody named its directory, so a flag does: one for a part of it would be the first of many. */
export const isGitDirectoryRule = ({ origin }: Pick<FsRule, 'origin'>): boolean =>
  origin?.startsWith(`${ORIGIN} `) === true

interface GitDirectory {
  readonly kind: 'linked worktree' | 'submodule'
  readonly path: string
}

function gitDirectoryOf(root: string): GitDirectory | undefined {
  const gitDir = directoryNamedIn(join(root, '.git'), 'gitdir: ', root)
  if (gitDir === undefined) return undefined
  if (basename(dirname(gitDir)) === 'worktrees') {
    const common = dirname(dirname(gitDir))
    return isApart(common, root) && isNamedAsGits(common) && namesWorktree(gitDir, root)
      ? { kind: 'linked worktree', path: common }
      : undefined
  }
  return isApart(gitDir, root) && isModule(gitDir) && namesModule(gitDir, root)
    ? { kind: 'submodule', path: gitDir }
    : undefined
}

/** A repository to git, and not around the work tree: what lies around that is nobody's to give to it. */
const isApart = (gitDir: string, root: string): boolean =>
  below(gitDir, root) === undefined && isWholeGitDirectory(gitDir)

/**
 * Decision 0661: a command can add to any directory of its workspace what makes a repository of it, and with it everything that lies
 * there would be granted. So it is called `.git`, or is a bare one: nothing lies in it but what git makes.
 */
const isNamedAsGits = (dir: string): boolean => basename(dir) === '.git' || holdsNothingElse(dir)

function holdsNothingElse(dir: string): boolean {
  const { entries, more } = entriesOf(dir, MOST_OF_GIT)
  return !more && entries.every(({ name }) => OF_GIT.test(name))
}

const MOST_OF_GIT = 200

/** At the top of a git directory; a file that is locked, and what Cordon moved aside. */
const OF_GIT = new RegExp(
  String.raw`^(?:HEAD|[A-Z]+(?:_[A-Z]+)*_HEAD|config|config\.worktree|description|hooks|info|objects|refs|reftable|packed-refs|shallow|worktrees|modules|branches|remotes|logs|lfs|rr-cache|index|sharedindex\.[0-9a-f]+|gc\.(?:log|pid)|(?:COMMIT_EDIT|TAG_EDIT|MERGE_|SQUASH_)MSG|MERGE_(?:MODE|RR|AUTOSTASH)|AUTO_MERGE|BISECT_[A-Z_]+|EDIT_DESCRIPTION|rebase-(?:merge|apply)|sequencer)(?:\.lock|\.denied-by-cordon-[0-9a-z]+)?$`,
)

/** `<common>/worktrees/<name>` has a `gitdir`, which names the worktree's `.git` back, as git writes it: over no link. */
function namesWorktree(gitDir: string, root: string): boolean {
  const back = pathIn(join(gitDir, 'gitdir'), '')
  return back !== undefined && resolve(gitDir, back) === join(root, '.git')
}

/** `<repository>/modules/<name>`; a name may have slashes. */
function isModule(gitDir: string): boolean {
  const around = upwards(gitDir as CanonicalPath)
  const isGits = around.some((dir) => basename(dir) === '.git') || holdsNothingElse(gitDir)
  return (
    isGits &&
    around.some((dir) => basename(dir) === 'modules' && lookAt(join(dirname(dir), 'HEAD')) !== undefined)
  )
}

/** A submodule's git directory says in its configuration where the files are. */
function namesModule(gitDir: string, root: string): boolean {
  const config = join(gitDir, 'config')
  if (!lookAt(config)?.isFile()) return false
  const read = readText(config)
  const settings = 'text' in read ? parseGitConfig(read.text) : []
  const back = settings.findLast(({ key }) => key === 'core.worktree')?.value
  return back !== undefined && directoryAt(back, gitDir) === root
}

function directoryNamedIn(file: string, before: string, from: string): string | undefined {
  const path = pathIn(file, before)
  return path === undefined ? undefined : directoryAt(path, from)
}

const directoryAt = (path: string, from: string): string | undefined =>
  realDirectory(path.startsWith('/') ? path : join(from, path))

function pathIn(file: string, before: string): string | undefined {
  if (!lookAt(file)?.isFile()) return undefined // a link could lead to anybody's
  const read = readText(file)
  if ('unknown' in read || !read.text.startsWith(before)) return undefined
  return read.text.slice(before.length).replace(/[\r\n]+$/, '')
}
