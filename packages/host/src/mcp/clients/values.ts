import { isDeepStrictEqual } from 'node:util'
import { isFields } from '@cordon/policy'
import type { Surroundings } from '@cordon/workspace'
import { ClientFileError, openDocument } from './document.ts'
import { hasPlaceholder } from './entry.ts'
import { linksOf, readClientFile } from './file.ts'
import { type ImportedServer, type ImportRecord, readRecords } from './records.ts'

/** Variables of an imported server, read where they always were. */
export interface ServerValues {
  readonly values: Readonly<Record<string, string>>
  /** Why a variable that the client's file had is not here, in words. */
  readonly missing: readonly string[]
}

const NONE: ServerValues = { values: {}, missing: [] }

/** Who is started: by name, whole command line, and the workspace that it is started in. */
export interface StartedServer {
  readonly name: string
  readonly line: readonly string[]
  readonly root: string
}

/**
 * SPEC 4.6, decision 0237: the values that a client's file has for a server, for who starts it without that client. Only
 * for exactly the command line that was imported, and only where the client's entry counts: another definition of the same
 * name, such as a clone's, and the same words in another project get none (decision 0560). What of them the server sees is
 * its policy's business. What is wrong with a client's file is told as missing: it is the trouble of its servers alone.
 */
export function serverValues({ name, line, root }: StartedServer, around: Surroundings): ServerValues {
  const imported = readRecords(around).flatMap((record) =>
    record.servers
      .filter((server) => server.name === name && isDeepStrictEqual(server.line, line))
      .map((server) => ({ record, server })),
  )
  const here = imported.filter(({ server }) => server.project === root)
  const counting = here.length > 0 ? here : imported.filter(({ server }) => server.project === null)
  const readings = counting
    .filter(({ server }) => server.variables.length > 0)
    .map(({ record, server }) => readOrTell(record, server, around))
  // Two clients of a project may have the same server with values of their own: whose are in the environment started us.
  const isHandedOver = ({ values }: ServerValues): boolean =>
    Object.entries(values).every(([variable, value]) => around.env[variable] === value)
  return readings.find(isHandedOver) ?? readings[0] ?? NONE
}

function readOrTell(record: ImportRecord, server: ImportedServer, around: Surroundings): ServerValues {
  try {
    return readValues(record, server, around)
  } catch (error) {
    if (error instanceof ClientFileError) return { values: {}, missing: [`no variables: ${error.message}`] }
    throw error
  }
}

function readValues(
  { file, scope }: ImportRecord,
  { path, variables }: ImportedServer,
  around: Surroundings,
): ServerValues {
  const read = readClientFile(file, around, linksOf(scope))
  const env = read && openDocument(file, read.text).valueAt([...path, 'env'])
  if (!isFields(env)) return { values: {}, missing: [`${file} has no variables for it any more`] }
  const values: Record<string, string> = {}
  const missing: string[] = []
  for (const name of variables) {
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (typeof value !== 'string') continue
    const isInEnvironment = around.env[name] !== undefined
    if (hasPlaceholder(value)) {
      if (!isInEnvironment) missing.push(`${name} is filled in by the client; set it in the environment`)
      continue
    }
    // In a person's own file a variable of the same name is meant. A project's file says `${NAME}` where it wants a person's
    // own, and the import says so; a literal is no reason to hand that over (decision 0567).
    if (scope === 'project' || !isInEnvironment) values[name] = value
  }
  return { values, missing }
}
