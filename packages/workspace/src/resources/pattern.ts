import { expandBraces, type Glob, matchVisible, parseGlob } from '@cordon/files'

/** A pattern that somebody typed: where the search begins, how deep it goes, and what it finds there. */
export interface PathPattern {
  /** The part before the first component with a special character, as a path; `.` when there is none. */
  readonly base: string
  /** Levels below the base. `*.pdf` in the home directory must not walk all of it. */
  readonly depth: number
  /** Of a path below the base. A name that begins with a dot is found only by a pattern that writes the dot. */
  readonly matches: (below: string) => boolean
}

/** Undefined for a text without `*`, `?`, `[` or `{`. Pure; throws GlobError. */
export function parsePattern(text: string): PathPattern | undefined {
  const parts = text.split('/')
  const first = parts.findIndex((part) => SPECIAL.test(part))
  if (first < 0) return undefined
  const base = parts.slice(0, first).join('/').replaceAll(/\\(.)/g, '$1')
  const alternatives = expandBraces(parts.slice(first).join('/')).map((each) => each.split('/'))
  const globs: Glob[] = alternatives.map((each) => parseGlob(each.join('/')))
  return {
    base: base === '' ? (first > 0 ? '/' : '.') : base,
    depth: Math.max(...alternatives.map((each) => (each.includes('**') ? Infinity : each.length))),
    matches: (below) => globs.some((glob) => matchVisible(glob, below)),
  }
}

const SPECIAL = /^(?:[^\\]|\\.)*?[*?[{]/
