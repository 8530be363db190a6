import { parse } from 'smol-toml'

/** Where a value stands in its text. Offsets are UTF-16, as in a JavaScript string. */
export class Mark {
  /** Where a person would look: the key, or the element of a list, or the header of a table. */
  at: number
  /** The value's own text, `text.slice(from, to)`; empty for a table that has only headers and dotted keys. */
  from: number
  to: number
  items: Mark[] | undefined
  private named: Map<string, Mark> | undefined
  private unread: string | undefined

  constructor(at: number) {
    this.at = this.from = this.to = at
    this.items = this.named = this.unread = undefined
  }

  /** A table in braces is looked into only when somebody asks: of most rules only the place is ever needed. */
  get keys(): ReadonlyMap<string, Mark> | undefined {
    if (this.unread !== undefined) {
      const text = this.unread
      this.unread = undefined
      this.named = new Map()
      new Marker(text).table(this)
    }
    return this.named
  }

  /** This is the table in braces that stands at `from` in the text. */
  leaveUnread(text: string): void {
    this.unread = text
  }

  child(name: string, at: number): Mark {
    this.named ??= new Map()
    let mark = this.named.get(name)
    if (!mark) this.named.set(name, (mark = new Mark(at)))
    return mark
  }
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
 * It checks nothing: the text must be one that smol-toml accepts (decision 0031). On any other it says nothing
 * useful, but it ends.
 */
export function markToml(text: string): Marks {
  return new Marker(text).document()
}

class Marker {
  readonly #text: string
  readonly #comments: number[] = []
  #pos = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): Marks {
    const root = new Mark(0)
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
    for (const [i, name] of path.entries()) mark = lastItem(mark).child(name, starts[i]!)
    if (isList) {
      const item = new Mark(start)
      mark.items ??= []
      mark.items.push(item)
      mark = item
    }
    mark.at = start
    return { path, mark, end: this.#pos }
  }

  #keyValue(table: Mark, place: Place): void {
    const start = this.#pos
    const name = this.#bareKey()
    this.#skipBlanks()
    if (name !== '' && this.#text.charCodeAt(this.#pos) === EQUALS) {
      this.#valueOf(table.child(name, start), place)
      return
    }
    this.#pos = start
    const { path, starts } = this.#key(EQUALS)
    let mark = table
    for (const [i, part] of path.entries()) mark = mark.child(part, starts[i]!)
    this.#valueOf(mark, place)
  }

  #valueOf(mark: Mark, place: Place): void {
    this.#pos++ // the equals sign
    this.#skipBlanks()
    this.#value(mark, place)
  }

  #bareKey(): string {
    const start = this.#pos
    while (isBare(this.#text.charCodeAt(this.#pos))) this.#pos++
    return this.#text.slice(start, this.#pos)
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
        path.push(this.#bareKey())
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
    else if (c === OPEN_TABLE) this.#unreadTable(mark)
    else this.#plain(place)
    mark.to = this.#pos
  }

  #list(mark: Mark): void {
    mark.items = []
    this.#pos++
    for (this.#skipVoid(); this.#isBefore(CLOSE_LIST); this.#skipComma()) {
      const item = new Mark(this.#pos)
      mark.items.push(item)
      this.#value(item, 'nested')
    }
    this.#pos++
  }

  #unreadTable(mark: Mark): void {
    mark.leaveUnread(this.#text)
    let depth = 0
    do {
      const c = this.#text.charCodeAt(this.#pos)
      if (c === QUOTE || c === APOSTROPHE) this.#string(c)
      else if (c === HASH) this.#comment()
      else {
        this.#pos++
        if (c === OPEN_TABLE) depth++
        else if (c === CLOSE_TABLE) depth--
      }
    } while (depth > 0 && this.#pos < this.#text.length)
  }

  /** The keys of a table in braces that was passed over before. */
  table(mark: Mark): void {
    this.#pos = mark.from + 1
    for (this.#skipVoid(); this.#isBefore(CLOSE_TABLE); this.#skipComma()) this.#keyValue(mark, 'nested')
  }

  #isBefore(end: number): boolean {
    return this.#pos < this.#text.length && this.#text.charCodeAt(this.#pos) !== end
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
    for (; i < text.length; i++) {
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
    this.#pos = Math.max(i, this.#pos + 1) // whatever stands there, the walk goes on
  }

  #skipBlanks(): void {
    while (isBlank(this.#text.charCodeAt(this.#pos))) this.#pos++
  }

  #skipVoid(): void {
    for (;;) {
      const c = this.#text.charCodeAt(this.#pos)
      if (c === NEWLINE || isBlank(c)) this.#pos++
      else if (c !== HASH) return
      else this.#comment()
    }
  }

  #comment(): void {
    this.#comments.push(this.#pos)
    const newline = this.#text.indexOf('\n', this.#pos)
    this.#pos = newline < 0 ? this.#text.length : newline
  }
}

type Place = 'line' | 'nested'

/** A header below a list of tables speaks of its last element. */
const lastItem = (mark: Mark): Mark => mark.items?.at(-1) ?? mark

const unquote = (key: string): string =>
  key.includes('\\') && key.startsWith('"') ? (parse(`k=${key}`)['k'] as string) : key.slice(1, -1)

const isBlank = (c: number): boolean => c === 0x20 || c === 0x09 || c === 0x0d

const isBare = (c: number): boolean =>
  (c >= 0x61 && c <= 0x7a) || (c >= 0x41 && c <= 0x5a) || (c >= 0x30 && c <= 0x39) || c === 0x5f || c === 0x2d

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
