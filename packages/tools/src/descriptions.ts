/** The tools by name, with what the assistant is told about each: to be had without loading one. */
export const DESCRIPTIONS = {
  fs_read_file:
    'Read a file of the workspace: all of it, a range of lines, its first or last lines, or a range of bytes.',
  fs_list_files:
    'List what is in a directory of the workspace and below it. Directories end in /, links in @; a name with control characters is a JSON string. What was left out is said.',
  fs_grep_files:
    'Search files of the workspace for a regular expression (the syntax of ripgrep). Prints path:line:text. What was left out is said.',
  fs_create_file:
    'Create a file with its missing directories. An existing file is replaced only if that was asked for.',
  fs_modify_file:
    'Change text files that exist, by exact replacement or by a unified diff. All the files are changed, or none.',
  fs_delete_file: 'Delete a file, a link (never what it points to) or an empty directory.',
  fs_move_file:
    'Move or rename a file, a link or a directory. An existing file is replaced only if that was asked for.',
  unix_utils:
    'Run one text utility in the workspace; only touch writes. No shell: no pipes, no quotes, no wildcards.',
} as const
