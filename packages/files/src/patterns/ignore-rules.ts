import { type Glob, matchGlob, parseGlob } from './glob.ts'

/** One line of an ignore file. */
interface IgnoreRule {
  readonly glob: Glob
  readonly negated: boolean
  readonly directoriesOnly: boolean
}

/** The ignore files of each directory, in the order in which later ones win. */
export const IGNORE_FILES: readonly string[] = ['.gitignore', '.ignore']

/**
 * The ignore files of the directories that a walk has come through; the nearest one that says something decides. A path
 * is asked for only when the directory it is in is not ignored itself: then nothing in it counts any more.
 */
export class IgnoreFiles {
  readonly #byDirectory = new Map<string, IgnoreRules>()

  /** `texts`: of `IGNORE_FILES`, in their order. Paths are all relative to one place (`.` is the place itself), or all absolute. */
  add(directory: string, texts: readonly string[]): void {
    const rules = new IgnoreRules(texts.flatMap((text) => text.replace(/^\uFEFF/, '').split(/\r?\n|\r$/)))
    if (!rules.isEmpty) this.#byDirectory.set(directory === '/' ? '' : directory, rules)
  }

  ignores(path: string, kind: 'directory' | 'other'): boolean {
    if (this.#byDirectory.size === 0) return false
    for (let end = path.lastIndexOf('/'); ; end = path.lastIndexOf('/', end - 1)) {
      const directory = end < 0 ? '.' : path.slice(0, end)
      const answer = this.#byDirectory.get(directory)?.ignores(path.slice(end + 1), kind)
      if (answer !== undefined) return answer
      if (end <= 0) return false
    }
  }
}

/** What the ignore files of one directory say about the paths below it; see gitignore(5). */
class IgnoreRules {
  readonly #rules: readonly IgnoreRule[]

  /** Later lines win. */
  constructor(lines: readonly string[]) {
    this.#rules = lines.slice(0, MOST_RULES).flatMap(parseLine)
  }

  get isEmpty(): boolean {
    return this.#rules.length === 0
  }

  /** Undefined: these rules say nothing about it, so the directory above answers. */
  ignores(path: string, kind: 'directory' | 'other'): boolean | undefined {
    for (let i = this.#rules.length - 1; i >= 0; i--) {
      const rule = this.#rules[i]
      if (!rule || (rule.directoriesOnly && kind !== 'directory')) continue
      if (matchGlob(rule.glob, path)) return !rule.negated
    }
    return undefined
  }
}

const MOST_RULES = 10_000

/** Spaces at the end do not count, unless a backslash stands before one. */
function trimEnd(line: string): string {
  let end = 0
  for (let i = 0; i < line.length; i++) {
    if (line[i] === ' ') continue
    if (line[i] === '\\') i++
    end = Math.min(i + 1, line.length)
  }
  return line.slice(0, end)
}

function parseLine(line: string): IgnoreRule[] {
  let pattern = trimEnd(line)
  if (pattern === '' || pattern.startsWith('#') || pattern.length > 4096) return []
  const negated = pattern.startsWith('!')
  if (negated) pattern = pattern.slice(1)
  const directoriesOnly = pattern.endsWith('/')
  if (directoriesOnly) pattern = pattern.slice(0, -1)
  if (pattern === '') return []
  // A slash that is not the last character ties the pattern to this directory.
  const tied = pattern.includes('/')
  const glob = tied ? pattern.replace(/^\//, '') : `**/${pattern}`
  try {
    return [{ glob: parseGlob(glob), negated, directoriesOnly }]
  } catch {
    return [] // git, too, passes over a pattern that cannot match
  }
}
