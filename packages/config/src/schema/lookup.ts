import { definition } from './definition.ts'
import { type Schema } from './schema.ts'

const PREFIX = '#/definitions/'
const definitions: Readonly<Record<string, Schema>> = definition.definitions

export const resolve = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : definitions[schema.$ref.slice(PREFIX.length)]!

/** What stands under this key of a table: its own description, or that of every name. */
export function childSchema(schema: Schema | undefined, key: string): Schema | undefined {
  if (!schema) return undefined
  const { properties, additionalProperties } = schema
  const child = properties && Object.hasOwn(properties, key) ? properties[key] : additionalProperties
  return child ? resolve(child) : undefined
}

export function schemaAt(path: readonly string[]): Schema | undefined {
  let schema: Schema | undefined = definition
  for (const key of path) schema = childSchema(schema, key)
  return schema
}

/** The JSON Schema of one config file, for editors: the definition that validates (SPEC 2). */
export const configSchema = (): Record<string, unknown> => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  $id: 'https://cordon.invalid/config.schema.json',
  title: 'Cordon configuration',
  ...definition,
})
