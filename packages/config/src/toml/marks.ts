import { parse } from 'smol-toml'

/** Where a value stands in its text. Offsets are UTF-16, as in a JavaScript string. */
export interface Mark {
  /** Where a person would look: the key, or the element of a list, or the header of a table. */
  at: number
  /** The value's own text, `text.slice(from, to)`; empty for a table that has only headers and dotted keys. */
  from: number
  to: number
  keys: Map<string, Mark> | undefined
  items: Mark[] | undefined
}

/** A `[table]` or `[[list]]` with the lines below it; the first one is the text before any header. */
export interface Section {
  readonly path: readonly string[]
  readonly mark: Mark
  /** Just behind its last key and value (or its header): where another line may be put. */
  end: number
}

export interface Marks {
  readonly root: Mark
  readonly sections: readonly Section[]
  /** Where each comment starts; it ends with its line. */
  readonly comments: readonly number[]
}

/**
 * smol-toml gives values without positions, so this walks the same text for positions without values.
 * It checks nothing: the text must be one that smol-toml accepts (decision 0031).
 */
export function markToml(text: string): Marks {
  return new Marker(text).document()
}

const newMark = (at: number): Mark => ({ at, from: at, to: at, keys: undefined, items: undefined })

class Marker {
  readonly #text: string
  readonly #comments: number[] = []
  #pos = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): Marks {
    const root = newMark(0)
    let section: Section = { path: [], mark: root, end: 0 }
    const sections = [section]
    if (this.#text.charCodeAt(0) === BOM) section.end = this.#pos = 1
    for (this.#skipVoid(); this.#pos < this.#text.length; this.#skipVoid()) {
      if (this.#text.charCodeAt(this.#pos) === OPEN_LIST) {
        section = this.#header(root)
        sections.push(section)
      } else {
        this.#keyValue(section.mark, 'line')
        section.end = this.#pos
      }
    }
    return { root, sections, comments: this.#comments }
  }

  #header(root: Mark): Section {
    const start = this.#pos
    const isList = this.#text.charCodeAt(start + 1) === OPEN_LIST
    this.#pos += isList ? 2 : 1
    const { path, starts } = this.#key(CLOSE_LIST)
    this.#pos += isList ? 2 : 1
    let mark = root
    for (const [i, name] of path.entries()) mark = child(lastItem(mark), name, starts[i]!)
    if (isList) {
      const item = newMark(start)
      mark.items ??= []
      mark.items.push(item)
      mark = item
    }
    mark.at = start
    return { path, mark, end: this.#pos }
  }

  #keyValue(table: Mark, place: Place): void {
    const { path, starts } = this.#key(EQUALS)
    this.#pos++
    this.#skipBlanks()
    let mark = table
    for (const [i, name] of path.entries()) mark = child(mark, name, starts[i]!)
    this.#value(mark, place)
  }

