import { CAPABILITIES, type Capability } from '@cordon/policy'
import { ABI_WITH_TRUNCATE } from '../linux/landlock.ts'
import { type MountAttribute } from '../linux/items.ts'
import { type Held } from './types.ts'

/** What this run can use. */
export interface Means {
  readonly mounts: boolean
  readonly landlockAbi: number
}

/** How one region is held: what is mounted there, and who answers for each capability. */
export interface Hold {
  readonly cover: boolean
  /** None where nothing can be mounted. */
  readonly attributes: readonly MountAttribute[]
  readonly held: Readonly<Record<Capability, Held>>
  /** Whether there is one that nobody can hold. */
  readonly leaks: boolean
}

interface Question {
  readonly kind: 'dir' | 'file'
  readonly grants: ReadonlySet<Capability>
  /** What lies above gives this, and Landlock can only ever add to it (SPEC 4.3). */
  readonly inherited: ReadonlySet<Capability>
  readonly means: Means
}

export const WRITING: readonly Capability[] = ['create', 'update', 'delete']

/**
 * The whole table of who can hold what. Landlock gives each capability separately and takes none away from
 * a subtree; a mount takes away all writing, or executing, or everything. So a narrower region is
 * exact unless it keeps some writing and loses other, or loses reading and keeps something (decision 0041).
 */
export function hold(question: Question): Hold {
  const { kind, grants, means } = question
  const cover = means.mounts && grants.size === 0
  // A file is its own mount point: it cannot be removed or replaced, so only its content is in question.
  const writing =
    kind === 'file' ? grants.has('update') : WRITING.some((capability) => grants.has(capability))
  const attributes: readonly MountAttribute[] = means.mounts
    ? [
        ...(writing ? [] : (['read-only'] as const)),
        ...(grants.has('execute') ? [] : (['no-exec'] as const)),
        'no-suid',
        'no-dev',
      ]
    : []
  const answer = (capability: Capability): Held => {
    if (grants.has(capability))
      return { by: 'kernel', mechanism: means.landlockAbi > 0 ? 'landlock' : 'mount' }
    if (cover) return { by: 'kernel', mechanism: 'covered by an unreadable mount' }
    if (means.mounts && !writing && WRITING.includes(capability))
      return { by: 'kernel', mechanism: 'read-only mount' }
    if (means.mounts && capability === 'execute') return { by: 'kernel', mechanism: 'no-exec mount' }
    if (means.mounts && kind === 'file' && (capability === 'create' || capability === 'delete'))
      return { by: 'kernel', mechanism: 'mount point' }
    return withheldByLandlock(capability, question)
  }
  const held = Object.fromEntries(CAPABILITIES.map((c) => [c, answer(c)])) as Record<Capability, Held>
  return {
    cover,
    attributes,
    held,
    leaks: Object.values(held).some(({ by }) => by === 'not enforceable here'),
  }
}

function withheldByLandlock(capability: Capability, { inherited, means }: Question): Held {
  if (means.landlockAbi === 0)
    return { by: 'not enforceable here', why: 'the kernel has no Landlock to withhold it with' }
  if (capability === 'update' && means.landlockAbi < ABI_WITH_TRUNCATE)
    return { by: 'not enforceable here', why: 'before Landlock ABI 3 files can still be truncated' }
  if (!inherited.has(capability)) return { by: 'kernel', mechanism: 'landlock' }
  return {
    by: 'not enforceable here',
    why: means.mounts
      ? `a wider rule grants ${capability}; Landlock cannot take it back, and a mount could only take back ${
          capability === 'read' ? 'everything' : 'all writing'
        }`
      : `a wider rule grants ${capability}, and without namespaces nothing can be mounted to take it back`,
  }
}
