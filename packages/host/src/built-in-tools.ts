import type { Source } from '@cordon/config'
import { DESCRIPTIONS } from '@cordon/tools'
import { BUILT_IN } from './agent/built-in.ts'

/**
 * The shipped tools that only read (SPEC 1.8). The kernel holds exactly what their policies grant (SPEC 4.12), so they are not
 * asked about, except where secrets live (decision 0365).
 */
export const READERS: ReadonlySet<string> = new Set(['fs_read_file', 'fs_list_files', 'fs_grep_files'])

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
    ...Object.entries(DESCRIPTIONS).map(([name, description]) => [
      name,
      { source: 'local', description, ...(READERS.has(name) ? { run: 'unattended' } : {}) },
    ]),
    ...Object.entries(BUILT_IN).map(([name, { description, run }]) => [
      name,
      { source: 'builtin', description, run },
    ]),
  ]),
}