  /** Stops on the character that ends the key. */
  #key(end: number): { path: string[]; starts: number[] } {
    const path: string[] = []
    const starts: number[] = []
    for (;;) {
      this.#skipBlanks()
      const start = this.#pos
      const c = this.#text.charCodeAt(start)
      starts.push(start)
      if (c === QUOTE || c === APOSTROPHE) {
        this.#string(c)
        path.push(unquote(this.#text.slice(start, this.#pos)))
      } else {
        BARE_KEY.lastIndex = start
        BARE_KEY.test(this.#text)
        this.#pos = BARE_KEY.lastIndex
        path.push(this.#text.slice(start, this.#pos))
      }
      this.#skipBlanks()
      if (this.#text.charCodeAt(this.#pos) === end || this.#pos >= this.#text.length) return { path, starts }
      this.#pos++ // the dot
    }
  }

  #value(mark: Mark, place: Place): void {
    mark.from = this.#pos
    const c = this.#text.charCodeAt(this.#pos)
    if (c === QUOTE || c === APOSTROPHE) this.#string(c)
    else if (c === OPEN_LIST) this.#list(mark)
    else if (c === OPEN_TABLE) this.#table(mark)
    else this.#plain(place)
    mark.to = this.#pos
  }

  #list(mark: Mark): void {
    mark.items = []
    this.#pos++
    for (this.#skipVoid(); this.#text.charCodeAt(this.#pos) !== CLOSE_LIST; this.#skipComma()) {
      const item = newMark(this.#pos)
      mark.items.push(item)
      this.#value(item, 'nested')
    }
    this.#pos++
  }

  #table(mark: Mark): void {
    mark.keys = new Map()
    this.#pos++
    for (this.#skipVoid(); this.#text.charCodeAt(this.#pos) !== CLOSE_TABLE; this.#skipComma())
      this.#keyValue(mark, 'nested')
    this.#pos++
  }

  #skipComma(): void {
    this.#skipVoid()
    if (this.#text.charCodeAt(this.#pos) === COMMA) this.#pos++
    this.#skipVoid()
  }

  #string(quote: number): void {
    const text = this.#text
    const long = text.charCodeAt(this.#pos + 1) === quote && text.charCodeAt(this.#pos + 2) === quote
    let i = this.#pos + (long ? 3 : 1)
    for (; ; i++) {
      const c = text.charCodeAt(i)
      if (c === BACKSLASH && quote === QUOTE) i++
      else if (
        c === quote &&
        (!long || (text.charCodeAt(i + 1) === quote && text.charCodeAt(i + 2) === quote))
      )
        break
    }
    i += long ? 3 : 1
    // Up to two quotes may stand directly before the closing three.
    if (long) for (let extra = 0; extra < 2 && text.charCodeAt(i) === quote; extra++) i++
    this.#pos = i
  }

  /** A number, a boolean or a date (which may contain a space). */
  #plain(place: Place): void {
    const end = place === 'line' ? END_OF_LINE_VALUE : END_OF_NESTED_VALUE
    end.lastIndex = this.#pos
    let i = end.exec(this.#text)?.index ?? this.#text.length
    while (isBlank(this.#text.charCodeAt(i - 1))) i--
    this.#pos = i
  }

  #skipBlanks(): void {
    while (isBlank(this.#text.charCodeAt(this.#pos))) this.#pos++
  }

  #skipVoid(): void {
    for (;;) {
      const c = this.#text.charCodeAt(this.#pos)
      if (c === NEWLINE || isBlank(c)) this.#pos++
      else if (c !== HASH) return
      else {
        this.#comments.push(this.#pos)
        const newline = this.#text.indexOf('\n', this.#pos)
        this.#pos = newline < 0 ? this.#text.length : newline
      }
    }
  }
}

type Place = 'line' | 'nested'

function child(table: Mark, name: string, at: number): Mark {
  table.keys ??= new Map()
  let mark = table.keys.get(name)
  if (!mark) table.keys.set(name, (mark = newMark(at)))
  return mark
}

/** A header below a list of tables speaks of its last element. */
const lastItem = (mark: Mark): Mark => mark.items?.at(-1) ?? mark

const unquote = (key: string): string =>
  key.includes('\\') && key.startsWith('"') ? (parse(`k=${key}`)['k'] as string) : key.slice(1, -1)

const isBlank = (c: number): boolean => c === 0x20 || c === 0x09 || c === 0x0d

const BARE_KEY = /[A-Za-z0-9_-]*/y
const END_OF_LINE_VALUE = /[\n#]/g
const END_OF_NESTED_VALUE = /[\n#,\]}]/g
const BOM = 0xfeff
const NEWLINE = 0x0a
const QUOTE = 0x22
const HASH = 0x23
const APOSTROPHE = 0x27
const COMMA = 0x2c
const EQUALS = 0x3d
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_TABLE = 0x7b
const CLOSE_TABLE = 0x7d
