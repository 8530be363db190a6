import type { JSX } from 'preact'
import { escapedLetter, escapeOdd, oddIn } from '../../../policy/src/odd.ts'

interface TextProps {
  readonly children: string
  /** Not where somebody signs for it: there the provider says what it left out. */
  readonly most?: number
  /** A line of a file, whose tabs and indentation are seen as they are; or a sentence of the provider's with names in it. */
  readonly line?: boolean
  /** A line that is too long breaks after a slash or `::` rather than in a word. */
  readonly breaks?: boolean
}

/**
 * Somebody else's text: a file's name, a line of a diff. What could redraw the page or hide a part of it (bidi, control
 * and invisible characters), or pass for something else, is shown as what it is; what is endless is cut, and that is said.
 */
export function Text({ children, most = Number.POSITIVE_INFINITY, line, breaks }: TextProps): JSX.Element {
  const shown = children.slice(0, most)
  const plain = breaks === true ? breakable : (text: string) => [text]
  const parts: (string | JSX.Element)[] = []
  let last = 0
  for (const [index, found] of oddIn(shown, line === true ? 'line' : 'name')) {
    parts.push(...plain(shown.slice(last, index)))
    parts.push(<span class="odd">{escapedLetter(found)}</span>)
    last = index + found.length
  }
  parts.push(...plain(shown.slice(last)))
  const left = children.length - shown.length
  return (
    <bdi class="text">
      {parts}
      {left > 0 && <span class="odd"> … {left.toLocaleString('en')} more characters</span>}
    </bdi>
  )
}

const breakable = (text: string): (string | JSX.Element)[] =>
  text.split(/(?<=[^"]\/|::)/).flatMap((part, i) => (i === 0 ? [part] : [<wbr />, part]))

/** The same where only plain text can stand. */
export const visible = (text: string): string => escapeOdd(text, oddIn(text, 'name'))

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB']

export function Bytes({ count }: { count: number }): JSX.Element {
  let [size, unit] = [count, 0]
  while (size >= 1000 && unit < UNITS.length - 1) [size, unit] = [size / 1000, unit + 1]
  const text = unit === 0 ? String(size) : size.toFixed(size < 10 ? 1 : 0)
  return (
    <span title={plural(count, 'byte')}>
      {text} {unit === 0 && count === 1 ? 'byte' : UNITS[unit]}
    </span>
  )
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`
