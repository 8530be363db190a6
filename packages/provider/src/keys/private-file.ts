import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
} from 'node:fs'
import { createDurably, replaceDurably } from '@cordon/files'
import { CordonError, show } from '@cordon/policy'

/** A file of the provider's that others could read or have written, or that is gone. */
export class PrivateFileError extends CordonError {
  readonly code = 'PRIVATE_FILE'
  constructor(file: string, problem: string) {
    super(`${show(file)} ${problem}`)
  }
}

const { O_NOFOLLOW, O_RDONLY } = constants

export function makePrivateDirectory(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const { mode, uid } = lstatSync(dir)
  if (uid !== process.getuid?.())
    throw new PrivateFileError(dir, `belongs to the user with id ${uid}; it must be yours`)
  if ((mode & 0o077) !== 0) chmodSync(dir, 0o700)
}

/** Undefined when there is none. Refused when anybody else could have read or written it. */
export function readPrivate(file: string): string | undefined {
  let fd: number
  try {
    fd = openSync(file, O_RDONLY | O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new PrivateFileError(file, `cannot be read: ${(error as Error).message}`)
  }
  try {
    const { mode, uid } = fstatSync(fd)
    if (uid !== process.getuid?.())
      throw new PrivateFileError(file, `belongs to the user with id ${uid}; it must be yours`)
    if ((mode & 0o077) !== 0)
      throw new PrivateFileError(file, `can be used by others; run \`chmod 600\` on it, and rotate the key`)
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

/** Of two processes that start at once, one makes it and the other is told false. */
export const createPrivate = (file: string, text: string): boolean => createDurably(file, text, 0o600)

/** All or nothing. */
export const replacePrivate = (file: string, text: string): void =>
  replaceDurably(file, text, { mode: 0o600, temp: `${file}.${process.pid}.tmp` })
