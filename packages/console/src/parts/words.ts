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

/** Where it makes a difference whether something is there now. */
const OVER: Readonly<Record<string, string>> = {
  '/filesystem/file/write': 'replace a file',
  '/filesystem/file/move': 'move a file over another',
  '/filesystem/file/copy': 'copy a file over another',
}

export const wordsForRequest = (command: string, { replaces }: { readonly replaces?: true }): string =>
  replaces === true
    ? (OVER[command] ?? wordsFor(command))
    : command === '/filesystem/file/write'
      ? 'write a new file'
      : wordsFor(command)

export const wordsFor = (command: string): string => WORDS[command] ?? command
