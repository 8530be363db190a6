import { type Readable } from 'node:stream'
import { type ConversationRef, eventsFile, type Keeping, type Shelf } from '../conversation/shelf.ts'
import { metadataFile } from '../conversation/metadata.ts'
import { type BlobHash, type BlobRef, type Resource } from '../resources/resource.ts'
import { BlobReadError } from './errors.ts'
import { referencedBy } from './mark.ts'
import { BlobStore } from './store.ts'

/**
 * Both places of a workspace: what a conversation keeps goes beside it, what it reads is found in either.
 */
export class Blobs {
  readonly shared: BlobStore
  readonly local: BlobStore

  constructor(shelf: Shelf) {
    this.shared = new BlobStore(shelf, 'shared')
    this.local = new BlobStore(shelf, 'local')
  }

  beside({ keeping }: { readonly keeping: Keeping }): BlobStore {
    return this[keeping]
  }

  /** Verified; fails at its end if the content is not what the reference says. */
  get(ref: BlobRef): Readable {
    return this.#holding(ref.$blob).get(ref)
  }

  /**
   * A resource's content as a whole, at most `limit` bytes. Inline `text` and `blob` are what a person wrote by
   * hand. A resource without content is empty.
   */
  async read({ text, blob }: Pick<Resource, 'text' | 'blob'>, limit: number): Promise<Buffer> {
    if (typeof text === 'string') return bounded(Buffer.from(text), limit)
    if (typeof blob === 'string') return bounded(Buffer.from(blob, 'base64'), limit)
    const ref = text ?? blob
    return ref ? this.#holding(ref.$blob).read(ref, limit) : Buffer.alloc(0)
  }

  /** Every file a conversation needs: what to stage to share it. A blob that is not there is an error. */
  async filesOf(ref: ConversationRef): Promise<string[]> {
    const hashes = [...(await referencedBy(ref))].sort()
    return [eventsFile(ref), metadataFile(ref.dir), ...hashes.map((hash) => this.#holding(hash).pathOf(hash))]
  }

  #holding(hash: BlobHash): BlobStore {
    for (const store of [this.shared, this.local]) if (store.has(hash)) return store
    throw new BlobReadError(hash, 'it is not in the blob store')
  }
}

function bounded(content: Buffer, limit: number): Buffer {
  if (content.length > limit) throw new BlobReadError('(inline)', `it is larger than ${limit} bytes`)
  return content
}
