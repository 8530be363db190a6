import { sha256 } from '@cordon/workspace'

/** More than a session that goes well ever says. */
const MOST = 1000

/**
 * What was said already, so that it is said once. Only the last ones are known, and not by their texts, which servers make as
 * long as they like: a gateway that serves for weeks would grow with each of them.
 */
export class Said {
  readonly #digests = new Set<string>()

  /** Also true of what was said so long ago that it is forgotten. */
  isNew(text: string): boolean {
    const digest = sha256(text)
    if (this.#digests.has(digest)) return false
    this.#digests.add(digest)
    const [oldest] = this.#digests
    if (this.#digests.size > MOST) this.#digests.delete(oldest!)
    return true
  }
}
