import { type Tool } from './protocol.ts'
import { fsCreateFile } from './tools/fs-create-file.ts'
import { fsDeleteFile } from './tools/fs-delete-file.ts'
import { fsGrepFiles } from './tools/fs-grep-files.ts'
import { fsListFiles } from './tools/fs-list-files.ts'
import { fsModifyFile } from './tools/fs-modify-file.ts'
import { fsMoveFile } from './tools/fs-move-file.ts'
import { fsReadFile } from './tools/fs-read-file.ts'
import { unixUtils } from './tools/unix-utils.ts'

/** SPEC 1.8. */
export const TOOLS: readonly Tool[] = [
  fsReadFile,
  fsListFiles,
  fsGrepFiles,
  fsCreateFile,
  fsModifyFile,
  fsDeleteFile,
  fsMoveFile,
  unixUtils,
]

export const findTool = (name: string): Tool | undefined => TOOLS.find((tool) => tool.name === name)
