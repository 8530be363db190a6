import { type Capability, type Fields, isFields } from '@cordon/policy'
import { parseUnifiedDiff } from '@cordon/tools'

/** A path as the caller wrote it, and what is to be done there. */
export interface Touched {
  readonly path: string
  /** `write`: create, or update where something is there already. */
  readonly want: Exclude<Capability, 'create'> | 'write'
}

/** What a call of a tool that Cordon ships names, by what its arguments mean. Arguments that do not fit name nothing. */
export function touchedBy(tool: string, args: unknown): readonly Touched[] {
  const { path, from, to, edits, diff } = fieldsOf(args)
  switch (tool) {
    case 'fs_read_file':
    case 'fs_list_files':
    case 'fs_grep_files':
      return at(path ?? '.', 'read')
    case 'fs_create_file':
      return at(path, 'write')
    case 'fs_modify_file':
      return [...changedBy(edits), ...(typeof diff === 'string' ? patchedBy(diff) : [])]
    case 'fs_delete_file':
      return at(path, 'delete')
    case 'fs_move_file':
      return [...at(from, 'delete'), ...at(to, 'write')]
    default:
      return []
  }
}

const at = (path: unknown, want: Touched['want']): Touched[] =>
  typeof path === 'string' ? [{ path, want }] : []

const changedBy = (edits: unknown): Touched[] =>
  Array.isArray(edits) ? edits.flatMap((edit) => at(fieldsOf(edit)['path'], 'update')) : []

function patchedBy(diff: string): Touched[] {
  try {
    return parseUnifiedDiff(diff).map(({ path }) => ({ path, want: 'update' }))
  } catch {
    return [] // the call will say what is wrong with it
  }
}

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})
