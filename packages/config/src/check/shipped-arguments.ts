/** What a rule may say of a call of a tool that Cordon ships. */
export interface ShippedArguments {
  readonly names: readonly string[]
  /** Those that hold paths, of which a rule speaks as `path`: every spelling, and all of them. */
  readonly paths: readonly string[]
}

/** Beside the tools' own schemas, which a start does not load: `host/test/execute/touched.test.ts` compares them. */
const SHIPPED: Readonly<Record<string, ShippedArguments>> = {
  fs_read_file: {
    names: [
      'path',
      'start_line',
      'end_line',
      'head',
      'tail',
      'start_byte',
      'length',
      'line_numbers',
      'max_bytes',
      'binary',
      'encoding',
    ],
    paths: ['path'],
  },
  fs_list_files: { names: ['path', 'globs', 'depth', 'hidden', 'no_ignore', 'limit'], paths: ['path'] },
  fs_grep_files: {
    names: [
      'pattern',
      'path',
      'literal',
      'case',
      'whole_words',
      'context',
      'before',
      'after',
      'globs',
      'hidden',
      'no_ignore',
      'limit',
    ],
    paths: ['path'],
  },
  fs_create_file: { names: ['path', 'content', 'encoding', 'overwrite'], paths: ['path'] },
  fs_modify_file: { names: ['edits', 'diff'], paths: ['edits', 'diff'] },
  fs_delete_file: { names: ['path'], paths: ['path'] },
  fs_move_file: { names: ['from', 'to', 'overwrite'], paths: ['from', 'to'] },
  unix_utils: { names: ['util', 'args', 'stdin'], paths: [] },
}

export const shippedArguments = (tool: string): ShippedArguments | undefined =>
  Object.hasOwn(SHIPPED, tool) ? SHIPPED[tool] : undefined
