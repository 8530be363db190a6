import type { Source } from '@cordon/config'
import { tomlString } from '@cordon/policy'
import { DESCRIPTIONS } from '@cordon/tools'

/**
 * The tools that are there without any configuration (SPEC 1.8): local ones, which check themselves. Their schemas and
 * commands are added when one is run (execute/shipped.ts), so that the effective configuration stays readable.
 */
export const BUILT_IN_TOOLS: Source = {
  layer: 'built-in',
  label: 'built-in tools',
  text: Object.entries(DESCRIPTIONS)
    .map(
      ([name, description]) =>
        `[conversation.tools.${name}]\nsource = "local"\ndescription = ${tomlString(description)}\n`,
    )
    .join('\n'),
}
