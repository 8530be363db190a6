import { createHash } from 'node:crypto'
import { type FileHandle } from 'node:fs/promises'
import { createGzip, type Gzip } from 'node:zlib'
import { writeAll } from '../small-files.ts'
import { type BlobHash, type BlobRef } from '../resources/resource.ts'
import { type Chunks } from './chunks.ts'

/** What content in memory is called. */
export const refOf = (content: Uint8Array): BlobRef => ({
  $blob: createHash('sha256').update(content).digest('hex') as BlobHash,
  size: content.length,
})

/** What the content is called. Reads and hashes, nothing else. */
export async function hashOf(content: Chunks): Promise<BlobRef> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of content) {
    hash.update(chunk)
    size += chunk.length
  }
  return { $blob: hash.digest('hex') as BlobHash, size }
}

/** Hashes while it compresses into `target`, in constant memory; zlib works on another thread meanwhile. */
export async function compress(content: Chunks, target: FileHandle): Promise<BlobRef> {
  const gzip = createGzip({ level: 1, chunkSize: 256 * 1024 })
  const fed = feed(content, gzip)
  fed.catch((error: unknown) => gzip.destroy(error as Error)) // so that the loop below ends, too
  try {
    for await (const chunk of gzip) await writeAll(target, chunk as Buffer)
  } finally {
    gzip.destroy() // and, when writing failed, so that feeding does
  }
  return fed
}

async function feed(content: Chunks, gzip: Gzip): Promise<BlobRef> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of content) {
    const taken = new Promise<void>((resolve, reject) => {
      gzip.write(chunk, (error) => (error ? reject(error) : resolve()))
    })
    hash.update(chunk)
    size += chunk.length
    await taken // its memory is used again
  }
  gzip.end()
  return { $blob: hash.digest('hex') as BlobHash, size }
}
