/**
 * What a host and a worker that stays say to each other (decision 0200): a text with its length before it, in four bytes.
 * One question, one answer: a byte before its turn, or after the end of a frame, means that the two no longer
 * understand each other.
 */
const HEADER = 4

/** Of a call. A longer one gets a process of its own. */
export const LONGEST_CALL = 256 * 1024 * 1024

/** Characters before every call, anew for each, which its answer repeats: a random UUID. */
export const NONCE_LENGTH = 36

export class FrameError extends Error {}

export function encodeFrame(text: string): Buffer {
  const bytes = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(HEADER + bytes)
  frame.writeUInt32BE(bytes)
  frame.write(text, HEADER)
  return frame
}

/** Puts one frame together from pieces. Throws `FrameError` for one that is longer than `most`, and for anything behind it. */
export class FrameReader {
  readonly #most: number
  readonly #pieces: Buffer[] = []
  #have = 0
  /** Of header and text; unknown until the header is there. */
  #want: number | undefined

  constructor(most: number) {
    this.#most = most
  }

  /** The bytes of the text, once all of them are there. */
  push(piece: Buffer): Buffer | undefined {
    this.#pieces.push(piece)
    this.#have += piece.length
    this.#want ??= this.#readHeader()
    if (this.#want === undefined || this.#have < this.#want) return undefined
    if (this.#have > this.#want) throw new FrameError(`${this.#have - this.#want} bytes behind a frame`)
    return this.#all().subarray(HEADER)
  }

  /** How many bytes are still to come. Undefined: that is not known yet. */
  get missing(): number | undefined {
    return this.#want === undefined ? undefined : this.#want - this.#have
  }

  #readHeader(): number | undefined {
    if (this.#have < HEADER) return undefined
    const bytes = this.#all().readUInt32BE()
    if (bytes > this.#most) throw new FrameTooLongError(bytes)
    return HEADER + bytes
  }

  /** Nearly always there is one piece. */
  #all(): Buffer {
    const [first, ...more] = this.#pieces
    return first && more.length === 0 ? first : Buffer.concat(this.#pieces)
  }
}

export class FrameTooLongError extends FrameError {
  readonly bytes: number
  constructor(bytes: number) {
    super(`a frame of ${bytes} bytes`)
    this.bytes = bytes
  }
}
