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

/** The directory right below `base` on the way to `path`, if there is one between. */
export function firstBelow(base: string, path: string): string | undefined {
  const slash = path.indexOf('/', base === '/' ? 1 : base.length + 1)
  return slash > 0 ? path.slice(0, slash) : undefined
}

/** What `dirname` says of such a path, without its look at each character (decision 0490). */
export const directoryOf = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/'

/** What is answered of the directory that holds a path, asked once: what is guarded are many names in few directories. */
export function ofDirectory<Answer>(ask: (dir: string) => Answer): (path: string) => Answer {
  const known = new Map<string, Answer>()
  return (path) => {
    const dir = directoryOf(path)
    let answer = known.get(dir)
    if (answer === undefined) known.set(dir, (answer = ask(dir)))
    return answer
  }
}

/** Parents before children; siblings by name, so that a plan does not depend on the order of rules. Stable. */
export function sortByPath<Entry extends { readonly path: string }>(
  entries: readonly Entry[],
): readonly Entry[] {
  // A slash sorts before every other character, or `a-b` would come between `a` and `a/b`.
  const keyed = entries.map((entry) => ({ entry, key: entry.path.replaceAll('/', '\0') }))
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  return keyed.map(({ entry }) => entry)
}
