import { below, show } from '@cordon/policy'
import type { Plan } from '@cordon/sandbox'

/**
 * SPEC 4.3: why the entry is neither moved nor removed inside, whatever the rules grant: something is mounted on it, because
 * what lies below it is held apart, and would else go on under another name. Undefined: nothing is.
 */
export function whyPinned(place: string, { items, isolation, survey: { root } }: Plan): string | undefined {
  if (isolation !== 'namespaces' || below(place, root.canonical) !== undefined) return undefined
  const mounts = items.flatMap((item) => (MOUNTS.has(item.tag) && 'path' in item ? [item.path] : []))
  if (!mounts.includes(place)) return undefined
  const held = mounts.filter((path) => path !== place && below(place, path) !== undefined)
  if (held.length === 0) return KEPT
  // Of those the directories on the way are mounts as well.
  const first = held.find((path) => !held.some((other) => other !== path && below(path, other) !== undefined))
  const name = first === undefined ? undefined : below(root.canonical, first)
  return `${name === undefined ? 'something' : show(name)} below it is held by a mount of its own, so it is not moved or removed`
}

/** What is mounted on a path of the host. */
const MOUNTS: ReadonlySet<string> = new Set(['bind', 'pin-link', 'cover'])

const KEPT = 'it is held by a mount of its own, so it is not moved or removed'
