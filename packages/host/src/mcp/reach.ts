import { existsSync, lstatSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, normalize } from 'node:path'
import { below, shellWord } from '@cordon/policy'
import { isInSystem } from '@cordon/sandbox'
import type { OutsidePlace } from '../confine/hint.ts'
import { typedPath } from '../outside/place.ts'
import { isCode } from './code-files.ts'

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
export function unreachedPlaces(
  words: readonly string[],
  facts: ReachFacts,
  /** What it was seen to want. */
  asked: readonly OutsidePlace[] = [],
): readonly OutsidePlace[] {
  const named = words.flatMap((word): OutsidePlace[] => {
    const path = pathIn(word, facts.home)
    return path === undefined ? [] : [{ path, wanted: 'write' }]
  })
  const found = [...asked, ...named].filter(({ path }) => !isReached(path, facts))
  return [...new Map(found.map((place) => [place.path, place])).values()]
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

/** What every confined program has of `/dev` (SPEC 4.3), as far as it is pointed to. */
const DEVICES: ReadonlySet<string> = new Set(
  ['null', 'zero', 'full', 'random', 'urandom'].map((name) => `/dev/${name}`),
)

const isReached = (path: string, { root, isThere }: ReachFacts): boolean =>
  (root !== undefined && below(root, path) !== undefined) ||
  // What the machine has for everybody, and the file that an interpreter is told to run, are shown inside (SPEC 4.3).
  isInSystem(path) ||
  DEVICES.has(path) ||
  isCode(path) ||
  (isThere?.(path) ?? false)

/** What a person does to grant places: commands to paste in the workspace, and what is left to them. */
export interface Recipe {
  readonly commands: readonly string[]
  readonly afterwards: readonly string[]
}

/** A link for each place, a rule through it, and the approval (SPEC 3). */
export function reachRecipe(
  /** `providers.mcp.NAME.access`, or `conversation.tools.NAME.access` of a stateless server. */
  access: string,
  places: readonly OutsidePlace[],
  { root, home, hasRules }: Pick<ReachFacts, 'root' | 'home'> & { readonly hasRules: boolean },
): Recipe {
  const granted = places.map((place) => ({ ...place, target: targetFor(place.path) }))
  const names = new Map<string, (typeof granted)[number]>()
  for (const each of granted) {
    if ([...names.values()].some(({ target }) => target === each.target)) continue
    const plain =
      basename(each.target)
        .replace(/[^\w.-]+/g, '-')
        .replace(/^[.-]+/, '') || 'outside'
    let name = plain
    for (let i = 2; names.has(name) || isTaken(join(root ?? '/', name)); i++) name = `${plain}-${i}`
    names.set(name, each)
  }
  const links = [...names]
  const rule = (value: string): string => `cordon config set --user-workspace ${access}.fs '+${value}'`
  const commands = [
    ...links
      .filter(([, { target }]) => !existsSync(target))
      .map(([, { target }]) => `mkdir -p ${typedPath(target, home)}`),
    ...links.map(([name, { target }]) => `ln -sT ${typedPath(target, home)} ${shellWord(name)}`),
    // A rule replaces the default, which is the whole workspace.
    ...(hasRules ? [] : [rule('{ path = ".", read = true, write = true, execute = true }')]),
    ...links.map(([name, { wanted }]) =>
      rule(`{ path = "${name}", external = true, read = true${wanted === 'write' ? ', write = true' : ''} }`),
    ),
    'cordon policy compile',
  ]
  const afterwards = granted.flatMap(({ path, wanted, target }) => {
    const moved = join(ownDirectory(path), basename(path))
    if (below(target, path) === undefined) return [`point it to ${typedPath(moved, home)}: ${BY_RENAME}`]
    return wanted === 'write' && target === path && isFile(path)
      ? [
          `if it replaces ${typedPath(path, home)} (EBUSY), move that to ${typedPath(moved, home)}, point it there, and grant the directory: ${BY_RENAME}`,
        ]
      : []
  })
  return { commands, afterwards }
}

/** Also by a link that leads nowhere: the server may have made it, and what is linked through it would be where that leads. */
const isTaken = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

const BY_RENAME = 'a program that saves by a rename needs the directory of its file'

/** What is linked to. A file that is yet to be written gets a directory of its own, unless it would be alone in its own already. */
function targetFor(path: string): string {
  if (existsSync(path) || !/\.\w{1,8}$/.test(path)) return path
  return existsSync(dirname(path)) ? ownDirectory(path) : dirname(path)
}

/** `~/memory` for `~/memory.json`, unless something is there. */
function ownDirectory(path: string): string {
  const plain = path.replace(/\.\w{1,8}$/, '')
  return plain !== path && !existsSync(plain) ? plain : `${path}.d`
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

/** What is said of them, with the commands. */
export const reachText = (places: readonly OutsidePlace[], home: string): string =>
  `it is pointed to ${places.map(({ path }) => typedPath(path, home)).join(', ')}, outside the workspace: it will find nothing there, and lose what it writes`

export const recipeLines = ({ commands, afterwards }: Recipe): readonly string[] => [
  '  to allow it, in the workspace:',
  ...commands.map((line) => `    ${line}`),
  ...afterwards.map((text) => `  then ${text}`),
]
