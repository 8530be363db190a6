import { readdirSync } from 'node:fs'
import { CordonError, show } from '@cordon/policy'
import { errorCode, reason } from './durable.ts'

/** The names in a directory of ours; none when it was never made. */
export function listIfThere(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw new StorageError(dir, reason(error))
  }
}

/** A directory of Cordon's own cannot be looked into. */
export class StorageError extends CordonError {
  readonly code = 'STORAGE'
  readonly path: string
  constructor(path: string, problem: string) {
    super(`cannot read what is kept in ${show(path)}: ${problem}`)
    this.path = path
  }
}
