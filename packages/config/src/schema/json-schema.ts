import * as z from 'zod/mini'
import { definition, docs } from './definition.ts'

/** The JSON Schema of one config file, for editors: from the definition that validates (SPEC 2). */
export function configSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(definition, {
    metadata: docs,
    target: 'draft-7',
    io: 'input',
  })
  return {
    $schema,
    $id: 'https://cordon.invalid/config.schema.json',
    title: 'Cordon configuration',
    ...schema,
  }
}
