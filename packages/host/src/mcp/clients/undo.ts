import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isFields } from '@cordon/policy'
import { sha256, type Surroundings } from '@cordon/workspace'
import { NoWorkspaceError, type ProjectOptions } from '../../project.ts'
import { changeLayer } from '../../settings.ts'
import { type LeftOver, sweepGrants } from '../left-over.ts'
import { digestOfServer, serverTable, withoutServer } from '../define.ts'
import { keepBackups, readBackup } from './backups.ts'
import { openDocument } from './document.ts'
import { type ClientFile, linksOf, readClientFile, sweepTemp, writeClientFile } from './file.ts'
import { changeRecords, importsDir, type ImportedServer, type ImportRecord } from './records.ts'

/** What was taken back of one client's file. */
export interface Undone {
  readonly file: string
  /**
   * `exact`: every byte is as it was. `entries`: the client has changed its file since, so only our entries were put
   * back. `untouched`: it was not changed by us, or is as before already. `gone`: there is no such file any more.
   */
  readonly how: 'exact' | 'entries' | 'untouched' | 'gone'
  /** Entries that somebody else changed since, and that were left as they are. */
  readonly left: readonly string[]
  /** Servers that were taken out of our configuration. */
  readonly removed: readonly string[]
  /** Files out of which went what a removed server was granted, and what stays of that. */
  readonly swept: readonly string[]
  readonly stays: readonly LeftOver[]
  /** Servers that a person changed since, and that stay. */
  readonly kept: readonly string[]
  /** Copies that stay, because something of them is nowhere else any more. */
  readonly backups: readonly string[]
}

export interface UndoWorld {
  readonly surroundings: Surroundings
  readonly options: ProjectOptions
  readonly pid: number
}

/** `wanted`: the file that a person named; undefined: all of them. The client's file first: ours are of no use without it. */
export const undoImports = (wanted: string | undefined, world: UndoWorld): Promise<readonly Undone[]> =>
  changeRecords(world.surroundings, world.pid, async (records, write) => {
    const done: Undone[] = []
    let left = records
    for (const record of records) {
      if (wanted !== undefined && record.file !== wanted) continue
      const { isWhole, ...restored } = restore(record, world)
      const others = left.filter((other) => other !== record)
      const back = record.servers.filter(({ path }) => !restored.left.includes(path.join('.')))
      const ours = await takeBack(back, others, world)
      const stays = record.servers.filter((server) => !back.includes(server))
      left = stays.length === 0 ? others : [...others, { ...record, servers: stays }]
      const dir = importsDir(world.surroundings)
      const copies = isWhole ? [] : (record.written?.backups ?? [])
      const backups = stays.length === 0 ? keepBackups(dir, copies) : copies.map((name) => join(dir, name))
      write(left)
      done.push({ file: record.file, ...restored, ...ours, backups })
    }
    return done
  })

/** `isWhole`: all that was imported is in the client's file again. */
type Restored = Pick<Undone, 'how' | 'left'> & { readonly isWhole: boolean }

function restore(record: ImportRecord, world: UndoWorld): Restored {
  const { written } = record
  if (!written) return { how: 'untouched', left: [], isWhole: true }
  const read = readClientFile(record.file, world.surroundings, linksOf(record.scope))
  if (!read) return { how: 'gone', left: [], isWhole: false }
  sweepTemp(read)
  const [only, ...more] = written.backups
  if (only !== undefined && more.length === 0) {
    const before = readBackup(importsDir(world.surroundings), only)
    if (read.text === before) return { how: 'untouched', left: [], isWhole: true }
    if (sha256(read.text) === written.after) {
      writeClientFile(read, before, world.surroundings)
      return { how: 'exact', left: [], isWhole: true }
    }
  }
  return restoreEntries(record, read, world)
}

/** The client has written its file since: what it changed stays, and our entries become what they were. */
function restoreEntries(record: ImportRecord, read: ClientFile, world: UndoWorld): Restored {
  const document = openDocument(record.file, read.text)
  const left: string[] = []
  let isWhole = true
  const changes = record.servers.flatMap(({ path, was, entry: { command, args } }) => {
    const now = document.valueAt(path)
    if (!isFields(now)) {
      isWhole = false // somebody has removed it, with all that stood beside it
      return []
    }
    const isOurs = isDeepStrictEqual(now['args'], args) && endsAlike(now['command'], command)
    const isBack = now['command'] === was.command && isDeepStrictEqual(now['args'] ?? [], was.args ?? [])
    if (!isOurs && !isBack) left.push(path.join('.'))
    return isOurs ? [{ path, ...was }] : []
  })
  if (changes.length === 0) return { how: 'untouched', left, isWhole }
  writeClientFile(read, document.withEntries(changes), world.surroundings)
  return { how: 'entries', left, isWhole }
}

/** Cordon may have been installed elsewhere when the entry was written. */
const endsAlike = (command: unknown, ours: string): boolean =>
  typeof command === 'string' && command.split('/').at(-1) === ours.split('/').at(-1)

async function takeBack(
  servers: readonly ImportedServer[],
  others: readonly ImportRecord[],
  world: UndoWorld,
): Promise<Pick<Undone, 'removed' | 'kept' | 'swept' | 'stays'>> {
  const removed: string[] = []
  const swept = new Set<string>()
  const stays: LeftOver[] = []
  const kept: string[] = []
  const shared = new Set(others.flatMap((record) => record.servers.map(({ name }) => name)))
  for (const { name, layer, root, sha256: digest } of servers) {
    if (shared.has(name) || removed.includes(name)) continue // another client uses it, too
    const options = root === null ? world.options : { ...world.options, cwd: root }
    try {
      await changeLayer(options, layer, (text) => {
        if (serverTable(text, name) === undefined) return text
        const isOurs = digestOfServer(text, name) === digest
        ;(isOurs ? removed : kept).push(name)
        return isOurs ? withoutServer(text, name) : text
      })
      if (!removed.includes(name)) continue
      const grants = await sweepGrants(name, layer, options)
      for (const file of grants.swept) swept.add(file)
      stays.push(...grants.stays)
    } catch (error) {
      // The directory that it was for is gone, or is no workspace any more; and so is its layer.
      if (!(error instanceof NoWorkspaceError)) throw error
    }
  }
  return { removed, kept, swept: [...swept], stays }
}
