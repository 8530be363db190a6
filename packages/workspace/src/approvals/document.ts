import { sha256 as digestOf } from './digest.ts'
import { parseRelPath, type RelPath } from '@cordon/policy'
import { readSmall, reason, type SmallFile } from '../small-files.ts'

/** One remembered binding (SPEC 3.2), as it stands in the file. */
export interface MountApproval {
  readonly rule_path: string
  readonly canonical_target: string
  readonly approved_at: string
}

/** One text that a person trusted (SPEC 2.1), as it stands in the file. */
export interface ConfigTrust {
  /** Relative to the workspace's root; `conversations/<id>` for what a conversation says. */
  readonly path: string
  /** The digest decides, or the text where nobody has edited the file (decision 0580). */
  readonly sha256: string
  readonly trusted_at: string
  /** What it was, to show the difference to what comes later. Absent when it was too long to keep. */
  readonly text?: string
}

/** One MCP server as it was first seen, or as a person accepted it later, as it stands in the file. */
export interface ServerSeen {
  readonly server: string
  /** SHA-256 of its command line: another one is another server, which whoever wrote it stands for. */
  readonly command: string
  /** What the command line led to, as lines for people. */
  readonly program: string
  /** Absent until it was asked for them. */
  readonly tools?: readonly ToolSeen[]
  /** For which clients it was asked, by what those can be asked for: it may offer more to some. Absent: for all there are. */
  readonly clients?: readonly string[]
  readonly seen_at: string
  /** What it is or offers by now, and nobody has accepted. */
  readonly waiting?: { readonly program?: string; readonly tools?: readonly ToolSeen[] }
}

/** All that a model is told about a tool. */
export interface ToolSeen {
  readonly name: string
  /** The digest decides alone. */
  readonly sha256: string
  /** Absent when it was too long to keep. */
  readonly text?: string
}

export type Category = 'mounts' | 'configs' | 'servers'

/** The whole file: categories and fields that this version does not know are carried along. */
type ApprovalsDocument = Readonly<Record<string, unknown>> &
  Readonly<Partial<Record<Category, readonly unknown[]>>>

export type ReadResult =
  /** `isAsWritten`: nobody has changed it since Cordon wrote it, so each text in it is the one of its digest. */
  | { readonly kind: 'usable'; readonly document: ApprovalsDocument; readonly isAsWritten: boolean }
  /** No JSON, or of another shape: counts as empty, and is kept aside before it is replaced. */
  | { readonly kind: 'malformed'; readonly problem: string }
  /** Cannot be read or cannot be trusted: counts as empty, and is never replaced. */
  | { readonly kind: 'unusable'; readonly problem: string }

export const LARGEST = 16 * 1024 * 1024

export function readDocument(file: string, uid: number | undefined): ReadResult {
  let found
  try {
    found = readSmall(file, LARGEST)
  } catch (error) {
    return { kind: 'unusable', problem: reason(error) }
  }
  if (!found) return { kind: 'usable', document: {}, isAsWritten: false }
  // An approval is the user's word. A file that others can write is anybody's word.
  if (uid !== undefined && found.uid !== uid)
    return { kind: 'unusable', problem: `it belongs to the user with id ${found.uid}` }
  if ((found.mode & 0o022) !== 0)
    return {
      kind: 'unusable',
      problem: 'others may write to it; run `chmod 600` on it if its content is yours',
    }
  return parseDocument(found)
}

