import { isUtf8 } from 'node:buffer'
import { type Anchor, type FileStat, openAmbientAnchor } from '@cordon/files'
import {
  type CanonicalPath,
  CordonError,
  FsIndex,
  type FsRule,
  locateObject,
  openAmbientRoot,
  type RelPath,
} from '@cordon/policy'

/** A file that a call would change. */
interface FileNow {
  /** The one name of it, however the call spells it. */
  readonly path: RelPath
  /** What it holds now; undefined where that cannot be read as text. */
  readonly read: () => string | undefined
  readonly stat: () => Pick<FileStat, 'kind' | 'size'> | undefined
}

/** Undefined: the tool could not reach such a file. */
export type TextNow = (path: string) => FileNow | undefined

/**
 * With the person's authority, for the person alone: to show a change where it would be (decision 0332). The file is found as
 * the tool finds it, by its rules: no link leads out but an approved mount.
 */
export function openAmbientTextNow(top: CanonicalPath, rules: readonly FsRule[]): TextNow {
  return (path) => {
    try {
      const root = openAmbientRoot(top)
      const index = rules.length > 0 ? new FsIndex(rules, root.foldCase) : undefined
      const { relative, anchor, inside } = locateObject(root, index, path, 'update')
      return {
        path: relative,
        read: () => looking(anchor, (at) => textIn(at.readFile(inside, { limit: LARGEST }))),
        stat: () => looking(anchor, (at) => at.stat(inside)),
      }
    } catch (error) {
      if (error instanceof CordonError) return undefined
      throw error
    }
  }
}

const textIn = (bytes: Buffer): string | undefined => (isUtf8(bytes) ? bytes.toString('utf8') : undefined)

function looking<T>(top: CanonicalPath, look: (at: Anchor) => T): T | undefined {
  try {
    using anchor = openAmbientAnchor(top)
    return look(anchor)
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}

/** Of a larger file the parts that the call names are enough. */
const LARGEST = 1024 * 1024
