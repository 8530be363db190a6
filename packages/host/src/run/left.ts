import { existsSync } from 'node:fs'
import { below, parseRelPath, shellWord } from '@cordon/policy'
import { type Exit, whyNotOutside } from '@cordon/sandbox'
import { SENSITIVE, sensitivePattern } from '../compile/sensitive.ts'
import { OWN_NAMES, RUN_LATER } from '../guard/names.ts'
import { writtenBy } from '../confine/written.ts'
import { typedPath } from '../outside/place.ts'

/** SPEC 4.3: what was written to the private home and is gone with it, and what would have kept it (decision 0221). */
export interface LeftBehind {
  /** As a person names them: `~/.config/tool`. */
  readonly names: readonly string[]
  /** How many others there were; `undefined` when not all was looked at. */
  readonly others: number | undefined
  /** What has to be made before it can be granted: a command, or nothing. */
  readonly first: string | undefined
  /** The flags for the next time. */
  readonly keep: string | undefined
  /** Of the names, those for which no flag is suggested: start-up files, places of secrets, Cordon's own. */
  readonly delicate: readonly string[]
}

/** SPEC 4.10: so many are named. */
const MOST_NAMED = 20

export function leftBehind(
  { paths, more }: Exit['left'],
  home: string,
  sensitive: readonly string[] = [],
): LeftBehind | undefined {
  const found = new Map<string, 'dir' | 'file'>()
  for (const path of paths) {
    const name = ownerOf(below(home, path) ?? path)
    if (HISTORIES.has(name)) continue
    found.set(name, `${home}/${name}` === path ? (found.get(name) ?? 'file') : 'dir')
  }
  if (found.size === 0) return undefined
  const named = [...found].slice(0, MOST_NAMED)
  const patterns = [...SENSITIVE, ...sensitive]
  const delicate = named.filter(([name]) => isDelicate(name, home, patterns))
  const kept = named.filter(
    (entry) =>
      !delicate.includes(entry) && whyNotOutside(`${home}/${entry[0]}`, { writes: true, home }) === undefined,
  )
  const missing = kept.filter(([name]) => !existsSync(`${home}/${name}`))
  const typed = (entries: typeof kept): string =>
    entries.map(([name]) => typedPath(`${home}/${name}`, home)).join(' ')
  const dirs = missing.filter(([, is]) => is === 'dir')
  const files = missing.filter(([, is]) => is === 'file')
  const first = [
    ...(dirs.length > 0 ? [`mkdir -p ${typed(dirs)}`] : []),
    ...(files.length > 0 ? [`touch ${typed(files)}`] : []),
  ]
  return {
    names: named.map(([name]) => `~/${name}`),
    others: more ? undefined : found.size - named.length,
    first: first.length > 0 ? first.join(' && ') : undefined,
    keep: kept.length > 0 ? kept.map(([name]) => `--write ~/${shellWord(name)}`).join(' ') : undefined,
    delicate: delicate.map(([name]) => `~/${name}`),
  }
}

/**
 * What a command line says is written to `/tmp`, or to another place that is private and gone. Temporary files are meant to
 * vanish; a file that is named once, as an output, is not one that the command itself reads again.
 */
export function lostOutputs(
  argv: readonly string[],
  isLost: (path: string) => boolean,
  place: { readonly cwd: string; readonly home: string },
): readonly string[] {
  const line = argv.join(' ')
  const made = [...writtenBy(argv, place)].flatMap(([path, writes]) => (writes === 'content' ? [path] : []))
  const paths = [...[...line.matchAll(OUTPUT)].map(([, path = '']) => path), ...made]
  return [...new Set(paths)].filter((path) => isLost(path) && line.split(path).length === 2)
}

/** `> /tmp/x` of a shell, and the options that most programs have. */
const OUTPUT = /(?:>|(?<=\s)-[a-zA-Z]*o\s|(?<=\s)--out(?:put)?[\s=])\s*(\/[^\s'"`;&|<>()$*?{}]+)/g

/** A command could write there only to have the flag suggested, and the flag lifts the guard (SPEC 4.9, 4.10). */
const isDelicate = (name: string, home: string, patterns: readonly string[]): boolean =>
  [...RUN_LATER, ...OWN_NAMES, ...OWN_IN_HOME].some((each) => `${name}/`.startsWith(`${each}/`)) ||
  sensitivePattern({ path: parseRelPath(name) }, { root: home, home, patterns }) !== undefined

const OWN_IN_HOME = ['.config/cordon', '.local/share/cordon', '.cache/cordon']

/** What programs keep of what was typed and looked at: nobody misses it, and each `vi` and `less` would end with a line. */
const HISTORIES: ReadonlySet<string> = new Set([
  '.viminfo',
  '.lesshst',
  '.bash_history',
  '.zsh_history',
  '.python_history',
  '.node_repl_history',
  '.psql_history',
  '.sqlite_history',
  '.wget-hsts',
  '.local/state/nvim',
])

/** What of a home belongs to one program: `.config/tool`, `.local/share/tool`, `.tool`. */
function ownerOf(path: string): string {
  const parts = path.split('/')
  const depth = parts[0] === '.local' ? 3 : parts[0] === '.config' ? 2 : 1
  return parts.slice(0, depth).join('/')
}
