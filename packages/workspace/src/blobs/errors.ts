import { CordonError, show } from '@cordon/policy'
import { reason } from '../small-files.ts'

/** The content was not kept. */
export class BlobPutError extends CordonError {
  readonly code = 'BLOB_PUT'
  constructor(dir: string, problem: string) {
    super(`cannot keep the content in ${show(dir)}: ${problem}`)
  }
}

/** Whatever goes wrong while something is kept in `dir` is reported as that. */
export async function guarded<T>(dir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof CordonError ? error : new BlobPutError(dir, reason(error))
  }
}

/** The content is not there, or is not what its name says: nothing that was read of it may be used. */
export class BlobReadError extends CordonError {
  readonly code = 'BLOB_READ'
  readonly hash: string
  constructor(hash: string, problem: string) {
    super(`cannot read the blob ${hash}: ${problem}`)
    this.hash = hash
  }
}
