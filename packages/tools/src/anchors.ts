import { type Anchor, FileError, openAmbientAnchor } from '@cordon/files'
import { type CanonicalPath, CordonError, type Location, show } from '@cordon/policy'

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
    const held = this.#held.get(location.anchor)
    if (held) return held
    const opened = open(location)
    this.#held.set(location.anchor, opened)
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

function open(location: Location): Anchor {
  try {
    return openAmbientAnchor(location.anchor)
  } catch (error) {
    // Its message names the host's path of a mount's target, which must not enter a conversation (SPEC 3.2).
    if (!(error instanceof FileError)) throw error
    throw new AnchorError(location.relative, `the directory it is in cannot be opened (${error.code})`)
  }
}
