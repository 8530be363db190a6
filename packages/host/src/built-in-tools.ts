import type { Source } from '@cordon/config'
import { DESCRIPTIONS } from '@cordon/tools'
import { BUILT_IN } from './agent/built-in.ts'

/**
 * The tools that are there without any configuration: local ones, which check themselves (SPEC 1.8), and those of the
 * assistant itself (SPEC 6.5). Their schemas and commands are added when one is run (execute/shipped.ts), so that the
 * effective configuration stays readable.
 */
export const BUILT_IN_TOOLS: Source = {
  layer: 'built-in',
  label: 'built-in tools',
  key: ['conversation', 'tools'],
  value: Object.fromEntries([
    ...Object.entries(DESCRIPTIONS).map(([name, description]) => [name, { source: 'local', description }]),
    ...Object.entries(BUILT_IN).map(([name, { description, run }]) => [
      name,
      { source: 'builtin', description, run },
    ]),
  ]),
}
