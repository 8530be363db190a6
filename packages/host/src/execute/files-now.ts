import { isUtf8 } from 'node:buffer'
import { openAmbientAnchor } from '@cordon/files'
import {
  type CanonicalPath,
  CordonError,
  FsIndex,
  type FsRule,
  type Location,
  locate,
  type Meant,
  openAmbientRoot,
  type RelPath,
} from '@cordon/policy'
import { LARGEST_SEEN, lookAt, type Seen } from '@cordon/tools'

/** A file that a call names. */
export interface FileNow {
  /** The one name of it, however the call spells it. */
  readonly path: RelPath
  /** Undefined: it cannot be looked at. */
  readonly look: () => Seen | undefined
}

/** `entry`: of a link the link, as deleting and moving take it. Undefined: the tool could not reach such a file. */
export type FilesNow = (path: string, as?: Meant) => FileNow | undefined

/**
 * With the person's authority, for the person alone: to show a change where it would be (decision 0332). A file is found as
 * the tool finds it, by its rules: no link leads out but an approved mount. Each is looked at once, so that all that is said
 * of it, and what the tool is held to, is of one moment (decision 0408).
 */
export function openAmbientFilesNow(top: CanonicalPath, rules: readonly FsRule[]): FilesNow {
  const looks = new Map<string, Seen | undefined>()
  let room = MOST_BYTES
  const look = ({ anchor, inside }: Location): Seen | undefined => {
    const seen = orUndefined(() => {
      using held = openAmbientAnchor(anchor)
      return lookAt(held, inside, Math.min(room, LARGEST_SEEN))
    })
    room -= seen?.content?.length ?? 0
    return seen
  }
  const find = (path: string, as: Meant): FileNow | undefined =>
    orUndefined(() => {
      const root = openAmbientRoot(top)
      const index = rules.length > 0 ? new FsIndex(rules, root.foldCase) : undefined
      const place = locate(root, index, path, 'update', as)
      return { path: place.relative, look: () => kept(looks, place.absolute, () => look(place)) }
    })
  const files = new Map<string, FileNow | undefined>()
  return (path, as = 'object') => kept(files, `${as} ${path}`, () => find(path, as))
}

/** What it holds; undefined where that cannot be read as text. */
export function textOf(file: FileNow | undefined): string | undefined {
  const content = file?.look()?.content
  return content && isUtf8(content) ? content.toString('utf8') : undefined
}

/** Of all files of one call together: what a model names stays in memory while a person reads. */
const MOST_BYTES = 64 * 1024 * 1024

function kept<T>(all: Map<string, T>, key: string, make: () => T): T {
  if (!all.has(key)) all.set(key, make())
  return all.get(key) as T
}

function orUndefined<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}
