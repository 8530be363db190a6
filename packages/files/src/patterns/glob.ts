import { CordonError, show } from '@cordon/policy'

/** The text is no pattern. */
export class GlobError extends CordonError {
  readonly code = 'GLOB_INVALID'
  constructor(problem: string) {
    super(`invalid glob: ${problem}`)
  }
}

/**
 * Globs that cost no more than pattern × name, whatever they say (decision 0072): a regular expression made
 * from `*a*a*a*b` would take years on the right name, and both may come from a stranger's repository.
 *
 * `*` and `?` stay in one component, `**` spans any number of them, `[a-z]`, `[!a-z]` and `[[:alpha:]]` are classes, `\`
 * takes the next character as it is.
 */
export type Glob = readonly Component[]

/** Undefined stands for `**`. */
type Component = readonly Token[] | undefined

type Token =
  | { readonly kind: 'is'; readonly char: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'many' }
  | { readonly kind: 'class'; readonly negated: boolean; readonly members: readonly Member[] }

type Member = RegExp | readonly [from: number, to: number]

export function parseGlob(pattern: string): Glob {
  const components: Component[] = []
  for (let rest: string[] | undefined = Array.from(pattern); rest;) {
    const { tokens, end } = parseComponent(rest)
    components.push(rest.slice(0, end).join('') === '**' ? undefined : tokens)
    rest = end < rest.length ? rest.slice(end + 1) : undefined
  }
  // `a/**` is what lies in a, not a itself.
  return components.at(-1) === undefined ? [...components, [{ kind: 'many' }]] : components
}

export const matchGlob = (glob: Glob, path: string): boolean =>
  glob.length === 1
    ? !path.includes('/') && matchComponent(glob[0], path) // a name alone is never `**` alone
    : matchSequence(glob, path.split('/'), (component) => component === undefined, matchComponent)

/** As shells do it: a name that begins with a dot is found only by a pattern that writes the dot. */
export const matchVisible = (glob: Glob, path: string): boolean =>
  matchSequence(
    glob,
    path.split('/'),
    (component) => component === undefined,
    (component, name) => (!isHidden(name) || writesDot(component)) && matchComponent(component, name),
    (name) => !isHidden(name),
  )

const isHidden = (name: string): boolean => name.startsWith('.')

function writesDot(component: Component): boolean {
  const first = component?.[0]
  return first?.kind === 'is' && first.char === '.'
}

function matchComponent(component: Component, name: string): boolean {
  const [first, last] = [component?.[0], component?.at(-1)]
  if (first?.kind === 'is' && !name.startsWith(first.char)) return false // nearly always
  if (last?.kind === 'is' && !name.endsWith(last.char)) return false
  return matchSequence(component ?? [], Array.from(name), (token) => token.kind === 'many', matchToken)
}

/**
 * The pattern against the sequence, where a wild element stands for any run of items that `mayBeWild`. It is enough to
 * go back to the last wild one: an earlier one could only take what the last one can take as well.
 */
function matchSequence<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  isWild: (element: P) => boolean,
  matches: (element: P, item: T) => boolean,
  mayBeWild: (item: T) => boolean = () => true,
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
    } else if (wild >= 0 && mayBeWild(items[resume] as T)) {
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
  return (
    token.members.some((member) =>
      member instanceof RegExp ? member.test(char) : member[0] <= point && point <= member[1],
    ) !== token.negated
  )
}

/** Up to the next slash; as for git, one inside a class is a member that matches nothing. */
function parseComponent(chars: readonly string[]): { tokens: Token[]; end: number } {
  const tokens: Token[] = []
  let i = 0
  for (; i < chars.length && chars[i] !== '/'; i++) {
    const char = chars[i] ?? ''
    if (char === '*') {
      if (tokens.at(-1)?.kind !== 'many') tokens.push({ kind: 'many' })
    } else if (char === '?') tokens.push({ kind: 'one' })
    else if (char === '\\') {
      const next = chars[i + 1]
      if (next === undefined) throw new GlobError(`${show(chars.join(''))} ends in a backslash`)
      if (next === '/') continue
      tokens.push({ kind: 'is', char: next })
      i++
    } else if (char === '[') {
      const { token, end } = parseClass(chars, i)
      tokens.push(token)
      i = end
    } else tokens.push({ kind: 'is', char })
  }
  return { tokens, end: i }
}

/** From its `[` on, as git reads it: a `]` that comes first is a member, as in `[]a]`, and `\` takes the next as it is. */
function parseClass(chars: readonly string[], open: number): { token: Token; end: number } {
  const unclosed = (): GlobError => new GlobError(`${show(chars.join(''))} has a [ without its ]`)
  const negated = chars[open + 1] === '!' || chars[open + 1] === '^'
  const first = open + (negated ? 2 : 1)
  const members: Member[] = []
  for (let i = first; i < chars.length;) {
    if (chars[i] === ']' && i > first) return { token: { kind: 'class', negated, members }, end: i }
    const named = /^\[:([a-z]*):\]/.exec(chars.slice(i, i + LONGEST_NAME).join(''))
    if (named) {
      const known = classes()[named[1] ?? '']
      if (!known) throw new GlobError(`${show(chars.join(''))} has a class that is not known`)
      members.push(known)
      i += named[0].length
      continue
    }
    const from = memberAt(chars, i)
    const isRange = chars[from.next] === '-' && (chars[from.next + 1] ?? ']') !== ']'
    const to = isRange ? memberAt(chars, from.next + 1) : from
    if (to.point === undefined || from.point === undefined) throw unclosed()
    // Its first character is a member also where the range is the wrong way round.
    members.push([from.point, from.point], [from.point, to.point])
    i = to.next
  }
  throw unclosed()
}

function memberAt(chars: readonly string[], i: number): { point: number | undefined; next: number } {
  const at = chars[i] === '\\' ? i + 1 : i
  return { point: chars[at]?.codePointAt(0), next: at + 1 }
}

const LONGEST_NAME = '[:xdigit:]'.length

/** The classes of POSIX in the C locale, as git has them. Not outside of a function: ICU would collect `Cc` at every start (0350). */
const classes = (): Readonly<Record<string, RegExp>> => ({
  alnum: /^[A-Za-z0-9]$/,
  alpha: /^[A-Za-z]$/,
  blank: /^[ \t]$/,
  cntrl: /^\p{Cc}$/u,
  digit: /^[0-9]$/,
  graph: /^[!-~]$/,
  lower: /^[a-z]$/,
  print: /^[ -~]$/,
  punct: /^[!-/:-@[-`{-~]$/,
  space: /^[ \t-\r]$/,
  upper: /^[A-Z]$/,
  xdigit: /^[A-Fa-f0-9]$/,
})
