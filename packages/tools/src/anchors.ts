import { type Anchor, FileError, openAmbientAnchor } from '@cordon/files'
import { type CanonicalPath, CordonError, type Location, type RelPath, show } from '@cordon/policy'

/** The workspace root or a mount's target cannot be held. Says which, and never where it is on this host. */
class AnchorError extends CordonError {
  readonly code = 'TOOL_ANCHOR'
  constructor(relative: string, reason: string) {
    super(`cannot reach ${show(relative)}: ${reason}`)
  }
}

/** The bridge from a checked location to anchored I/O (SPEC 6.4). Holds each anchor once, until the call ends. */
export class Anchors implements Disposable {
  readonly #held = new Map<CanonicalPath, Anchor>()

  /** Operate on the result with `location.inside`. */
  of(location: Location): Anchor {
    return this.at(location.anchor, location.relative)
  }

  /** `relative` is only for the message. */
  at(anchor: CanonicalPath, relative: RelPath): Anchor {
    const held = this.#held.get(anchor)
    if (held) return held
    const opened = open(anchor, relative)
    this.#held.set(anchor, opened)
    return opened
  }

  close(): void {
    for (const anchor of this.#held.values()) anchor.close()
    this.#held.clear()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

function open(anchor: CanonicalPath, relative: RelPath): Anchor {
  try {
    return openAmbientAnchor(anchor)
  } catch (error) {
    // Its message names the host's path of a mount's target, which must not enter a conversation (SPEC 3.2).
    if (!(error instanceof FileError)) throw error
    throw new AnchorError(relative, `the directory it is in cannot be opened (${error.code})`)
  }
}
