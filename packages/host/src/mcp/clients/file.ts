import {
  chownSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describeStranger, textIn } from '@cordon/config'
import { replaceDurably } from '@cordon/files'
import { show } from '@cordon/policy'
import { reason, strangerIn, type Surroundings } from '@cordon/workspace'
import { ClientFileError } from './document.ts'

/** Claude Code keeps much more than servers in its file; a larger one is a mistake, or an attack on memory. */
const LIMIT = { bytes: 32 * 1024 * 1024, fix: 'take out what the client does not need' }

/** A client's file that was read. */
export interface ClientFile {
  /** As the client knows it. */
  readonly file: string
  /** Where it really is: another path when a person keeps it elsewhere, by a link. */
  readonly real: string
  readonly text: string
  readonly stat: Stats
}

/** A person's own file may be a link, to where their dotfiles are kept. One of a project came with its files. */
export const linksOf = (scope: 'user' | 'project'): 'follow' | 'refuse' =>
  scope === 'user' ? 'follow' : 'refuse'

/**
 * Undefined when there is none. A link of the person's own is followed, and whoever asks can see where to; one in a project
 * came with its files and is not. What others own or may write is nobody's word.
 */
export function readClientFile(
  file: string,
  around: Surroundings,
  links: 'follow' | 'refuse',
): ClientFile | undefined {
  let fd: number | undefined
  try {
    const real = links === 'follow' ? realpathSync.native(file) : file
    fd = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    const stat = fstatSync(fd)
    if (links === 'refuse' && realpathSync.native(dirname(file)) !== dirname(file)) throw ledElsewhere(file)
    const stranger = strangerIn(stat, around)
    if (stranger) throw new ClientFileError(file, ...describeStranger({ path: file, stranger }, file))
    const found = textIn(fd, stat, LIMIT)
    if (found.kind === 'wrong') throw new ClientFileError(file, found.message, found.fix)
    return { file, real, text: found.text, stat }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    if (code === 'ELOOP') throw ledElsewhere(file)
    if (error instanceof ClientFileError) throw error
    throw new ClientFileError(file, `cannot read it: the system says ${code ?? String(error)}`)
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

const ledElsewhere = (file: string): ClientFileError =>
  new ClientFileError(
    file,
    'it is a link, or reached through one, and came with the files of a project',
    `look where it leads, and name that file: ${show(realOf(file))}`,
  )

/** Where it leads; of what leads nowhere, the name itself. */
export function realOf(file: string): string {
  try {
    return realpathSync.native(file)
  } catch {
    return file
  }
}

/** One name, because the lock on our records lets one writer at a time: so what a killed one left is found again. */
const tempOf = (real: string): string => join(dirname(real), `.${basename(real)}.cordon-tmp`)

/** It is a copy of a file with secrets; or whatever a confined program has made of that name in a workspace. */
export function sweepTemp({ file, real }: Pick<ClientFile, 'file' | 'real'>): void {
  const temp = tempOf(real)
  try {
    rmSync(temp, { force: true, recursive: true })
  } catch (error) {
    throw new ClientFileError(file, `cannot remove ${show(temp)}: ${reason(error)}`, 'remove it by hand')
  }
}

/**
 * The whole text or nothing: written beside the real file, made durable, renamed over it; owner and mode stay. Refuses when
 * the file is not as it was read, so that what the client wrote meanwhile is not lost (decision 0240).
 */
export function writeClientFile(was: ClientFile, text: string, around: Surroundings): void {
  const { file, real, stat } = was
  const temp = tempOf(real)
  const beforeRename = (): void => {
    const { uid, gid } = statSync(temp)
    if (uid !== stat.uid || gid !== stat.gid) chownSync(temp, stat.uid, stat.gid)
    // Of the real file: somebody may have exchanged the link.
    const now = readClientFile(file, around, real === file ? 'refuse' : 'follow')
    if (now?.text !== was.text || now.real !== real || lstatSync(real).ino !== stat.ino)
      throw new ClientFileError(
        file,
        'somebody else changed it meanwhile, so it was left as it is',
        'try again',
      )
  }
  try {
    replaceDurably(real, text, { mode: 0o600, keptMode: stat.mode & 0o7777, temp, beforeRename })
  } catch (error) {
    if (error instanceof ClientFileError) throw error
    throw new ClientFileError(file, `cannot write it: ${reason(error)}`)
  }
}
