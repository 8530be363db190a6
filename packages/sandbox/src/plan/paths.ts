/** Absolute paths as the plan compares them: canonical, `/` first, no trailing slash. */

export const encloses = (base: string, path: string): boolean =>
  base === '/' ||
  path === base ||
  (path.length > base.length && path.startsWith(base) && path[base.length] === '/')

export const enclosesStrictly = (base: string, path: string): boolean => base !== path && encloses(base, path)

export const join = (base: string, rest: string): string =>
  rest === '.' ? base : base === '/' ? `/${rest}` : `${base}/${rest}`

/** Every directory from just below `base` to just above `path`, outermost first. */
export function between(base: string, path: string): readonly string[] {
  const found: string[] = []
  const start = base === '/' ? 0 : base.length
  for (let slash = path.indexOf('/', start + 1); slash > 0; slash = path.indexOf('/', slash + 1))
    found.push(path.slice(0, slash))
  return found
}

/** Parents before children; siblings by name, so that a plan does not depend on the order of rules. */
export function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  // A slash sorts before every other character, or `a-b` would come between `a` and `a/b`.
  const left = a.path.replaceAll('/', '\0')
  const right = b.path.replaceAll('/', '\0')
  return left < right ? -1 : left > right ? 1 : 0
}
