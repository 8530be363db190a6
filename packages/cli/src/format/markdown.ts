import type { Stream } from '../world.ts'
import { formatMarkdownTable } from './markdown-table.ts'
import { foreign } from './text.ts'
import { behindMargin, clipColumns, widthOf } from './wrap.ts'

type Style = Parameters<Stream['style']>[0]

/**
 * Markdown as it streams, for a terminal: each word is printed as soon as it is whole, wrapped at the width, and nothing
 * is ever taken back (decision 0292). What a model writes cannot move the cursor or change colours: only we do.
 */
export class MarkdownStream {
  readonly #stream: Pick<Stream, 'style'>
  readonly #widthNow: () => number
  /** Half of a character outside the basic plane, which waits for its other half. */
  #half = ''
  /** The last character was the mark of coloured emoji, of which one is enough. */
  #endsWithSelector = false
  /** What cannot be printed yet: the beginning of a line, or a mark that may become another. */
  #pending = ''
  #line: Line | undefined
  #fence: string | undefined
  /** The lines of a table so far: its columns are known at its end. */
  #table: string[] = []
  #tableLength = 0
  #column = 0
  /** A space that is printed only when a word follows it in the same line. */
  #hasGap = false
  #word: Piece[] = []
  #wordWidth = 0
  #bold = false
  #emphasis = false
  #code = false
  #before = ' '

  /** The width may change while an answer comes; what is printed stays as it is. */
  constructor(stream: Pick<Stream, 'style'>, width: () => number) {
    this.#stream = stream
    this.#widthNow = width
  }

  get #width(): number {
    return Math.max(2, this.#widthNow())
  }

