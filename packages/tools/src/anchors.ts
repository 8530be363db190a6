import { type Anchor, FileError, openAmbientAnchor } from '@cordon/files'
import { type CanonicalPath, CordonError, type Location, type RelPath, show } from '@cordon/policy'
import { anchorName } from './access.ts'

/** The workspace root or a mount's target cannot be held. Says which, and never where it is on this host. */
class AnchorError extends CordonError {
  readonly code = 'TOOL_ANCHOR'
  constructor(relative: string, reason: string) {
    super(`cannot reach ${show(relative)}: ${reason}`)
  }
}

/** The bridge from a checked location to anchored I/O (SPEC 6.4). Holds each anchor once, until the call ends. */
export class Anchors implements Disposable {
  readonly #held = new Map<string, Anchor>()

  /** Operate on the result with `location.inside`; its errors name what the caller named. */
  of(location: Pick<Location, 'anchor' | 'relative' | 'inside'>): Anchor {
    return this.at(location.anchor, anchorName(location))
  }

  /** `shownAs`: what the caller calls the anchor, `.` or the mount's name. Two mounts may lead to one target. */
  at(anchor: CanonicalPath, shownAs: RelPath): Anchor {
    const key = `${shownAs}\0${anchor}`
    const held = this.#held.get(key)
    if (held) return held
    const opened = open(anchor, shownAs)
    this.#held.set(key, opened)
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

function open(anchor: CanonicalPath, shownAs: RelPath): Anchor {
  try {
    return openAmbientAnchor(anchor, shownAs)
  } catch (error) {
    // Its message names the host's path of a mount's target, which must not enter a conversation (SPEC 3.2).
    if (!(error instanceof FileError)) throw error
    throw new AnchorError(shownAs, REASONS[error.code] ?? `what it leads to cannot be opened (${error.code})`)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  FILE_NOT_FOUND: 'what it leads to is not there',
  FILE_NOT_REGULAR: 'what it leads to is neither a file nor a directory',
  FILE_NO_PERMISSION: 'what it leads to may not be opened by this user',
}
