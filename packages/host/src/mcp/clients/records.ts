import { join } from 'node:path'
import { replaceDurably } from '@cordon/files'
import { CordonError, show } from '@cordon/policy'
import {
  makePrivateDirectory,
  readSmall,
  reason,
  type Surroundings,
  userDataDir,
  withLock,
} from '@cordon/workspace'
import type { EditableLayer } from '../../project.ts'
import { sweepBackups } from './backups.ts'
import type { Launch } from './document.ts'
import type { ClientId } from './places.ts'

/** A server of ours that came from a client's file, and the way back. */
export interface ImportedServer {
  readonly name: string
  readonly layer: EditableLayer
  /** The workspace whose layer it is; null for the user's own. */
  readonly root: string | null
  /** The workspace that the client's entry is for; null: a person's own, for all of them (decision 0560). */
  readonly project: string | null
  /** Where it stands in the client's file: its `env` is read there, and nowhere copied (decision 0237). */
  readonly path: readonly string[]
  /** How the client started it. */
  readonly was: Launch
  /** How the client was told to start it. */
  readonly entry: Launch
  /** How Cordon starts it. */
  readonly line: readonly string[]
  readonly variables: readonly string[]
  /** Digest of what was written into our configuration, to see whether a person changed it since. */
  readonly sha256: string
}

export interface ImportRecord {
  readonly file: string
  readonly client: ClientId
  /** Of a project's file no link is followed, now or later. */
  readonly scope: 'user' | 'project'
  readonly servers: readonly ImportedServer[]
  /** The client's file was changed. Null: only our configuration was. */
  readonly written: Written | null
}

interface Written {
  /** Of the text that we wrote. */
  readonly after: string
  /** Whole copies of what was there before, the first one first; names of files beside this record. */
  readonly backups: readonly string[]
}

class RecordsError extends CordonError {
  readonly code = 'IMPORTS'
}

export const importsDir = (around: Surroundings): string => join(userDataDir(around), 'mcp', 'imports')
const recordsFile = (around: Surroundings): string => join(importsDir(around), 'imports.json')

const LARGEST = 16 * 1024 * 1024

/** In the user's own place, readable for nobody else. A damaged file is said, never taken for an empty one. */
export function readRecords(around: Surroundings): readonly ImportRecord[] {
  const file = recordsFile(around)
  try {
    const found = readSmall(file, LARGEST)
    if (!found) return []
    const value: unknown = JSON.parse(found.bytes.toString('utf8'))
    if (typeof value === 'object' && value !== null && 'imports' in value && Array.isArray(value.imports))
      return value.imports as ImportRecord[] // ours: nothing confined can write here (SPEC 4.10)
    throw new Error('it is not a list of imports')
  } catch (error) {
    throw new RecordsError(`cannot read ${show(file)}: ${reason(error)}`)
  }
}

/**
 * SPEC 4.10: the clients' files that are known to start servers, wherever they lie. Under a name that is on no list of the guard,
 * nobody but the record knows that the host obeys such a file.
 */
export function importedFiles(around: Surroundings): {
  readonly files: readonly string[]
  readonly notices: readonly string[]
} {
  try {
    return { files: readRecords(around).map(({ file }) => file), notices: [] }
  } catch (error) {
    if (!(error instanceof RecordsError)) throw error
    return { files: [], notices: [`${error.message}; files of clients that it names are not guarded by it`] }
  }
}

/** One change at a time, on what the file says then. Backups that no record names at the end are removed. */
export async function changeRecords<T>(
  around: Surroundings,
  pid: number,
  work: (records: readonly ImportRecord[], write: (records: readonly ImportRecord[]) => void) => Promise<T>,
): Promise<T> {
  makePrivateDirectory(importsDir(around))
  const lock = { what: 'the record of imports', wait: 10_000, holder: { pid, command: 'cordon' } }
  return withLock(join(importsDir(around), 'lock'), lock, async () => {
    let now = readRecords(around)
    const write = (imports: readonly ImportRecord[]): void => {
      replaceDurably(recordsFile(around), `${JSON.stringify({ imports }, undefined, 2)}\n`, { mode: 0o600 })
      now = imports
    }
    try {
      return await work(now, write)
    } finally {
      sweepBackups(importsDir(around), new Set(now.flatMap(({ written }) => written?.backups ?? [])))
    }
  })
}

/** The record with these servers in place of what it said of the same entries. */
export function withServers(
  records: readonly ImportRecord[],
  file: Pick<ImportRecord, 'file' | 'client' | 'scope'>,
  servers: readonly ImportedServer[],
): readonly ImportRecord[] {
  const before = records.find((record) => record.file === file.file)
  const kept = (before?.servers ?? []).filter(
    (old) => !servers.some((server) => isSamePath(server.path, old.path)),
  )
  const record = { ...file, servers: [...kept, ...servers], written: before?.written ?? null }
  return [...records.filter((other) => other !== before), record]
}

export const isSamePath = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((part, i) => part === b[i])
