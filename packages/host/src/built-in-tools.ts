import type { Source } from '@cordon/config'
import { DESCRIPTIONS } from '@cordon/tools'

/**
 * The tools that are there without any configuration (SPEC 1.8): local ones, which check themselves. Their schemas and
 * commands are added when one is run (execute/shipped.ts), so that the effective configuration stays readable.
 */
export const BUILT_IN_TOOLS: Source = {
  layer: 'built-in',
  label: 'built-in tools',
  key: ['conversation', 'tools'],
  value: Object.fromEntries(
    Object.entries(DESCRIPTIONS).map(([name, description]) => [name, { source: 'local', description }]),
  ),
}
