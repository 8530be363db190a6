import { isUtf8 } from 'node:buffer'
import { openAmbientAnchor } from '@cordon/files'
import { below, type CanonicalPath, CordonError, parseRelPath } from '@cordon/policy'
import type { MountView } from '../mount/list.ts'

/** What a file of the workspace holds now; undefined where that cannot be read as text. */
export type TextNow = (path: string) => string | undefined

/**
 * With the person's authority, for the person alone: to show a change where it would be (decision 0332). No link is followed
 * but an approved mount, as the tool itself would not.
 */
export const openAmbientTextNow =
  (root: CanonicalPath, mounts: readonly MountView[]): TextNow =>
  (path) => {
    try {
      const wanted = parseRelPath(path)
      const places = mounts.flatMap(({ name, target, state }) => {
        const inside = below(name, wanted)
        return state === 'ok' && target !== undefined && inside !== undefined ? [{ top: target, inside }] : []
      })
      const { top, inside } = places[0] ?? { top: root, inside: wanted }
      using anchor = openAmbientAnchor(top)
      const bytes = anchor.readFile(inside, { limit: LARGEST })
      return isUtf8(bytes) ? bytes.toString('utf8') : undefined
    } catch (error) {
      if (error instanceof CordonError) return undefined
      throw error
    }
  }

/** Of a larger file the parts that the call names are enough. */
const LARGEST = 1024 * 1024
