import { expandBraces, type Glob, matchGlob, parseGlob } from '@cordon/files'

/** How a model names them. */
export const GLOBS = {
  type: 'array',
  items: { type: 'string', maxLength: 1000 },
  maxItems: 50,
  description: 'Only files that match one of these, such as *.ts or src/**/*.md; !*.test.ts leaves out.',
} as const

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