function parseDocument({ bytes, modifiedMs }: Pick<SmallFile, 'bytes' | 'modifiedMs'>): ReadResult {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return { kind: 'malformed', problem: 'it is not JSON' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { kind: 'malformed', problem: 'it is not a JSON object' }
  for (const category of CATEGORIES)
    if (Object.hasOwn(value, category) && !Array.isArray((value as Record<string, unknown>)[category]))
      return { kind: 'malformed', problem: `"${category}" is not a list` }
  const { as_written } = value as { readonly as_written?: unknown }
  return {
    kind: 'usable',
    document: { ...value },
    isAsWritten: typeof as_written === 'number' && as_written * 1000 === modifiedMs,
  }
}

/**
 * The document as it is to be written. One in which each text is that of its digest says when it was written, and the file is given
 * that time: it has it as long as nobody edits it (decision 0580). In whole seconds, which every filesystem keeps.
 */
export function writing(document: ApprovalsDocument, now: Date): { text: string; modifiedAt: number } {
  const modifiedAt = Math.floor(now.getTime() / 1000)
  const { as_written: _, ...others } = document
  const dated = document.configs?.every(isSound) ? { ...others, as_written: modifiedAt } : others
  return { text: `${JSON.stringify(dated, undefined, 2)}\n`, modifiedAt }
}

function isSound(entry: unknown): boolean {
  const trust = asTrust(entry)
  return trust?.text === undefined || digestOf(trust.text) === trust.sha256
}

const CATEGORIES: readonly Category[] = ['mounts', 'configs', 'servers']

/** Undefined for an entry that trusts nothing: wrong types, a path that escapes, a digest that is none. */
export function asTrust(entry: unknown): ConfigTrust | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { path, sha256, trusted_at, text } = entry as Partial<Record<keyof ConfigTrust, unknown>>
  if (typeof path !== 'string' || typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256))
    return undefined
  const normal = relPath(path)
  if (normal === undefined) return undefined
  return {
    path: normal,
    sha256,
    trusted_at: typeof trusted_at === 'string' ? trusted_at : '',
    ...(typeof text === 'string' ? { text } : {}),
  }
}

/** Undefined for an entry that approves nothing: wrong types, a rule path that escapes, a relative target. */
export function asApproval(entry: unknown): MountApproval | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { rule_path, canonical_target, approved_at } = entry as Partial<Record<keyof MountApproval, unknown>>
  if (typeof rule_path !== 'string' || typeof canonical_target !== 'string') return undefined
  if (!canonical_target.startsWith('/')) return undefined
  const normal = relPath(rule_path)
  if (normal === undefined) return undefined
  return {
    rule_path: normal,
    canonical_target,
    approved_at: typeof approved_at === 'string' ? approved_at : '',
  }
}

/** Undefined for an entry that accepts nothing. */
export function asServer(entry: unknown): ServerSeen | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { server, command, program, tools, clients, seen_at, waiting } = entry as Partial<
    Record<keyof ServerSeen, unknown>
  >
  if (typeof server !== 'string' || typeof command !== 'string' || typeof program !== 'string')
    return undefined
  const known = toolsIn(tools)
  if (tools !== undefined && !known) return undefined
  return {
    server,
    command,
    program,
    ...(known ? { tools: known } : {}),
    ...(isTexts(clients) ? { clients } : {}),
    seen_at: typeof seen_at === 'string' ? seen_at : '',
    ...waitingIn(waiting),
  }
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')

function waitingIn(value: unknown): Pick<ServerSeen, 'waiting'> {
  if (typeof value !== 'object' || value === null) return {}
  const { program, tools } = value as Record<string, unknown>
  const known = toolsIn(tools)
  return {
    waiting: {
      ...(typeof program === 'string' ? { program } : {}),
      ...(known ? { tools: known } : {}),
    },
  }
}

function toolsIn(value: unknown): readonly ToolSeen[] | undefined {
  return Array.isArray(value) && value.every(isToolSeen) ? value : undefined
}

const isToolSeen = (value: unknown): value is ToolSeen => {
  if (typeof value !== 'object' || value === null) return false
  const { name, sha256, text } = value as Record<string, unknown>
  return (
    typeof name === 'string' &&
    typeof sha256 === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    (text === undefined || typeof text === 'string')
  )
}

/** Written by hand it may be `./fork`; it is compared in the form that rules have. */
function relPath(text: string): RelPath | undefined {
  try {
    return parseRelPath(text)
  } catch {
    return undefined
  }
}
