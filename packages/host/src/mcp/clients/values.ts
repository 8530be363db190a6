import { isDeepStrictEqual } from 'node:util'
import { isFields } from '@cordon/policy'
import type { Surroundings } from '@cordon/workspace'
import { openDocument } from './document.ts'
import { hasPlaceholder } from './entry.ts'
import { linksOf, readClientFile } from './file.ts'
import { type ImportRecord, readRecords } from './records.ts'

/** Variables of an imported server, read where they always were. */
export interface ServerValues {
  readonly values: Readonly<Record<string, string>>
  /** Why a variable that the client's file had is not here, in words. */
  readonly missing: readonly string[]
}

const NONE: ServerValues = { values: {}, missing: [] }

/**
 * SPEC 4.6, decision 0237: the values that a client's file has for a server, for who starts it without that client. Only
 * for exactly the command line that was imported: another definition of the same name, such as a workspace's, gets
 * none. What of them the server sees is its policy's business.
 */
export function serverValues(name: string, line: readonly string[], around: Surroundings): ServerValues {
  for (const record of readRecords(around))
    for (const server of record.servers)
      if (server.name === name && isDeepStrictEqual(server.line, line))
        return readValues(record, [...server.path, 'env'], server.variables, around)
  return NONE
}

function readValues(
  { file, scope }: ImportRecord,
  path: readonly string[],
  variables: readonly string[],
  around: Surroundings,
): ServerValues {
  if (variables.length === 0) return NONE
  const read = readClientFile(file, around, linksOf(scope))
  const env = read && openDocument(file, read.text).valueAt(path)
  if (!isFields(env)) return { values: {}, missing: [`${file} has no variables for it any more`] }
  const values: Record<string, string> = {}
  const missing: string[] = []
  for (const name of variables) {
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    // Two clients may start one server with tokens of their own: what who started us handed over is theirs.
    if (typeof value !== 'string' || around.env[name] !== undefined) continue
    if (hasPlaceholder(value)) missing.push(`${name} is filled in by the client; set it in the environment`)
    else values[name] = value
  }
  return { values, missing }
}
