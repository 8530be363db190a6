import { basename, dirname, join } from 'node:path'
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
import { isGitDirectory } from '../guard/git.ts'
import { parseGitConfig } from '../guard/git-config.ts'
import { readText, realDirectory } from '../guard/read.ts'
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
    return isGitDirectory(common) && namesWorktree(gitDir, root)
      ? { kind: 'linked worktree', path: common }
      : undefined
  }
  return isModule(gitDir) && namesModule(gitDir, root) ? { kind: 'submodule', path: gitDir } : undefined
}

/** `<common>/worktrees/<name>` has a `gitdir`, which names the worktree's `.git` back. */
function namesWorktree(gitDir: string, root: string): boolean {
  const back = pathIn(join(gitDir, 'gitdir'), '')
  return back !== undefined && basename(back) === '.git' && directoryAt(dirname(back), gitDir) === root
}

/** `<repository>/modules/<name>`; a name may have slashes. */
const isModule = (gitDir: string): boolean =>
  isGitDirectory(gitDir) &&
  upwards(gitDir as CanonicalPath).some(
    (dir) => basename(dir) === 'modules' && lookAt(join(dirname(dir), 'HEAD')) !== undefined,
  )

/** A submodule's git directory says in its configuration where the files are. One around its own files is nobody's submodule. */
function namesModule(gitDir: string, root: string): boolean {
  const config = join(gitDir, 'config')
  if (!lookAt(config)?.isFile() || below(gitDir, root) !== undefined) return false
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
