import { lookAt } from '@cordon/policy'
import { type IdLength, readGitlinks } from '@cordon/sandbox'
import { entryOf } from '@cordon/workspace'
import { readBytes } from './read.ts'

/** Where git finds an index, and what its paths are relative to. */
export interface Checkout {
  readonly gitDir: string
  readonly worktree: string
  readonly idLength: IdLength
}

/** The same as it was when somebody looked. */
export interface SeenIndex extends Checkout {
  readonly state: string | undefined
  /** Paths that the index calls submodules: git looks into each, and obeys the configuration there. */
  readonly gitlinks: readonly string[]
  /** Why they are not known. */
  readonly unknown?: string
}

/** By git directory, what its index called submodules when a run began. */
export type KnownGitlinks = Readonly<Record<string, readonly string[]>>

/** Of about half a million entries. */
const LONGEST = 64 * 1024 * 1024

/** Decision 0590: what the index of a repository calls submodules, whether `.gitmodules` lists it or not. */
export function lookAtIndex(checkout: Checkout): SeenIndex {
  const file = entryOf(checkout.gitDir, 'index')
  const state = stateOf(file)
  const before = REMEMBERED.get(file)
  if (before !== undefined && before.state === state) return { ...checkout, ...before }
  const read = gitlinksIn(checkout, 'index')
  // Of a split index the other half may change alone.
  const isSettled = read.shared === undefined && read.unknown === undefined && isOld(file)
  const seen = { gitlinks: read.gitlinks, ...(read.unknown === undefined ? {} : { unknown: read.unknown }) }
  if (isSettled) REMEMBERED.set(file, { ...seen, state })
  else REMEMBERED.delete(file)
  return { ...checkout, ...seen, state: read.shared === undefined ? state : undefined }
}

/** In a session the same index is asked for at every call. */
const REMEMBERED = new Map<string, Pick<SeenIndex, 'state' | 'gitlinks'>>()

/** What an index says in the end, where it is another than at the start. */
export const indexAfter = (before: SeenIndex): SeenIndex | undefined =>
  before.state !== undefined && before.state === stateOf(entryOf(before.gitDir, 'index'))
    ? undefined
    : lookAtIndex(before)

interface Read {
  readonly gitlinks: readonly string[]
  readonly shared: string | undefined
  readonly unknown?: string
}

function gitlinksIn({ gitDir, idLength }: Checkout, name: string): Read {
  const bytes = readBytes(entryOf(gitDir, name), LONGEST)
  if ('unknown' in bytes) return { gitlinks: [], shared: undefined, unknown: bytes.unknown }
  if (bytes.bytes.length === 0) return { gitlinks: [], shared: undefined }
  const links = readGitlinks(bytes.bytes, idLength)
  if (!links) return { gitlinks: [], shared: undefined, unknown: 'is no index of a kind that is known here' }
  if (links.shared === undefined || name !== 'index') return { gitlinks: links.paths, shared: undefined }
  const rest = gitlinksIn({ gitDir, worktree: '', idLength }, links.shared)
  return { ...rest, gitlinks: [...links.paths, ...rest.gitlinks], shared: links.shared }
}

const stateOf = (file: string): string | undefined => {
  const stats = lookAt(file)
  return stats ? [stats.dev, stats.ino, stats.size, stats.ctimeMs].join(' ') : 'missing'
}

/** Another change in the same tick of the kernel's clock would not be seen. */
const TICK_MS = 100

const isOld = (file: string): boolean => Date.now() - (lookAt(file)?.ctimeMs ?? 0) > TICK_MS
