import { parseRelPath } from '@cordon/policy'
import { readSmall, reason } from '../durable.ts'

/** One remembered binding (SPEC 3.2), as it stands in the file. */
export interface MountApproval {
  readonly rule_path: string
  readonly canonical_target: string
  readonly approved_at: string
}

/** The whole file: categories and fields that this version does not know are carried along. */
type ApprovalsDocument = Readonly<Record<string, unknown>> & { readonly mounts: readonly unknown[] }

export type ReadResult =
  | { readonly kind: 'usable'; readonly document: ApprovalsDocument }
  /** No JSON, or of another shape: counts as empty, and is kept aside before it is replaced. */
  | { readonly kind: 'malformed'; readonly problem: string }
  /** Cannot be read or cannot be trusted: counts as empty, and is never replaced. */
  | { readonly kind: 'unusable'; readonly problem: string }

const LARGEST = 16 * 1024 * 1024

export async function readDocument(file: string, uid: number | undefined): Promise<ReadResult> {
  let found
  try {
    found = await readSmall(file, LARGEST)
  } catch (error) {
    return { kind: 'unusable', problem: reason(error) }
  }
  if (!found) return { kind: 'usable', document: { mounts: [] } }
  // An approval is the user's word. A file that others can write is anybody's word.
  if (uid !== undefined && found.uid !== uid)
    return { kind: 'unusable', problem: `it belongs to the user with id ${found.uid}` }
  if ((found.mode & 0o022) !== 0)
    return {
      kind: 'unusable',
      problem: 'others may write to it; run `chmod 600` on it if its content is yours',
    }
  return parseDocument(found.bytes)
}

function parseDocument(bytes: Buffer): ReadResult {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return { kind: 'malformed', problem: 'it is not JSON' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { kind: 'malformed', problem: 'it is not a JSON object' }
  const mounts: unknown = Object.hasOwn(value, 'mounts') ? (value as { mounts?: unknown }).mounts : []
  if (!Array.isArray(mounts)) return { kind: 'malformed', problem: '"mounts" is not a list' }
  return { kind: 'usable', document: { ...value, mounts } }
}

/** Undefined for an entry that approves nothing: wrong types, a rule path that escapes, a relative target. */
export function asApproval(entry: unknown): MountApproval | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { rule_path, canonical_target, approved_at } = entry as Partial<Record<keyof MountApproval, unknown>>
  if (typeof rule_path !== 'string' || typeof canonical_target !== 'string') return undefined
  if (!canonical_target.startsWith('/')) return undefined
  try {
    // Written by hand it may be `./fork`; it is compared in the form that rules have.
    const normal = parseRelPath(rule_path)
    return {
      rule_path: normal,
      canonical_target,
      approved_at: typeof approved_at === 'string' ? approved_at : '',
    }
  } catch {
    return undefined
  }
}
