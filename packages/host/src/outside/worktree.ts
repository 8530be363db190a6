import { dirname, basename, join } from 'node:path'
import { type AccessPolicy, type Capability, FsIndex, ROOT } from '@cordon/policy'
import type { OutsideRule } from '@cordon/sandbox'
import { lookAt, strangerIn, type Surroundings } from '@cordon/workspace'
import { isGitDirectory } from '../guard/git.ts'
import { readText, realDirectory } from '../guard/read.ts'
import { relativeToRoot } from './place.ts'

/**
 * SPEC 4.8: of a linked worktree the repository lies elsewhere. It is granted like the workspace, when it says itself that
 * this is a worktree of it: a `.git` file alone could name anybody's repository.
 */
export function worktreeRule(
  root: string,
  policies: readonly AccessPolicy[],
  surroundings: Surroundings,
): OutsideRule | undefined {
  const common = commonDirectory(root)
  if (common === undefined || relativeToRoot(common).startsWith(`${relativeToRoot(root)}/`)) return undefined
  const stats = lookAt(common)
  if (!stats || strangerIn(stats, surroundings)) return undefined
  const grants = new Set<Capability>(
    policies.flatMap(({ fs }) => [...(new FsIndex(fs).governing(ROOT)?.grants ?? [])]),
  )
  return {
    outside: true,
    path: relativeToRoot(common),
    grants,
    external: false,
    origin: 'the repository of this linked worktree',
  }
}

/** `<common>/worktrees/<name>`, where `.git` says it is, and where a `gitdir` names that `.git` back. */
function commonDirectory(root: string): string | undefined {
  const marker = join(root, '.git')
  if (!lookAt(marker)?.isFile()) return undefined
  const named = pathIn(marker, 'gitdir: ')
  const gitDir =
    named === undefined ? undefined : realDirectory(named.startsWith('/') ? named : join(root, named))
  if (gitDir === undefined || basename(dirname(gitDir)) !== 'worktrees') return undefined
  const common = dirname(dirname(gitDir))
  const back = pathIn(join(gitDir, 'gitdir'), '')
  if (back === undefined || basename(back) !== '.git' || !isGitDirectory(common)) return undefined
  return realDirectory(dirname(back.startsWith('/') ? back : join(gitDir, back))) === root
    ? common
    : undefined
}

function pathIn(file: string, before: string): string | undefined {
  if (!lookAt(file)?.isFile()) return undefined // a link could lead to anybody's
  const read = readText(file)
  if ('unknown' in read || !read.text.startsWith(before)) return undefined
  return read.text.slice(before.length).replace(/[\r\n]+$/, '')
}
