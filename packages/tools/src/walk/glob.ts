import { ToolError } from '../report.ts'
import { show } from '@cordon/policy'

/**
 * Globs that cost no more than pattern × name, whatever they say (decision 0072): a regular expression made
 * from `*a*a*a*b` would take years on the right name, and both may come from a stranger's repository.
 *
 * `*` and `?` stay in one component, `**` spans any number of them, `[a-z]` and `[!a-z]` are classes, `\`
 * takes the next character as it is.
 */
export type Glob = readonly Component[]

/** Undefined stands for `**`. */
type Component = readonly Token[] | undefined

type Token =
  | { readonly kind: 'is'; readonly char: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'many' }
  | { readonly kind: 'class'; readonly negated: boolean; readonly ranges: readonly Range[] }

type Range = readonly [from: number, to: number]

export function parseGlob(pattern: string): Glob {
  const components = pattern.split('/').map((part) => (part === '**' ? undefined : parseComponent(part)))
  // `a/**` is what lies in a, not a itself.
  return components.at(-1) === undefined ? [...components, [{ kind: 'many' }]] : components
}

export const matchGlob = (glob: Glob, path: string): boolean =>
  matchSequence(glob, path.split('/'), (component) => component === undefined, matchComponent)

function matchComponent(component: Component, name: string): boolean {
  return matchSequence(component ?? [], Array.from(name), (token) => token.kind === 'many', matchToken)
}

/**
 * The pattern against the sequence, where a wild element stands for any run. It is enough to go back to
 * the last wild one: an earlier one could only take what the last one can take as well.
 */
function matchSequence<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  isWild: (element: P) => boolean,
  matches: (element: P, item: T) => boolean,
): boolean {
  let p = 0
  let wild = -1
  let resume = 0
  for (let i = 0; i < items.length;) {
    const element = pattern[p]
    if (p < pattern.length && isWild(element as P)) {
      wild = p++
      resume = i
    } else if (p < pattern.length && matches(element as P, items[i] as T)) {
      p++
      i++
    } else if (wild >= 0) {
      p = wild + 1
      i = ++resume
    } else return false
  }
  while (p < pattern.length && isWild(pattern[p] as P)) p++
  return p === pattern.length
}

function matchToken(token: Token, char: string): boolean {
  if (token.kind === 'is') return token.char === char
  if (token.kind !== 'class') return true
  const point = char.codePointAt(0) ?? 0
  return token.ranges.some(([from, to]) => from <= point && point <= to) !== token.negated
}

function parseComponent(part: string): Token[] {
  const chars = Array.from(part)
  const tokens: Token[] = []
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i] ?? ''
    if (char === '*') {
      if (tokens.at(-1)?.kind !== 'many') tokens.push({ kind: 'many' })
    } else if (char === '?') tokens.push({ kind: 'one' })
    else if (char === '\\' && i + 1 < chars.length) tokens.push({ kind: 'is', char: chars[++i] ?? '' })
    else if (char === '[') {
      const end = endOfClass(chars, i)
      if (end < 0) throw new ToolError(`invalid glob: ${show(part)} has a [ without its ]`)
      tokens.push(parseClass(chars.slice(i + 1, end)))
      i = end
    } else tokens.push({ kind: 'is', char })
  }
  return tokens
}

/** A `]` that comes first is a member: `[]a]`. */
function endOfClass(chars: readonly string[], open: number): number {
  const negated = chars[open + 1] === '!' || chars[open + 1] === '^'
  for (let i = open + (negated ? 3 : 2); i < chars.length; i++) {
    if (chars[i - 1] === '\\' && chars[i - 2] !== '\\') continue
    if (chars[i] === ']') return i
  }
  return -1
}

function parseClass(body: readonly string[]): Token {
  const negated = body[0] === '!' || body[0] === '^'
  const members = (negated ? body.slice(1) : body).filter(
    (char, i, all) => char !== '\\' || all[i - 1] === '\\',
  )
  const point = (i: number): number => members[i]?.codePointAt(0) ?? 0
  const ranges: Range[] = []
  for (let i = 0; i < members.length; i++) {
    if (members[i + 1] === '-' && i + 2 < members.length) {
      ranges.push([point(i), point(i + 2)])
      i += 2
    } else ranges.push([point(i), point(i)])
  }
  return { kind: 'class', negated, ranges }
}
