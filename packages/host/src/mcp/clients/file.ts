import {
  chownSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs'
import { isUtf8 } from 'node:buffer'
import { basename, dirname, join } from 'node:path'
import { replaceDurably } from '@cordon/files'
import { show } from '@cordon/policy'
import { reason, strangerIn, type Surroundings } from '@cordon/workspace'
import { ClientFileError } from './document.ts'

/** Claude Code keeps much more than servers in its file; a larger one is a mistake, or an attack on memory. */
const LARGEST = 32 * 1024 * 1024

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
  const fail = (problem: string, fix?: string): never => {
    throw new ClientFileError(file, problem, fix)
  }
  let fd: number | undefined
  try {
    const real = links === 'follow' ? realpathSync.native(file) : file
    fd = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    const stat = fstatSync(fd)
    if (!stat.isFile()) fail('it is not a regular file')
    if (links === 'refuse' && realpathSync.native(dirname(file)) !== dirname(file)) throw ledElsewhere(file)
    refuseStranger(file, stat, around)
    const bytes = readUpTo(fd, LARGEST + 1)
    if (bytes.length > LARGEST) fail(`it is larger than ${LARGEST / 1024 / 1024} MiB, which is the limit`)
    if (!isUtf8(bytes)) fail('it is not UTF-8 text')
    return { file, real, text: bytes.toString('utf8'), stat }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    if (code === 'ELOOP') throw ledElsewhere(file)
    if (error instanceof ClientFileError) throw error
    return fail(`cannot read it: the system says ${code ?? String(error)}`)
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

function realOf(file: string): string {
  try {
    return realpathSync.native(file)
  } catch {
    return file
  }
}

function refuseStranger(file: string, stat: Stats, around: Surroundings): void {
  const stranger = strangerIn(stat, around)
  switch (stranger?.kind) {
    case undefined:
      return
    case 'owner':
      throw new ClientFileError(
        file,
        `it belongs to the user with id ${stranger.uid}, who could write anything there`,
      )
    case 'group':
      throw new ClientFileError(
        file,
        `the group with id ${stranger.gid} may write it`,
        `if its content is yours: chmod g-w ${show(file)}`,
      )
    case 'everybody':
      throw new ClientFileError(
        file,
        'every user may write it',
        `if its content is yours: chmod o-w ${show(file)}`,
      )
  }
}

/** The size a file claims is not trusted. */
function readUpTo(fd: number, limit: number): Buffer {
  const chunks: Buffer[] = []
  let total = 0
  while (total < limit) {
    const chunk = Buffer.allocUnsafe(Math.min(1024 * 1024, limit - total))
    const count = readSync(fd, chunk)
    if (count === 0) break
    chunks.push(chunk.subarray(0, count))
    total += count
  }
  return Buffer.concat(chunks)
}

/** One name, because the lock on our records lets one writer at a time: so what a killed one left is found again. */
const tempOf = (real: string): string => join(dirname(real), `.${basename(real)}.cordon-tmp`)

/** It is a copy of a file with secrets. */
export const sweepTemp = ({ real }: Pick<ClientFile, 'real'>): void => rmSync(tempOf(real), { force: true })

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
