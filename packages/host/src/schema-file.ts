import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { configSchema } from '@cordon/config'

/**
 * The schema that a new config file's `#:schema` line names, beside it, so that editors complete and check it.
 * Nothing of ours reads it back, so it needs no more care than that.
 */
export const writeSchemaBeside = (configFile: string): void =>
  writeFileSync(
    join(dirname(configFile), 'config.schema.json'),
    `${JSON.stringify(configSchema(), undefined, 2)}\n`,
  )
