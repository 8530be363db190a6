import { closeSync, fstatSync, fsyncSync, ftruncateSync, read, readSync, writeSync } from 'node:fs'
import { promisify } from 'node:util'
import { type RelPath } from '@cordon/policy'
import { type OpenedFile } from './directory.ts'
import { describeStats, type FileStat } from './entry.ts'
import { FileError, fileError, type Operation, type Subject } from './errors.ts'
import { digest, type VersionedContent } from './hash.ts'

const readAsync = promisify(read)

/** What one `readFile` may hold in memory, unless the caller says otherwise. */
const READ_LIMIT: number = 64 * 1024 * 1024

export interface ByteRange {
  /** The first byte. */
  readonly start?: number
  /** How many bytes at most; without it, to the end. */
  readonly length?: number
}

/** A regular file, held open: whatever happens to its name, this is the file that was reached. */
export class OpenFile implements Disposable {
  readonly path: RelPath
  readonly #opened: OpenedFile
  readonly #operation: Operation
  #stat: FileStat | undefined
  #fd: number

  constructor(path: RelPath, opened: OpenedFile, operation: Operation) {
    this.path = path
    this.#opened = opened
    this.#operation = operation
    this.#fd = opened.fd
  }

  get fd(): number {
    if (this.#fd < 0) throw new Error('this file is closed')
    return this.#fd
  }

  /** As it was when it was opened. */
  get stat(): FileStat {
    return (this.#stat ??= describeStats(this.#opened.stats))
  }

  /** As it is now. */
  statNow(): FileStat {
    return this.#try(() => describeStats(fstatSync(this.fd, { bigint: true })))
  }

  /** To the end, also when it grew meanwhile; a file that shrank while it was read is an error. */
  readAll(limit: number = READ_LIMIT): NonSharedBuffer {
    const promised = Number(this.#opened.stats.size)
    if (promised > limit) throw this.#tooLarge(limit)
    let buffer = Buffer.allocUnsafe(Math.min(promised, limit) + 1)
    let filled = 0
    for (;;) {
      const got = this.#readInto(buffer, filled, buffer.length - filled, filled)
      filled += got
      if (filled > limit) throw this.#tooLarge(limit)
      if (got === 0) break
      if (filled === promised && filled < buffer.length) break // a short read of a file is its end
      if (filled === buffer.length) buffer = enlarge(buffer, limit + 1)
    }
    if (filled < promised) throw this.#fail('FILE_CHANGED', 'became shorter while it was read')
    return buffer.subarray(0, filled)
  }

  /** Only that part is read; shorter where the file ends. */
  readRange({ start = 0, length }: ByteRange, limit: number = READ_LIMIT): NonSharedBuffer {
    const there = Math.max(0, Number(this.#opened.stats.size) - start)
    const wanted = Math.min(length ?? there, there)
    if (wanted > limit) throw this.#tooLarge(limit)
    const buffer = Buffer.allocUnsafe(wanted)
    let filled = 0
    while (filled < wanted) {
      const got = this.#readInto(buffer, filled, wanted - filled, start + filled)
      if (got === 0) throw this.#fail('FILE_CHANGED', 'became shorter while it was read')
      filled += got
    }
    return buffer
  }

  /**
   * All of it, a chunk at a time, with its hash; `take` must be done with a chunk when it resolves. A file that is
   * written meanwhile is an error.
   */
  async content(take?: (chunk: Uint8Array) => Promise<void>): Promise<VersionedContent> {
    try {
      return await digest(this.fd, take)
    } catch (error) {
      throw fileError(error, { operation: this.#operation, path: this.path })
    }
  }

  /**
   * For what is too big to hold. All pieces are read into one buffer, so each counts until the next is asked for
   * (decision 0257). The pieces own the file from now on: their end closes it, also an early one.
   */
  pieces(range: ByteRange = {}): AsyncGenerator<Uint8Array> {
    const { fd } = this
    this.#fd = -1
    return readPieces(fd, range, { operation: this.#operation, path: this.path })
  }

  /** Only on a file from `openAppend`: always at the end, whole or an error. */
  append(data: Uint8Array): void {
    this.#try(() => {
      for (let done = 0; done < data.length;) done += writeSync(this.fd, data, done)
    })
  }

  /** Cuts a torn end off. Only on a file from `openAppend`. */
  truncate(size: number): void {
    this.#try(() => ftruncateSync(this.fd, size))
  }

  sync(): void {
    this.#try(() => fsyncSync(this.fd))
  }

  close(): void {
    const fd = this.#fd
    this.#fd = -1
    if (fd >= 0) closeSync(fd)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #readInto(buffer: NonSharedBuffer, offset: number, length: number, position: number): number {
    return this.#try(() => readSync(this.fd, buffer, offset, length, position))
  }

  #try<T>(act: () => T): T {
    try {
      return act()
    } catch (error) {
      throw fileError(error, { operation: this.#operation, path: this.path })
    }
  }

  #tooLarge(limit: number): FileError {
    return this.#fail('FILE_TOO_LARGE', `is larger than ${limit} bytes`)
  }

  #fail(code: 'FILE_CHANGED' | 'FILE_TOO_LARGE', reason: string): FileError {
    return new FileError(code, { operation: this.#operation, path: this.path }, reason)
  }
}

const PIECE_BYTES = 256 * 1024

async function* readPieces(
  fd: number,
  { start = 0, length = Number.MAX_SAFE_INTEGER }: ByteRange,
  subject: Subject,
): AsyncGenerator<Uint8Array> {
  try {
    const buffer = Buffer.allocUnsafeSlow(Math.min(length, PIECE_BYTES))
    for (let done = 0; done < length;) {
      const wanted = Math.min(length - done, buffer.length)
      const { bytesRead } = await readAsync(fd, buffer, 0, wanted, start + done)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
      done += bytesRead
    }
  } catch (error) {
    throw fileError(error, subject)
  } finally {
    closeSync(fd)
  }
}

function enlarge(buffer: NonSharedBuffer, most: number): NonSharedBuffer {
  const larger = Buffer.allocUnsafe(Math.min(Math.max(buffer.length * 2, 64 * 1024), most))
  buffer.copy(larger)
  return larger
}
