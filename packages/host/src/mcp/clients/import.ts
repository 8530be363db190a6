import { join } from 'node:path'
import { CordonError, show } from '@cordon/policy'
import { sha256 } from '@cordon/workspace'
import { type EditableLayer, type ProjectOptions } from '../../project.ts'
import { changeLayer } from '../../settings.ts'
import { digestOfServer, withServer } from '../define.ts'
import { installPackage, resolvePackage } from '../install/install.ts'
import { type InstalledPackage, type InstallWorld, programPath } from '../install/packages.ts'
import { withBackup, writeBackup } from './backups.ts'
import type { ClientPlace } from './places.ts'
import { UNATTENDED } from './cordon-line.ts'
import type { Launch } from './document.ts'
import { sweepTemp, writeClientFile } from './file.ts'
import type { ImportPlan, Taken } from './plan.ts'
import {
  changeRecords,
  importsDir,
  type ImportedServer,
  type ImportRecord,
  isSamePath,
  withServers,
} from './records.ts'
import type { FoundServer, SurveyedFile } from './survey.ts'

export interface ImportWorld extends InstallWorld {
  readonly options: ProjectOptions
  /** The workspace's root, for what belongs to it. */
  readonly root: string | undefined
  readonly style: EntryStyle
  readonly write: boolean
  readonly tell: (text: string) => void
}

export interface ImportedFile {
  readonly file: SurveyedFile
  readonly servers: readonly ImportedStep[]
  /** Set: the client's file was written, and this is the copy of what it was. */
  readonly backup: string | undefined
}

interface ImportedStep {
  readonly server: FoundServer
  readonly name: string
  readonly installed: InstalledPackage | undefined
  /** What the client should have instead. */
  readonly launch: Launch
  /** Why it was left alone after all. */
  readonly failed?: string
}

/** How clients are told to start our servers. */
export interface EntryStyle {
  /** An absolute path, because clients have a PATH of their own. */
  readonly program: string
  /** `client`: it asks before a call, as it did before; `both`: Cordon asks as well (decision 0241). */
  readonly asks: 'client' | 'both'
  /** The workspace, for clients that start servers in no project; undefined: where the client starts them. */
  readonly directory: string | undefined
}

/** A client that starts servers in no project, and nobody has said which one is meant: there they would find no workspace. */
export const needsDirectory = ({ client }: ClientPlace, { directory }: EntryStyle): boolean =>
  client === 'claude-desktop' && directory === undefined

/** Files of a project are shared: no path of this machine goes into them. */
export const launchOf = (
  name: string,
  scope: 'user' | 'project',
  { program, asks, directory }: EntryStyle,
): Launch => ({
  command: scope === 'project' ? 'cordon' : program,
  args: [
    'mcp',
    'serve',
    '--server',
    name,
    ...(asks === 'both' ? [] : ['--cfg', UNATTENDED]),
    ...(directory === undefined ? [] : ['--workspace', directory]),
  ],
})

/**
 * In this order, so that a kill at any point leaves clients as they were or fully changed: packages, our configuration, the
 * record with its backup, the client's file.
 */
export async function performImport(
  { files }: ImportPlan,
  world: ImportWorld,
): Promise<readonly ImportedFile[]> {
  const done: ImportedFile[] = []
  for (const { file, steps } of files) {
    const { scope } = file.place
    const prepared: {
      readonly taken: Taken
      readonly line: Line
      readonly installed: InstalledPackage | undefined
    }[] = []
    const servers: ImportedStep[] = []
    for (const step of steps) {
      if (step.kind === 'known') {
        const launch = launchOf(step.name, scope, world.style)
        servers.push({ server: step.server, name: step.name, installed: undefined, launch })
      }
      if (step.kind !== 'take') continue
      const launch = launchOf(step.name, scope, world.style)
      try {
        const { line, installed } = await prepare(step, world)
        prepared.push({ taken: step, line, installed })
        servers.push({ server: step.server, name: step.name, installed, launch })
      } catch (error) {
        if (!(error instanceof CordonError)) throw error
        servers.push({
          server: step.server,
          name: step.name,
          installed: undefined,
          launch,
          failed: error.message,
        })
      }
    }
    const records = await define(prepared, scope, world)
    const fine = servers.filter(({ failed }) => failed === undefined)
    const backup = fine.length === 0 ? undefined : await remember(file, records, fine, world)
    done.push({ file, servers, backup })
  }
  return done
}

type Line = readonly [string, ...string[]]

async function prepare(
  { launch, wanted }: Taken,
  world: ImportWorld,
): Promise<{ readonly line: Line; readonly installed: InstalledPackage | undefined }> {
  if (!wanted) return { line: [launch.command, ...(launch.args ?? [])], installed: undefined }
  const pin = await resolvePackage(wanted, world)
  world.tell(`installing ${show(`${pin.name} ${pin.version}`)}\n`)
  const installed = await installPackage(pin, world)
  return { line: [programPath(installed, wanted.program), ...wanted.args], installed }
}

async function define(
  prepared: readonly { readonly taken: Taken; readonly line: Line }[],
  scope: 'user' | 'project',
  world: ImportWorld,
): Promise<readonly ImportedServer[]> {
  const made: ImportedServer[] = []
  for (const [layer, ofLayer] of Map.groupBy(prepared, ({ taken }) => taken.layer)) {
    let written = ''
    await changeLayer(world.options, layer, (text) => {
      written = text
      for (const { taken, line } of ofLayer)
        written = withServer(written, taken.name, { line, variables: namesOf(taken) })
      return written
    })
    for (const { taken, line } of ofLayer)
      made.push({
        name: taken.name,
        layer,
        root: rootFor(layer, world),
        project: taken.server.scope === 'project' ? (world.root ?? null) : null,
        path: taken.server.path,
        was: taken.launch,
        entry: launchOf(taken.name, scope, world.style),
        line,
        variables: namesOf(taken),
        sha256: digestOfServer(written, taken.name),
      })
  }
  return made
}

const rootFor = (layer: EditableLayer, { root }: ImportWorld): string | null =>
  layer === 'user' ? null : (root ?? null)

const namesOf = ({ variables }: Taken): readonly string[] => variables.map(({ name }) => name)

/** Writes down where the servers came from, and with `--write` changes the client's file. Returns the backup's path. */
async function remember(
  file: SurveyedFile,
  servers: readonly ImportedServer[],
  steps: readonly ImportedStep[],
  world: ImportWorld,
): Promise<string | undefined> {
  const { place, read, document } = file
  return changeRecords(world.surroundings, world.pid, async (records, write) => {
    sweepTemp(read)
    const known = withServers(records, place, servers)
    if (!world.write || needsDirectory(place, world.style)) {
      write(known)
      return undefined
    }
    const text = document.withEntries(steps.map(({ server, launch }) => ({ path: server.path, ...launch })))
    const name = writeBackup(importsDir(world.surroundings), read.text)
    const entryOf = (server: ImportedServer): Launch =>
      steps.find((step) => isSamePath(step.server.path, server.path))?.launch ?? server.entry
    const mark = (record: ImportRecord): ImportRecord =>
      record.file === place.file
        ? {
            ...record,
            servers: record.servers.map((server) => ({ ...server, entry: entryOf(server) })),
            written: { after: sha256(text), backups: withBackup(record.written?.backups ?? [], name) },
          }
        : record
    write(known.map(mark))
    try {
      writeClientFile(read, text, world.surroundings)
    } catch (error) {
      write(known)
      throw error
    }
    return join(importsDir(world.surroundings), name)
  })
}
