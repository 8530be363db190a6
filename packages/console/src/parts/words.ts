/** What a command does, as a person says it. */
const WORDS: Readonly<Record<string, string>> = {
  '/filesystem/file/read': 'read a file',
  '/filesystem/file/write': 'write a file',
  '/filesystem/file/create': 'create a file',
  '/filesystem/file/delete': 'delete a file',
  '/filesystem/file/move': 'move a file',
  '/filesystem/file/copy': 'copy a file',
  '/filesystem/file/edit': 'edit a file',
  '/filesystem/file/stat': 'look at a file',
  '/filesystem/file/search': 'search in files',
  '/filesystem/dir/list': 'list a directory',
  '/filesystem/dir/tree': 'list a directory tree',
  '/filesystem/dir/create': 'make a directory',
  '/filesystem/dir/delete': 'delete an empty directory',
  '/filesystem/dir/delete_recursive': 'delete a directory with everything in it',
}

export const wordsFor = (command: string): string => WORDS[command] ?? command
