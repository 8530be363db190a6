import { CordonError, describe, quote } from '@cordon/policy'

/** A JSON Schema (2020-12, and the older spellings of it that tools still publish). */
export type JsonSchema = boolean | Readonly<Record<string, unknown>>

/** The tool's schema is at fault, not the arguments: nothing can be checked, so nothing is run. */
export class SchemaError extends CordonError {
  readonly code = 'SCHEMA'
}

/** What changes the meaning and is not implemented: ignoring it would accept what the author refuses. */
const UNSUPPORTED: ReadonlySet<string> = new Set([
  'unevaluatedProperties',
  'unevaluatedItems',
  '$dynamicRef',
  '$recursiveRef',
])

export function asSchema(value: unknown, at: string): JsonSchema {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new SchemaError(`the schema${at}: expected a schema, got ${describe(value)}`)
  for (const keyword of Object.keys(value))
    if (UNSUPPORTED.has(keyword))
      throw new SchemaError(`the schema${at} uses ${keyword}, which cannot be checked here`)
  return value as Readonly<Record<string, unknown>>
}

/** `#`, `#/$defs/name`: a reference inside the same schema. Others would have to be fetched, and are not. */
export function resolveRef(root: JsonSchema, ref: unknown): JsonSchema {
  if (typeof ref !== 'string' || !/^#(?:\/|$)/.test(ref))
    throw new SchemaError(`the schema refers to ${describe(ref)}; only #/… can be followed`)
  let value: unknown = root
  for (const part of ref.split('/').slice(1)) {
    const name = decodePart(part)
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name))
      throw new SchemaError(`the schema refers to ${quote(ref)}, which is not there`)
    value = (value as Record<string, unknown>)[name]
  }
  return asSchema(value, ` at ${ref}`)
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return part
  }
}
