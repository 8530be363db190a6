import { type Glob, matchGlob, parseGlob } from './glob.ts'

/** One line of an ignore file. */
interface IgnoreRule {
  readonly glob: Glob
  readonly negated: boolean
  readonly directoriesOnly: boolean
}

/** What the ignore files of one directory say about the paths below it; see gitignore(5). */
export class IgnoreRules {
  readonly #rules: readonly IgnoreRule[]

  /** Later lines win, so what should win comes last: `.gitignore`, then `.ignore`. */
  constructor(text: string) {
    this.#rules = text.split(/\r?\n/, MOST_RULES).flatMap(parseLine)
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

function parseLine(line: string): IgnoreRule[] {
  // Trailing spaces do not count unless the last one is escaped.
  let pattern = line.replace(/(?<!\\)[ \t]+$/, '')
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
