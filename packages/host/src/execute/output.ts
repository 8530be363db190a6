import type { ContentBlock } from './result.ts'

/** What was kept of a stream, and how much there was. */
export interface Kept {
  readonly bytes: Buffer
  readonly total: number
}

/** Keeps the beginning of what it is told. What comes after it is counted and dropped; past `most` bytes it says so. */
export class Head {
  readonly #limits: { readonly keep: number; readonly most: number }
  readonly #onTooMuch: () => void
  readonly #chunks: Buffer[] = []
  #total = 0
  #length = 0

  constructor(limits: { readonly keep: number; readonly most: number }, onTooMuch: () => void) {
    this.#limits = limits
    this.#onTooMuch = onTooMuch
  }

  readonly add = (chunk: Buffer): void => {
    const { keep, most } = this.#limits
    this.#total += chunk.length
    if (this.#length < keep) {
      const part = chunk.subarray(0, keep - this.#length)
      this.#chunks.push(part)
      this.#length += part.length
    }
    if (this.#total > most) this.#onTooMuch()
  }

  get kept(): Kept {
    return { bytes: Buffer.concat(this.#chunks), total: this.#total }
  }
}

/** Keeps the end: the last lines of an error output say what went wrong. */
export class Tail {
  readonly #keep: number
  #tail = Buffer.alloc(0)
  #total = 0

  constructor(keep: number) {
    this.#keep = keep
  }

  readonly add = (chunk: Buffer): void => {
    this.#total += chunk.length
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-this.#keep)
  }

  get text(): string {
    return this.#tail.toString('utf8')
  }

  /** How much there was of it. */
  get total(): number {
    return this.#total
  }
}

/** Content that fits the bound, and in words what was left out of it. */
export interface Bounded {
  readonly content: readonly ContentBlock[]
  readonly cut: string | undefined
}

/** Blocks in their order until the bound is reached: a text is cut between characters, a blob is whole or not there. */
export function boundContent(content: readonly ContentBlock[], most: number): Bounded {
  const kept: ContentBlock[] = []
  let room = most
  let total = 0
  let dropped = 0
  for (const block of content) {
    const size = Buffer.byteLength(textOf(block))
    total += size
    if (size <= room) kept.push(block)
    else if (room > 0 && !isBlob(block)) kept.push(withText(block, headOf(textOf(block), room)))
    else dropped++
    room = Math.max(0, room - size)
  }
  if (total <= most) return { content, cut: undefined }
  const blocks = dropped === 0 ? '' : `; ${dropped} of ${content.length} parts left out`
  return { content: kept, cut: `output cut: ${most} of ${total} bytes kept (max_output_bytes)${blocks}` }
}

const textOf = (block: ContentBlock): string =>
  block.type === 'text' ? block.text : (block.resource.text ?? block.resource.blob ?? '')

const isBlob = (block: ContentBlock): boolean =>
  block.type === 'resource' && block.resource.text === undefined

const withText = (block: ContentBlock, text: string): ContentBlock =>
  block.type === 'text' ? { ...block, text } : { ...block, resource: { ...block.resource, text } }

/** The longest end of at most so many bytes that begins between characters. */
export function tailOf(text: string, most: number): string {
  const bytes = Buffer.from(text)
  let start = Math.max(0, bytes.length - most)
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++
  return bytes.toString('utf8', start)
}

/** The longest beginning of at most so many bytes that ends between characters. */
export function headOf(text: string, most: number): string {
  const bytes = Buffer.from(text).subarray(0, most + 1)
  let end = Math.min(most, bytes.length)
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
