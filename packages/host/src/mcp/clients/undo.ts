import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isFields, shellWord } from '@cordon/policy'
import { sha256, type Surroundings } from '@cordon/workspace'
import { type EditableLayer, NoWorkspaceError, type ProjectOptions } from '../../project.ts'
import { textOf } from '../../config-file.ts'
import { loadAnywhere } from '../../settings.ts'
import type { LeftOver } from '../left-over.ts'
import { assertNotNamed, linksOnlyFor, takeOut } from '../take-out.ts'
import { digestOfServer, serverTable } from '../define.ts'
import { keepBackups, readBackup } from './backups.ts'
import { ClientFileError, openDocument } from './document.ts'
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
  /** Tools whose entries named them, and went with them. */
  readonly tools: readonly string[]
  /** Files out of which went what a removed server was granted, and what stays of that. */
  readonly swept: readonly string[]
  readonly stays: readonly LeftOver[]
  /** Entries of their tools in other workspaces, where they are an error now. */
  readonly named: readonly LeftOver[]
  /** Servers that a person changed since, and that stay. */
  readonly kept: readonly string[]
  /** Links of the workspace that only these servers were granted, and that stay. */
  readonly links: readonly string[]
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
    const meant = records.filter(({ file }) => wanted === undefined || file === wanted)
    const plans = meant.map((record) => ({ record, plan: orNamed(record, meant, world) }))
    const staying = new Set(
      records.flatMap((record) =>
        meant.includes(record) ? [] : record.servers.map((server) => server.name),
      ),
    )
    await assertTakenBack(meant, staying, world)
    restoreAll(plans, world)
    const done: Undone[] = []
    let left = records
    for (const { record, plan } of plans) {
      const { isWhole, write: _, ...restored } = plan
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

interface Restoring extends Pick<Undone, 'how' | 'left'> {
  /** All that was imported will be in the client's file again. */
  readonly isWhole: boolean
  /** Absent: the file stays as it is. */
  readonly write?: { readonly read: ClientFile; readonly text: string }
}

/** All clients' files or none: where one cannot be written, those before it become again what they were. */
function restoreAll(
  plans: readonly { readonly plan: Restoring; readonly record: ImportRecord }[],
  { surroundings }: UndoWorld,
): void {
  const written: { readonly record: ImportRecord; readonly was: string }[] = []
  try {
    for (const { plan, record } of plans) {
      if (!plan.write) continue
      writeClientFile(plan.write.read, plan.write.text, surroundings)
      written.push({ record, was: plan.write.read.text })
    }
  } catch (error) {
    for (const { record, was } of written) {
      const read = readClientFile(record.file, surroundings, linksOf(record.scope))
      if (read) writeClientFile(read, was, surroundings)
    }
    throw error
  }
}

/** Before anything is changed: what our configuration says of the servers can be taken out. */
async function assertTakenBack(
  records: readonly ImportRecord[],
  staying: ReadonlySet<string>,
  world: UndoWorld,
): Promise<void> {
  for (const { name, layer, root, sha256: digest } of records.flatMap(({ servers }) => servers)) {
    const options = optionsFor(root, world)
    if (staying.has(name) || (await unlessGone(stateOf(name, digest, layer, options))) !== 'ours') continue
    await assertNotNamed(name, layer, options)
  }
}

const optionsFor = (root: string | null, { options }: UndoWorld): ProjectOptions =>
  root === null ? options : { ...options, cwd: root }

/** The directory that a server was for may be gone, or be no workspace any more; and so is its layer. */
const unlessGone = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error: unknown) => {
    if (error instanceof NoWorkspaceError) return undefined
    throw error
  })

/** One file that cannot be read keeps all of them as they are, so who is stopped by it is told the way around. */
function orNamed(record: ImportRecord, all: readonly ImportRecord[], world: UndoWorld): Restoring {
  try {
    return planRestoring(record, world)
  } catch (error) {
    const others = all.filter((other) => other !== record)
    if (!(error instanceof ClientFileError) || others.length === 0) throw error
    const commands = others.map(({ file }) => `\n    cordon mcp import --undo ${shellWord(file)}`)
    throw new ClientFileError(
      record.file,
      error.problem,
      `${error.fix === undefined ? '' : `${error.fix}; `}or take back the others without it:${commands.join('')}`,
    )
  }
}

function planRestoring(record: ImportRecord, world: UndoWorld): Restoring {
  const { written } = record
  if (!written) return { how: 'untouched', left: [], isWhole: true }
  const read = readClientFile(record.file, world.surroundings, linksOf(record.scope))
  if (!read) return { how: 'gone', left: [], isWhole: false }
  sweepTemp(read)
  const [only, ...more] = written.backups
  if (only !== undefined && more.length === 0) {
    const before = readBackup(importsDir(world.surroundings), only)
    if (read.text === before) return { how: 'untouched', left: [], isWhole: true }
    if (sha256(read.text) === written.after)
      return { how: 'exact', left: [], isWhole: true, write: { read, text: before } }
  }
  return planEntries(record, read)
}

/** The client has written its file since: what it changed stays, and our entries become what they were. */
function planEntries(record: ImportRecord, read: ClientFile): Restoring {
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
  return { how: 'entries', left, isWhole, write: { read, text: document.withEntries(changes) } }
}

/** Cordon may have been installed elsewhere when the entry was written. */
const endsAlike = (command: unknown, ours: string): boolean =>
  typeof command === 'string' && command.split('/').at(-1) === ours.split('/').at(-1)

async function takeBack(
  servers: readonly ImportedServer[],
  others: readonly ImportRecord[],
  world: UndoWorld,
): Promise<Pick<Undone, 'removed' | 'tools' | 'kept' | 'swept' | 'stays' | 'named' | 'links'>> {
  const removed: string[] = []
  const tools = new Set<string>()
  const named: LeftOver[] = []
  const swept = new Set<string>()
  const stays: LeftOver[] = []
  const kept: string[] = []
  const links: string[] = []
  const shared = new Set(others.flatMap((record) => record.servers.map(({ name }) => name)))
  for (const { name, layer, root, sha256: digest } of servers) {
    if (shared.has(name) || removed.includes(name)) continue // another client uses it, too
    const options = optionsFor(root, world)
    const state = await unlessGone(stateOf(name, digest, layer, options))
    if (state === 'changed') {
      kept.push(name)
      links.push(...(await linksOnlyFor(name, options)))
    }
    if (state !== 'ours') continue
    const gone = await takeOut(name, layer, options)
    removed.push(name)
    for (const file of gone.swept) swept.add(file)
    for (const tool of gone.tools) tools.add(tool)
    stays.push(...gone.stays)
    named.push(...gone.named)
    links.push(...gone.links)
  }
  return { removed, tools: [...tools], kept, swept: [...swept], stays, named, links }
}

/** Whether what a layer says of a server is what the import wrote. */
async function stateOf(
  name: string,
  digest: string,
  layer: EditableLayer,
  options: ProjectOptions,
): Promise<'ours' | 'changed' | 'gone'> {
  const text = textOf((await loadAnywhere(options)).sources, layer)
  if (serverTable(text, name) === undefined) return 'gone'
  return digestOfServer(text, name) === digest ? 'ours' : 'changed'
}
