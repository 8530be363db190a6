import { relative, resolve } from 'node:path'
import { CordonError, type Location, locateObject, openAmbientRoot, parseRelPath, show } from '@cordon/policy'

/** As the caller named it, and where that leads, if a link lies on the way: `current → releases/7`. */
export const named = (path: string, place: Pick<Location, 'relative'>, root: string): string => {
  const written = relative(root, resolve(root, path))
  return written === place.relative ? show(written) : `${show(written)} → ${show(place.relative)}`
}

/** What a call called a file: undefined where that is its path, or where nothing in it leads there by links of the workspace. */
export function nameFor(path: string, args: unknown, root: string): string | undefined {
  const names = textsIn(args).flatMap((text) => orNone(() => parseRelPath(text)))
  if (names.some((name) => name === path)) return undefined
  return names.find((name) => orNone(() => whereTo(name, root)).includes(path))
}

const whereTo = (name: string, root: string): string =>
  locateObject(openAmbientRoot(root), undefined, name, 'read').relative

/** Every text of the arguments, which could be a path: also one in a list, or in an edit. */
export function textsIn(args: unknown): readonly string[] {
  if (typeof args === 'object' && args !== null) return Object.values(args).flatMap(textsIn)
  return typeof args === 'string' ? [args] : []
}

/** What is no path, or leads out, is no name of it. */
function orNone<T>(look: () => T): readonly T[] {
  try {
    return [look()]
  } catch (error) {
    if (error instanceof CordonError || (error instanceof Error && 'syscall' in error)) return []
    throw error
  }
}
