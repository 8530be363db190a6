import { relative, resolve } from 'node:path'
import { type Location, show } from '@cordon/policy'

/** As the caller named it, and where that leads, if a link lies on the way: `current → releases/7`. */
export const named = (path: string, place: Pick<Location, 'relative'>, root: string): string => {
  const written = relative(root, resolve(root, path))
  return written === place.relative ? show(written) : `${show(written)} → ${show(place.relative)}`
}
