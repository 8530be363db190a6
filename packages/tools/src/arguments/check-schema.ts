import { describe } from '@cordon/policy'
import { type PatternTest } from './checker.ts'
import { asSchema, type JsonSchema, resolveRef, SchemaError } from './schema.ts'
import { checkType } from './validate.ts'

/** Whether something can be checked against it at all: every part is a schema, and nothing in it is unknown here. Throws SchemaError. */
export function checkSchema(root: JsonSchema, matches: PatternTest): void {
  const seen = new Set<unknown>()
  const visit = (value: unknown, at: string): void => {
    const schema = asSchema(value, at)
    if (typeof schema === 'boolean' || seen.has(schema)) return
    seen.add(schema)
    if (schema['type'] !== undefined) checkType(schema['type'])
    if (schema['$ref'] !== undefined) resolveRef(root, schema['$ref'])
    if (typeof schema['pattern'] === 'string') matches(schema['pattern'], '')
    for (const [keyword, fits] of Object.entries(SHAPES))
      if (schema[keyword] !== undefined && !fits(schema[keyword]))
        throw new SchemaError(`the schema${at}: ${keyword} is ${describe(schema[keyword])}`)
    const below = (keyword: string): string => ` at ${at.replace(/^ at /, '')}/${keyword}`
    // A list of schemas there is the older spelling of `prefixItems`.
    for (const part of Array.isArray(schema['items']) ? schema['items'] : [schema['items'] ?? true])
      visit(part, below('items'))
    for (const keyword of SINGLE) if (schema[keyword] !== undefined) visit(schema[keyword], below(keyword))
    for (const keyword of LISTS)
      for (const [i, part] of Object.entries(fieldsOf(schema[keyword]))) visit(part, below(`${keyword}/${i}`))
    for (const keyword of TABLES)
      for (const [name, part] of Object.entries(fieldsOf(schema[keyword])))
        visit(part, below(`${keyword}/${name}`))
    for (const pattern of Object.keys(fieldsOf(schema['patternProperties']))) matches(pattern, '')
  }
  visit(root, '')
}

/** Of a list, by index. */
const fieldsOf = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {})

const SINGLE = ['additionalProperties', 'contains', 'else', 'if', 'not', 'propertyNames', 'then']
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const TABLES = ['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties']

const isList = (value: unknown): boolean => Array.isArray(value)
const isTable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isNumber = (value: unknown): boolean => typeof value === 'number'

const SHAPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...Object.fromEntries([...LISTS, 'enum', 'required'].map((keyword) => [keyword, isList])),
  ...Object.fromEntries(TABLES.map((keyword) => [keyword, isTable])),
  ...Object.fromEntries(
    ['maximum', 'maxItems', 'maxLength', 'minimum', 'minItems', 'minLength'].map((keyword) => [
      keyword,
      isNumber,
    ]),
  ),
  pattern: (value) => typeof value === 'string',
}
