import { lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { CordonError, show } from '@cordon/policy'
import { errorCode, reason } from './small-files.ts'

/**
 * Makes a directory of the user's own (mode 0700) with those above it. Not Node's `recursive`: where nothing can be made
 * although the directory above is there (HOME=/proc), that tries for ever.
 */
export function makePrivateDirectory(path: string): void {
  if (isMade(path)) return
  const above = dirname(path)
  if (above !== path) makePrivateDirectory(above)
  if (!isMade(path)) throw new StorageError(path, `cannot make ${show(path)}: nothing can be made there`)
}

/** Whether it is there now. */
function isMade(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 })
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return true // what else it may be, its first use says
    if (code === 'ENOENT') return false
    throw new StorageError(path, `cannot make ${show(path)}: ${reason(error)}`)
  }
}

/** The names in a directory of ours; none when it was never made. */
export function listIfThere(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw new StorageError(dir, `cannot read what is kept in ${show(dir)}: ${reason(error)}`)
  }
}

/** The same for what will be removed: none where a link leads there. */
export const listOwn = (dir: string): string[] => (isOwnDirectory(dir) ? listIfThere(dir) : [])

/** `.cordon` comes with a clone, and a link in it leads to what is somebody else's (decision 0495). */
export const isOwnDirectory = (dir: string): boolean =>
  lstatSync(dir, { throwIfNoEntry: false })?.isDirectory() ?? false

/** A directory of Cordon's own cannot be made, or looked into. */
class StorageError extends CordonError {
  readonly code = 'STORAGE'
  readonly path: string
  constructor(path: string, message: string) {
    super(message)
    this.path = path
  }
}
