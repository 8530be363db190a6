import { below, shellWord } from '@cordon/policy'
import { type Exit, whyNotOutside } from '@cordon/sandbox'
import { isThere, typedPath } from '../outside/place.ts'

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
}

/** SPEC 4.10: so many are named. */
const MOST_NAMED = 20

export function leftBehind({ paths, more }: Exit['left'], home: string): LeftBehind | undefined {
  const found = new Map<string, 'dir' | 'file'>()
  for (const path of paths) {
    const name = ownerOf(below(home, path) ?? path)
    found.set(name, `${home}/${name}` === path ? (found.get(name) ?? 'file') : 'dir')
  }
  if (found.size === 0) return undefined
  const named = [...found].slice(0, MOST_NAMED)
  const kept = named.filter(
    ([name]) => whyNotOutside(`${home}/${name}`, { writes: true, home }) === undefined,
  )
  const missing = kept.filter(([name]) => !isThere(`${home}/${name}`))
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
  }
}

/** What of a home belongs to one program: `.config/tool`, `.local/share/tool`, `.tool`. */
function ownerOf(path: string): string {
  const parts = path.split('/')
  const depth = parts[0] === '.local' ? 3 : parts[0] === '.config' ? 2 : 1
  return parts.slice(0, depth).join('/')
}
