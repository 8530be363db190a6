import type { Command } from '../commands.ts'
import { listDirectory, makeDirectory } from './directories.ts'
import { editFile } from './edit.ts'
import type { Done, Operation, Work } from './operation.ts'
import { requirePossible } from './possible.ts'
import { readFile } from './read.ts'
import { deleteDirectory, deleteFile } from './remove.ts'
import { searchFiles } from './search.ts'
import { statEntry } from './stat.ts'
import { copyFile, moveFile } from './transfer.ts'
import { deleteRecursively, treeDirectory } from './tree.ts'
import { createFile, writeFile } from './write.ts'

/** SPEC 7.2: every command, and what does it. */
export const OPERATIONS: { readonly [C in Command]: Operation<C> } = {
  '/filesystem/file/read': readFile,
  '/filesystem/file/write': writeFile,
  '/filesystem/file/create': createFile,
  '/filesystem/file/delete': deleteFile,
  '/filesystem/file/move': moveFile,
  '/filesystem/file/copy': copyFile,
  '/filesystem/file/edit': editFile,
  '/filesystem/file/stat': statEntry,
  '/filesystem/file/search': searchFiles,
  '/filesystem/dir/list': listDirectory,
  '/filesystem/dir/tree': treeDirectory,
  '/filesystem/dir/create': makeDirectory,
  '/filesystem/dir/delete': deleteDirectory,
  '/filesystem/dir/delete_recursive': deleteRecursively,
}

/** The arguments were read by the command's own schema, so they are that command's. */
export async function runOperation(command: Command, work: Work<Command>): Promise<Done> {
  requirePossible(command, work)
  return (OPERATIONS[command] as Operation<Command>).run(work)
}
