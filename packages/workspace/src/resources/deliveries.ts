import { createHash } from 'node:crypto'
import { type BlobRef, type Resource } from './resource.ts'

export type Delivery =
  | { readonly kind: 'full'; readonly resource: Resource }
  /** The reader has it already; `text` says where. */
  | { readonly kind: 'reference'; readonly uri: string; readonly text: string }

/**
 * SPEC 6.3: within one conversation, a block with the URI and the content of an earlier one is delivered as a reference to
 * it. The same URI with other content is new, and so is the same content under another URI.
 */
export class Deliveries {
  readonly #seen = new Map<string, number>()

  /** In the order of the conversation; `turn` counts from 1. */
  deliver(resource: Resource, turn: number): Delivery {
    const key = JSON.stringify([resource.uri, checksum(resource)])
    const earlier = this.#seen.get(key)
    if (earlier === undefined) {
      this.#seen.set(key, turn)
      return { kind: 'full', resource }
    }
    const { uri } = resource
    const where = earlier === turn ? 'earlier in this turn' : `in turn ${earlier}`
    return { kind: 'reference', uri, text: `[${uri} is unchanged; its content is ${where}]` }
  }
}

/** The content's SHA-256, whether it is inline or kept. */
export function checksum({ text, blob }: Resource): string {
  if (isRef(text)) return text.$blob
  if (isRef(blob)) return blob.$blob
  const inline = text === undefined ? Buffer.from(blob ?? '', 'base64') : Buffer.from(text)
  return createHash('sha256').update(inline).digest('hex')
}

const isRef = (payload: string | BlobRef | undefined): payload is BlobRef => typeof payload === 'object'
