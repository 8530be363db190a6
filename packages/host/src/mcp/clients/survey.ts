import { dirname, isAbsolute, resolve } from 'node:path'
import { below, type CanonicalPath, isFields, shellWord, show } from '@cordon/policy'
import { repositoriesAround, type Surroundings } from '@cordon/workspace'
import { type ClientDocument, ClientFileError, openDocument } from './document.ts'
import { type Entry, type EntryPlace, INHERITED, readEntry } from './entry.ts'
import { cordonOnPath } from './cordon-line.ts'
import { type ClientFile, linksOf, readClientFile, realOf } from './file.ts'
import { isSamePath, readRecords } from './records.ts'
import { type ClientPlace, projectPlaces, type ServerTable, tablesOf, userPlaces } from './places.ts'

/** A server in a client's file. */
export interface FoundServer {
  /** As the client calls it. */
  readonly name: string
  readonly path: readonly string[]
  /** `project`: it is for this workspace alone. */
  readonly scope: 'user' | 'project'
  readonly entry: Entry
}

export interface SurveyedFile {
  readonly place: ClientPlace
  readonly read: ClientFile
  readonly document: ClientDocument
  readonly servers: readonly FoundServer[]
  /** Servers that the file keeps for other directories. */
  readonly elsewhere: number
}

export interface ClientSurvey {
  readonly files: readonly SurveyedFile[]
  /** What could not be read. */
  readonly problems: readonly ClientFileError[]
  /** Files of the project, which are looked at when they are named: they may have come with a clone. */
  readonly unnamed: readonly string[]
  /** A person's own files that were looked for. */
  readonly lookedFor: readonly string[]
}

export interface SurveyOptions {
  readonly cwd: string
  /** Undefined: there is no workspace here. */
  readonly root: string | undefined
  readonly surroundings: Surroundings
  /** This installation of Cordon, absolute. */
  readonly program: string
}

/** All of a person's own files that are there; of a project's it is only said that they are. */
export function surveyClients({ root, surroundings, program }: SurveyOptions): ClientSurvey {
  const files: SurveyedFile[] = []
  const problems: ClientFileError[] = []
  const unnamed: string[] = []
  const look = (place: ClientPlace): SurveyedFile | undefined => {
    try {
      return surveyFile(place, root, surroundings, program)
    } catch (error) {
      if (error instanceof ClientFileError) return void problems.push(error)
      throw error
    }
  }
  const own = userPlaces(surroundings)
  for (const place of own) {
    const file = look(place)
    if (file) files.push(file)
  }
  for (const place of root === undefined ? [] : projectPlaces(root)) {
    const file = look(place)
    if (file && hasNew(file, surroundings)) unnamed.push(place.file)
  }
  return { files, problems, unnamed, lookedFor: own.map(({ file }) => file) }
}

/** Whether there is something in it that was not imported yet. */
function hasNew({ place, servers }: SurveyedFile, surroundings: Surroundings): boolean {
  const record = readRecords(surroundings).find(({ file }) => file === place.file)
  return servers.some(
    ({ entry, path }) =>
      entry.kind === 'local' && !record?.servers.some((server) => isSamePath(server.path, path)),
  )
}

/** The one file that a person named. Throws what is wrong with it. */
export function surveyNamed(name: string, { cwd, root, surroundings, program }: SurveyOptions): ClientSurvey {
  const file = resolve(cwd, name)
  const places = [...userPlaces(surroundings), ...(root === undefined ? [] : projectPlaces(root))]
  const isInside = root !== undefined && [file, realOf(file)].some((path) => below(root, path) !== undefined)
  const known = places.find((each) => [each.file, realOf(each.file)].includes(file))
  const project = known || isInside ? undefined : projectOf(file, surroundings)
  if (project !== undefined)
    throw new ClientFileError(
      name,
      `it came with the files of ${show(project)}`,
      below(project, cwd) === undefined
        ? `cd ${shellWord(project)} first, where it belongs`
        : 'put it into the directory of a project: a home, and what is above it, is no workspace',
    )
  const place = known ?? { client: 'plain', file, scope: isInside ? 'project' : 'user' }
  const found = surveyFile(place, root, surroundings, program)
  if (!found) throw new ClientFileError(name, 'there is no such file')
  return { files: [found], problems: [], unnamed: [], lookedFor: [place.file] }
}

/** A file of a clone is not a person's own, wherever the person stands: by what lies around it, or by its name. */
function projectOf(file: string, surroundings: Surroundings): string | undefined {
  for (const path of [file, realOf(file)]) {
    const around = repositoriesAround(realOf(dirname(path)) as CanonicalPath, surroundings).at(-1)
    if (around !== undefined) return around
    const named = projectPlaces('/').find((place) => path.endsWith(place.file))
    if (named) return path.slice(0, -named.file.length) || '/'
  }
  return undefined
}

/** `cordon` and `cordon.cjs` lie side by side. */
const isSameDir = (called: string, program: string): boolean =>
  isAbsolute(called) && dirname(realOf(called)) === dirname(realOf(program))

function surveyFile(
  place: ClientPlace,
  root: string | undefined,
  surroundings: Surroundings,
  program: string,
): SurveyedFile | undefined {
  const read = readClientFile(place.file, surroundings, linksOf(place.scope))
  if (!read) return undefined
  const document = openDocument(place.file, read.text)
  const otherThanThis = (called: string): string | undefined => {
    const found = called === 'cordon' ? cordonOnPath(dirname(place.file), surroundings) : called
    return found === undefined || isSameDir(found, program) ? undefined : found
  }
  const tables = tablesOf(place.client, place.file, root)
  for (const { path } of tables) assertNothingInherited(place.file, document, path)
  const servers = tables.flatMap((table) =>
    serversIn(document, table, { scope: place.scope, root, otherThanThis }),
  )
  return { place, read, document, servers, elsewhere: countElsewhere(document, place, root) }
}

/** What is inherited by the objects above a table of servers may be another table for the client, and is none for us. */
function assertNothingInherited(file: string, document: ClientDocument, path: readonly string[]): void {
  for (let depth = 0; depth < path.length; depth++) {
    const value = document.valueAt(path.slice(0, depth))
    if (!isFields(value) || !Object.hasOwn(value, '__proto__')) continue
    const where = depth === 0 ? 'at its top' : `in ${show(path.slice(0, depth).join('.'))}`
    throw new ClientFileError(file, `it has the key __proto__ ${where}, ${INHERITED}`)
  }
}

function serversIn(
  document: ClientDocument,
  table: ServerTable,
  file: Omit<EntryPlace, 'here'> & { readonly root: string | undefined },
): readonly FoundServer[] {
  const value = document.valueAt(table.path)
  if (!isFields(value)) return []
  const scope = file.scope === 'project' ? file.scope : table.scope
  const place = { ...file, here: scope === 'project' ? file.root : undefined }
  return Object.entries(value).map(([name, entry]) => ({
    name,
    path: [...table.path, name],
    scope,
    entry: readEntry(entry, place),
  }))
}

/** Claude Code keeps the servers of every project in one file. */
function countElsewhere(document: ClientDocument, place: ClientPlace, root: string | undefined): number {
  const projects = place.client === 'claude-code' ? document.valueAt(['projects']) : undefined
  if (!isFields(projects)) return 0
  return Object.entries(projects)
    .filter(([path]) => path !== root)
    .reduce((sum, [, project]) => {
      const servers = isFields(project) ? project['mcpServers'] : undefined
      return sum + (isFields(servers) ? Object.keys(servers).length : 0)
    }, 0)
}
