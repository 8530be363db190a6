import { stripVTControlCharacters } from 'node:util'

/** Columns a text takes: wide characters two, marks and colours none. */
export function widthOf(text: string): number {
  let width = 0
  for (const point of stripVTControlCharacters(text))
    width += /\p{M}/u.test(point) ? 0 : WIDE.test(point) ? 2 : 1
  return width
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u

/** Lines of at most so many columns, broken between words. A word that is longer than a line is cut. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/(?<=[^ ]) (?=[^ ])/)) {
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
    while (widthOf(line) > width && !line.includes('\u001b')) {
      const [head, rest] = cut(line, width)
      lines.push(head)
      line = rest
    }
  }
  return [...lines, line]
}

function cut(text: string, width: number): [head: string, rest: string] {
  let head = ''
  for (const point of text) {
    if (head !== '' && widthOf(head + point) > width) break
    head += point
  }
  return [head, text.slice(head.length)]
}

/** What follows the first line is indented. Without a width nothing is broken. */
export const wrapBelow = (text: string, indent: string, width: number | undefined): string =>
  width === undefined ? text : wrap(text, Math.max(20, width - indent.length)).join(`\n${indent}`)
