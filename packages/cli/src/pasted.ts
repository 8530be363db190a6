import { StringDecoder } from 'node:string_decoder'
import { Transform } from 'node:stream'

/** Stands for the end of a line in what is typed as one: it can be seen, and edited away. */
const LINE_END = '␊'

/** Around what is pasted, where a terminal was asked to say so (bracketed paste). */
const START = '\u001b[200~'
const END = '\u001b[201~'
export const TELL_PASTES = '\u001b[?2004h'
export const TELL_NO_PASTES = '\u001b[?2004l'

/** Ctrl-C, Ctrl-D and Esc: alone in what the terminal sent at once, they were pressed and not pasted. */
const WAYS_OUT: ReadonlySet<string> = new Set(['\u0003', '\u0004', '\u001b'])

/** What was typed, with its lines. */
export const linesOf = (typed: string): string => typed.replaceAll(LINE_END, '\n')

/** Several lines as one that can be edited. */
export const asOneLine = (lines: string): string =>
  lines
    .replaceAll(START, '')
    .replaceAll(END, '')
    .replace(/\r\n?|\n/g, LINE_END)
    .replace(/\t/g, '    ')
    .replace(/\p{Cc}/gu, '')

/** Whether a paste has begun in what was typed, and goes on. */
export const endsInPaste = (typed: string): boolean => typed.lastIndexOf(START) > typed.lastIndexOf(END)

/** `text`: what is pasted is typed by it. `nothing`: it is dropped, because only what a person types answers (decision 0411). */
export type Pasting = 'text' | 'nothing'

/**
 * A terminal’s input, in which Enter is only what a person presses: the ends of pasted lines become marks, and control
 * characters in them nothing. A terminal that does not say what is pasted sends several lines at once, which nobody types.
 * A function: a class that extends one of Node's streams loads all of them at every start (decision 0390).
 */
export function pastedAsOne(terminal: NodeJS.ReadStream, pasting: Pasting, isPasting: boolean): Transform {
  const pasted = new Pasted(pasting, isPasting)
  const input = new Transform({
    transform: (chunk: Buffer, _, done) => done(null, pasted.typedBy(chunk)),
  })
  return Object.assign(input, { setRawMode: (isRaw: boolean) => terminal.setRawMode(isRaw) })
}

class Pasted {
  readonly #pasting: Pasting
  readonly #decoder = new StringDecoder('utf8')
  #isPasting: boolean
  #held = ''

  constructor(pasting: Pasting, isPasting: boolean) {
    this.#pasting = pasting
    this.#isPasting = isPasting
  }

  /** What was typed, with the marks. */
  typedBy(chunk: Buffer): string {
    const sent = this.#decoder.write(chunk)
    let text = this.#held + sent
    this.#held = ''
    if (this.#isPasting && WAYS_OUT.has(sent)) {
      this.#isPasting = false // its end may never come, and a person must be able to leave
      return sent
    }
    let typed = ''
    while (text !== '') {
      const mark = this.#isPasting ? END : START
      const at = text.indexOf(mark)
      const part = at < 0 ? this.#withoutBegunMark(text, mark) : text.slice(0, at)
      if (!this.#isPasting) typed += asTyped(part)
      else if (this.#pasting === 'text') typed += asOneLine(part)
      if (at < 0) break
      this.#isPasting = !this.#isPasting
      text = text.slice(at + mark.length)
    }
    return typed
  }

  /** A mark, or the end of a line, may come in two pieces. The Escape key alone is one. */
  #withoutBegunMark(text: string, mark: string): string {
    let length = Math.min(mark.length - 1, text.length)
    while (length > 0 && !text.endsWith(mark.slice(0, length))) length--
    if (this.#isPasting && length === 0 && text.endsWith('\r')) length = 1
    if (length === 1 && !this.#isPasting) return text
    this.#held = text.slice(text.length - length)
    return text.slice(0, text.length - length)
  }
}

/** The last line of several is entered; those before it are its text. */
const asTyped = (text: string): string => text.replace(/(?:\r\n|\r|\n)(?=[^\r\n])/g, LINE_END)
