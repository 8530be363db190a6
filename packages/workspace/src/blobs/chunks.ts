/** A piece of content, valid until the next one is asked for: its memory is used again. */
export type Chunks = AsyncIterable<Uint8Array>

/** A file that is held open, as `FileHandle.read` reads it. */
export interface HeldFile {
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number; readonly buffer: Buffer }>
}

const CHUNK = 1024 * 1024

/**
 * A file from its beginning, whatever its position. Reads the next piece while the caller works on this one. Throws
 * the signal's reason between two pieces once it is aborted.
 */
export async function* chunksOf(file: HeldFile, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const buffers = [Buffer.allocUnsafeSlow(CHUNK), Buffer.allocUnsafeSlow(CHUNK)]
  let position = 0
  let next = file.read(buffers[0]!, 0, CHUNK, 0)
  try {
    for (let i = 0; ; i++) {
      const { bytesRead, buffer } = await next
      signal?.throwIfAborted()
      if (bytesRead === 0) return
      position += bytesRead
      next = file.read(buffers[(i + 1) % 2]!, 0, CHUNK, position)
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await next.catch(() => undefined) // or the file could be closed under a read
  }
}
