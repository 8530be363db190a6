import { ToolError } from '../report.ts'
import { type Glob, matchGlob, parseGlob } from './glob.ts'

/**
 * The globs of one call, as ripgrep reads its `-g`: a path must match one of them, and none that begins
 * with `!`. A glob without a slash speaks of the last component, wherever it is.
 */
export class GlobFilter {
  readonly #wanted: Glob[] = []
  readonly #unwanted: Glob[] = []

  constructor(globs: readonly string[]) {
    for (const text of globs.flatMap(expandBraces)) {
      const negated = text.startsWith('!')
      const pattern = negated ? text.slice(1) : text
      const anywhere = pattern.replace(/\/$/, '').includes('/') ? pattern.replace(/^\//, '') : `**/${pattern}`
      const glob = parseGlob(anywhere.replace(/\/$/, '/**'))
      if (negated) this.#unwanted.push(glob)
      else this.#wanted.push(glob)
    }
  }

  /** Of a file, by its path below the directory that was asked for. */
  accepts(path: string): boolean {
    if (this.#unwanted.some((glob) => matchGlob(glob, path))) return false
    return this.#wanted.length === 0 || this.#wanted.some((glob) => matchGlob(glob, path))
  }

  /** Whether a directory is closed by a `!` glob, so that nothing below it is looked at. */
  closes(path: string): boolean {
    return this.#unwanted.some((glob) => matchGlob(glob, path))
  }
}

const MOST_ALTERNATIVES = 256

/** A pair of braces that has none in it, and what is around it. */
const INNERMOST = /^((?:[^\\]|\\.)*?)\{((?:[^\\{}]|\\.)*)\}(.*)$/s

/** `*.{ts,tsx}` is two globs. Nesting multiplies, so there is an end to it. */
export function expandBraces(pattern: string): string[] {
  const done = new Set<string>()
  let todo = [pattern]
  while (todo.length > 0) {
    const next: string[] = []
    for (const text of todo) {
      const parts = INNERMOST.exec(text)
      if (parts) next.push(...(parts[2] ?? '').split(',').map((choice) => `${parts[1]}${choice}${parts[3]}`))
      else done.add(text)
    }
    todo = [...new Set(next)]
    if (todo.length + done.size > MOST_ALTERNATIVES)
      throw new ToolError(`invalid glob: its braces stand for more than ${MOST_ALTERNATIVES} patterns`)
  }
  return [...done]
}
