import { definition } from './definition.ts'

/** The JSON Schema of one config file, for editors: the definition that validates (SPEC 2). */
export const configSchema = (): Record<string, unknown> => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  $id: 'https://cordon.invalid/config.schema.json',
  title: 'Cordon configuration',
  ...definition,
})