  get #isNarrow(): boolean {
    return this.#width < NARROWEST
  }

  /** What can be printed now. */
  write(text: string): string {
    const all = this.#half + text
    this.#half = /[\uD800-\uDBFF]$/.exec(all)?.[0] ?? ''
    const whole = all
      .slice(0, all.length - this.#half.length)
      .replace(this.#endsWithSelector ? /^\ufe0f+/ : /^$/, '')
    if (whole !== '') this.#endsWithSelector = whole.endsWith('\ufe0f')
    return this.#take(foreign(whole.replaceAll('\r', ''), { isTerminal: true }))
  }

  /** Nothing came for a while: what is held is shown, although it may go on. Marks stay held: they are no text. */
  settle(): string {
    const begun = !this.#line && this.#fence === undefined && /^\d/.test(this.#pending)
    if (begun) {
      const { rest } = this.#start({ indent: '', styles: [] }, '', this.#pending)
      this.#pending = ''
      return this.#take(rest) + this.#flushWord()
    }
    return this.#line ? this.#flushWord() : ''
  }

  /** The rest, and the end of its line. */
  end(): string {
    // A line that was ended already needs no second end.
    const isEnded = !this.#line && this.#pending === ''
    return (isEnded ? '' : this.#take('\n')) + this.#endTable()
  }

  #take(text: string): string {
    let out = ''
    let rest = this.#pending + text
    this.#pending = ''
    while (rest !== '') {
      if (!this.#line) {
        const begun = this.#begin(rest)
        if (begun === undefined) {
          this.#pending = rest
          break
        }
        out += begun.out
        rest = begun.rest
        continue
      }
      const end = rest.indexOf('\n')
      const part = end < 0 ? rest : rest.slice(0, end)
      const inline = this.#inline(part, end >= 0)
      out += inline.out
      if (end < 0) {
        this.#pending = inline.rest
        break
      }
      out += this.#flushWord() + (this.#line.closing ?? '') + '\n'
      this.#line = undefined
      this.#column = 0
      this.#hasGap = false
      this.#before = ' '
      // A mark that was never closed does not style the rest of the answer.
      this.#bold = this.#emphasis = this.#code = false
      rest = rest.slice(end + 1)
    }
    return out
  }

  /** What kind of line it is. Undefined: more of it has to be seen. */
  #begin(rest: string): { readonly out: string; readonly rest: string } | undefined {
    const { style } = this.#stream
    const end = rest.indexOf('\n')
    const line = end < 0 ? rest : rest.slice(0, end)
    if (this.#fence !== undefined) return this.#inFence(line, end, rest)
    if (end < 0 && UNDECIDED.test(line)) return undefined
    if (/^ {0,3}\|/.test(line)) return this.#inTable(line, end, rest)
    const table = this.#endTable()
    if (table !== '') return { out: table, rest }
    const fence = FENCE.exec(line)
    if (fence) {
      if (end < 0) return undefined
      this.#fence = fence[1]!
      const label = fence[2]!.trim()
      const shown = clipColumns(label, this.#width - 2)
      return { out: label === '' ? '' : style('dim', `  ${shown}\n`), rest: rest.slice(end + 1) }
    }
    const heading = /^(#{1,6}) +/.exec(line)
    if (heading) return this.#start({ indent: '', styles: ['bold'] }, '', rest.slice(heading[0].length))
    const item = /^([ \t]{0,8})([-*+]|\d{1,3}[.)]) +/.exec(line)
    if (item) {
      const mark = /\d/.test(item[2]!) ? `${item[2]!} ` : '• '
      const before = item[1]!.slice(0, Math.max(0, this.#width - NARROWEST))
      const indent = ' '.repeat(before.length + mark.length)
      return this.#start(
        { indent, styles: [] },
        before + style('cyan', mark),
        rest.slice(item[0].length),
        indent.length,
      )
    }
    const quote = /^> ?/.exec(line)
    if (quote)
      return this.#start(
        { indent: '│ ', styles: ['dim'] },
        style('dim', '│ '),
        rest.slice(quote[0].length),
        2,
      )
    if (/^ {4}/.test(line)) return this.#start({ indent: '', styles: [], isLiteral: true }, '', rest)
    return this.#start({ indent: '', styles: [] }, '', rest)
  }

  /** Held until it ends; a longer one is printed as it is. */
  #inTable(
    line: string,
    end: number,
    rest: string,
  ): { readonly out: string; readonly rest: string } | undefined {
    const length = this.#tableLength + line.length + 1
    if (length > MOST_TABLE) {
      const out = this.#table
        .flatMap((each) => behindMargin(each, ['', GOES_ON], this.#width))
        .map((row) => `${row}\n`)
        .join('')
      this.#table = []
      this.#tableLength = 0
      return this.#start({ indent: '', styles: [], isLiteral: true }, out, rest)
    }
    if (end < 0) return undefined
    this.#table.push(line)
    this.#tableLength = length
    return { out: '', rest: rest.slice(end + 1) }
  }

  #endTable(): string {
    const lines = this.#table.splice(0)
    this.#tableLength = 0
    return lines.length === 0 ? '' : formatMarkdownTable(lines, this.#width, this.#stream)
  }

  #inFence(
    line: string,
    end: number,
    rest: string,
  ): { readonly out: string; readonly rest: string } | undefined {
    const mark = this.#fence!
    const closing = /^[ \t]{0,8}([`~]{0,40})[ \t]{0,20}$/.exec(line)?.[1]
    const isMark = closing !== undefined && Array.from(closing).every((point) => point === mark[0])
    // Only the beginning of a line can be the fence's end.
    if (isMark && end < 0) return undefined
    if (isMark && closing.length >= mark.length) {
      this.#fence = undefined
      return { out: '', rest: rest.slice(end + 1) }
    }
    return this.#start({ indent: '  ', styles: ['cyan'], isLiteral: true }, '  ', rest, 2)
  }

  #start(line: Line, out: string, rest: string, column = 0) {
    this.#line = line
    this.#column = column
    return { out, rest }
  }

  /** Styles by their marks; words are kept until they end. `isWhole`: nothing of this line comes any more. */
  #inline(text: string, isWhole: boolean): { readonly out: string; readonly rest: string } {
    const line = this.#line!
    if (line.isLiteral) return { out: this.#literal(text, line.styles), rest: '' }
    let out = ''
    const points = Array.from(text)
    for (let i = 0; i < points.length; i++) {
      const point = points[i]!
      const next = points[i + 1]
      if (point === '`') this.#code = !this.#code
      else if (point === '*' && !this.#code) {
        if (next === undefined && !isWhole) return { out, rest: '*' }
        if (next === '*') {
          if (points[i + 2] === undefined && !isWhole && !this.#bold) return { out, rest: '**' }
          if (marks(this.#bold, this.#before, points[i + 2])) this.#bold = !this.#bold
          else out += this.#add(point) + this.#add(point)
          i++
        } else if (marks(this.#emphasis, this.#before, next)) this.#emphasis = !this.#emphasis
        else out += this.#add(point)
      } else if (point === ' ') {
        out += this.#flushWord()
        this.#hasGap = true
      } else out += this.#add(point)
      this.#before = point
    }
    return { out, rest: '' }
  }

  /** As it is, character by character. Where it goes on in the next row, that begins with a sign of ours. */
  #literal(text: string, styles: readonly Style[]): string {
    let out = ''
    let row = ''
    for (const point of text) {
      // A tab ends at the last column, and goes no further.
      const room = point === '\t' ? 8 - (this.#column % 8) : widthOf(point)
      if (point !== '\t' && this.#column + room > this.#width) {
        out += `${this.#styled(row, styles)}\n${this.#stream.style('dim', GOES_ON)}`
        row = ''
        this.#column = GOES_ON.length
      }
      row += point
      this.#column += room
    }
    return out + this.#styled(row, styles)
  }

  /** A word that is as long as a line is printed as it comes: it has to be cut anyway. */
  #add(point: string): string {
    const styles: Style[] = [
      ...this.#line!.styles,
      ...(this.#bold ? (['bold'] as const) : []),
      ...(this.#code ? (['cyan'] as const) : []),
    ]
    const width = widthOf(point)
    const room = this.#isNarrow ? this.#width - this.#line!.indent.length : this.#width
    const out = this.#isNarrow && this.#wordWidth + width > room ? this.#flushWord() : ''
    const last = this.#word.at(-1)
    if (last && last.styles.join() === styles.join()) last.text += point
    else this.#word.push({ text: point, styles })
    this.#wordWidth += width
    return this.#wordWidth < room ? out : out + this.#flushWord()
  }

  #flushWord(): string {
    if (this.#word.length === 0) return ''
    const width = this.#wordWidth
    const { indent } = this.#line!
    const isFirst = this.#column <= indent.length
    const gap = this.#hasGap && !isFirst ? 1 : 0
    // A long word, such as an address, stays whole for who copies it; but where hardly anything fits.
    const wraps = !isFirst && (gap > 0 || this.#isNarrow) && this.#column + gap + width > this.#width
    const text = this.#word.map((piece) => this.#styled(piece.text, piece.styles)).join('')
    this.#column = wraps ? indent.length + width : this.#column + gap + width
    this.#word = []
    this.#wordWidth = 0
    this.#hasGap = false
    return wraps ? `\n${indent}${text}` : ' '.repeat(gap) + text
  }

  #styled(text: string, styles: readonly Style[]): string {
    return text === '' ? '' : styles.reduce((styled, style) => this.#stream.style(style, styled), text)
  }
}

interface Piece {
  text: string
  readonly styles: readonly Style[]
}

interface Line {
  /** What a wrapped line begins with. */
  readonly indent: string
  readonly styles: readonly Style[]
  /** Printed as it is, without wrapping. */
  readonly isLiteral?: boolean
  readonly closing?: string
}

const MOST_TABLE = 20_000
const NARROWEST = 20
const GOES_ON = '↳ '

/** A code block begins; a line that goes on for longer is none, or it would be held for ever. */
const FENCE = /^[ \t]{0,8}(`{3,20}|~{3,20})([^`]{0,100})$/

/** The beginning of a line that may still become a heading, an item, a fence. Bounded, as is everything that is held. */
const UNDECIDED =
  /^[ \t]{0,8}(?:#{1,6}|[-*+>]|\d{1,3}[.)]?|`{1,20}|~{1,20}|(?:`{3,20}|~{3,20})[^`]{0,100}|\|)?$/

/** Stars before a word open, those after one close, and are not printed. `2 * 3`, `2*3` and `*.ts` keep theirs. */
const marks = (isOpen: boolean, before: string, next: string | undefined): boolean =>
  isOpen
    ? !/\s/.test(before)
    : next !== undefined && /[\p{L}\p{N}`"'([]/u.test(next) && !/[\p{L}\p{N}]/u.test(before)
