import type { ApprovalRequest } from './request.ts'

/** A person can be shown so many of the paths; what is left out is counted and said. */
export const MOST_PATHS = 10_000
const MOST_PATH_CHARACTERS = 2 ** 20

export function capPaths(
  paths: readonly string[],
  kinds: string,
  entries: number,
): Pick<ApprovalRequest, 'paths' | 'kinds' | 'pathsLeftOut'> {
  let left = MOST_PATH_CHARACTERS
  const fits = paths.findIndex((path) => (left -= path.length) < 0)
  const kept = fits === -1 ? paths : paths.slice(0, fits)
  return {
    paths: kept,
    kinds: kinds.slice(0, kept.length),
    ...(entries > kept.length ? { pathsLeftOut: entries - kept.length } : {}),
  }
}
