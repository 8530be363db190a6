import { existsSync } from 'node:fs'
import { basename, isAbsolute, join, normalize } from 'node:path'
import { below, shellWord } from '@cordon/policy'
import { isInSystem } from '@cordon/sandbox'
import { typedPath } from '../outside/place.ts'

/** Where a server runs, and what it has there already. */
export interface ReachFacts {
  readonly root: string | undefined
  readonly home: string
  /** Granted, or shown to every program of this server. */
  readonly isThere?: (path: string) => boolean
}

/**
 * SPEC 5.4: the places outside the workspace that a server is pointed to by its arguments or variables. Confined it sees an
 * empty place of the same name, or none, and what it writes there is lost with the process: better said before.
 */
export function unreachedPlaces(words: readonly string[], facts: ReachFacts): readonly string[] {
  const found = words.flatMap((word) => {
    const path = pathIn(word, facts.home)
    return path === undefined || isReached(path, facts) ? [] : [path]
  })
  return [...new Set(found)]
}

/** `/path`, `~/path`, `--option=/path`. */
function pathIn(word: string, home: string): string | undefined {
  const text = /^--?[\w-]+=(.*)$/s.exec(word)?.[1] ?? word
  const path = text === '~' ? home : text.startsWith('~/') ? join(home, text.slice(2)) : text
  const isPath = isAbsolute(path) && !/[\n\0]/.test(path) && path.length < 1024
  // An address of a service, as `/v1/things`, names nothing here.
  return isPath && nearest(normalize(path)) !== '/' ? normalize(path).replace(/(.)\/$/, '$1') : undefined
}

const nearest = (path: string): string =>
  existsSync(path) ? path : nearest(path.slice(0, path.lastIndexOf('/')) || '/')

const isReached = (path: string, { root, isThere }: ReachFacts): boolean =>
  (root !== undefined && below(root, path) !== undefined) ||
  // What the machine has for everybody, and the file that an interpreter is told to run, are shown inside (SPEC 4.3).
  isInSystem(path) ||
  CODE.test(path) ||
  (isThere?.(path) ?? false)

const CODE = /\.(?:[cm]?[jt]s|py|rb|php|pl|sh|jar)$/

/** The commands that grant them, to be pasted in the workspace: a link for each, a rule through it, and the approval (SPEC 3). */
export function reachCommands(
  /** `providers.mcp.NAME`, or `conversation.tools.NAME` of a stateless server. */
  subject: string,
  places: readonly string[],
  { root, home, hasRules }: Pick<ReachFacts, 'root' | 'home'> & { readonly hasRules: boolean },
): readonly string[] {
  const names = new Map<string, string>()
  for (const place of places) {
    const plain =
      basename(place)
        .replace(/[^\w.-]+/g, '-')
        .replace(/^[.-]+/, '') || 'outside'
    let name = plain
    for (let i = 2; names.has(name) || existsSync(join(root ?? '/', name)); i++) name = `${plain}-${i}`
    names.set(name, place)
  }
  const rule = (value: string): string =>
    `cordon config set --user-workspace ${subject}.access.fs '+${value}'`
  return [
    ...places
      .filter((place) => !existsSync(place))
      .map((place) => `${makes(place)} ${typedPath(place, home)}`),
    ...[...names].map(([name, place]) => `ln -s ${typedPath(place, home)} ${shellWord(name)}`),
    // A rule replaces the default, which is the whole workspace.
    ...(hasRules ? [] : [rule('{ path = ".", read = true, write = true, execute = true }')]),
    ...[...names.keys()].map((name) =>
      rule(`{ path = "${name}", external = true, read = true, write = true }`),
    ),
    'cordon policy compile',
  ]
}

/** What is said of them, with the commands. */
export const reachText = (places: readonly string[], home: string): string =>
  `it is pointed to ${places.map((place) => typedPath(place, home)).join(', ')}, outside the workspace: it will find nothing there, and lose what it writes`

/** A file cannot be linked to before it is there. */
const makes = (place: string): string => (/\.\w{1,8}$/.test(place) ? 'touch' : 'mkdir -p')
