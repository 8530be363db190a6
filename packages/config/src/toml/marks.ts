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

  /** Tables in braces and below [[headers]] are looked into only when somebody asks: most are rules, and of those
   * only the place is ever needed. */
  get keys(): ReadonlyMap<string, Mark> | undefined {
    const text = this.unread
    if (text !== undefined) {
      this.unread = undefined
      this.named = new Map()
      new Marker(text).read(this)
    }
    return this.named
  }

  /** This is the table in braces between `from` and `to`, or if that is empty the lines that start at `from`. */
  leaveUnread(text: string): void {
    this.unread = text
  }

  child(name: string, at: number): Mark {
    const named = this.keys === undefined ? (this.named = new Map<string, Mark>()) : this.named!
    let mark = named.get(name)
    if (!mark) named.set(name, (mark = new Mark(at)))
    return mark
  }
}

/** A `[table]` or `[[list]]` with the lines below it; the first one is the text before any header. */
export class Section {
  readonly mark: Mark
  /** Just behind its last key and value (or its header): where another line may be put. */
  end: number
  readonly #header: string

  constructor(mark: Mark, end: number, header: string) {
    this.mark = mark
    this.end = end
    this.#header = header
  }

  get path(): readonly string[] {
    return this.#header === '' ? [] : new Marker(this.#header).headerPath()
  }
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
    let section = new Section(root, 0, '')
    let isList = false
    const sections = [section]
    if (this.#text.charCodeAt(0) === BOM) section.end = this.#pos = 1
    for (this.#skipVoid(); this.#pos < this.#text.length; this.#skipVoid()) {
      if (this.#text.charCodeAt(this.#pos) === OPEN_LIST) {
        isList = this.#text.charCodeAt(this.#pos + 1) === OPEN_LIST
        section = isList ? this.#listHeader(root) : this.#tableHeader(root)
        sections.push(section)
      } else {
        if (isList) this.#skipLine()
        else this.#keyValue(section.mark, 'line')
        section.end = this.#pos
      }
    }
    return { root, sections, comments: this.#comments }
  }

  /** The keys of a table that was passed over before. */
  read(mark: Mark): void {
    this.#pos = mark.from
    if (mark.to > mark.from) {
      this.#pos++ // the brace
      for (this.#skipVoid(); this.#isBefore(CLOSE_TABLE); this.#skipComma()) this.#keyValue(mark, 'nested')
    } else for (this.#skipVoid(); this.#isBefore(OPEN_LIST); this.#skipVoid()) this.#keyValue(mark, 'line')
  }

  headerPath(): readonly string[] {
    this.#pos = this.#text.startsWith('[[') ? 2 : 1
    const path: string[] = []
    this.#key(CLOSE_LIST, (name) => path.push(name))
    return path
  }

  #tableHeader(root: Mark): Section {
    const start = this.#pos++
    const mark = this.#headerMark(root)
    this.#pos++
    mark.at = start
    return new Section(mark, this.#pos, this.#text.slice(start, this.#pos))
  }

  #listHeader(root: Mark): Section {
    const start = this.#pos
    this.#pos += 2
    const list = this.#headerMark(root)
    this.#pos += 2
    const item = new Mark(start)
    item.from = item.to = this.#pos
    item.leaveUnread(this.#text)
    list.at = start
    list.items ??= []
    list.items.push(item)
    return new Section(item, this.#pos, this.#text.slice(start, this.#pos))
  }

  #headerMark(root: Mark): Mark {
    let mark = root
    this.#key(CLOSE_LIST, (name, start) => {
      mark = lastItem(mark).child(name, start)
    })
    return mark
  }

  #keyValue(table: Mark, layout: Layout): void {
    const start = this.#pos
    const only = this.#bareKey()
    this.#skipBlanks()
    let mark = table
    if (only !== '' && this.#text.charCodeAt(this.#pos) === EQUALS) mark = table.child(only, start)
    else {
      this.#pos = start
      this.#key(EQUALS, (name, at) => {
        mark = mark.child(name, at)
      })
    }
    this.#valueOf(mark, layout)
  }

  /** Over a key and its value, without a look at either. */
  #skipLine(): void {
    while (this.#isBefore(EQUALS)) {
      const c = this.#text.charCodeAt(this.#pos)
      if (c === QUOTE || c === APOSTROPHE) this.#string(c)
      else this.#pos++
    }
    this.#pos++
    this.#skipBlanks()
    const c = this.#text.charCodeAt(this.#pos)
    if (c === QUOTE || c === APOSTROPHE) this.#string(c)
    else if (c === OPEN_LIST || c === OPEN_TABLE) this.#skipNested()
    else this.#plain('line')
  }

  #valueOf(mark: Mark, layout: Layout): void {
    this.#pos++ // the equals sign
    this.#skipBlanks()
    this.#value(mark, layout)
  }

  #bareKey(): string {
    const start = this.#pos
    while (isBare(this.#text.charCodeAt(this.#pos))) this.#pos++
    return this.#text.slice(start, this.#pos)
  }

  /** Gives each part with its start; stops on the character that ends the key. */
  #key(end: number, part: (name: string, start: number) => void): void {
    for (;;) {
      this.#skipBlanks()
      const start = this.#pos
      const c = this.#text.charCodeAt(start)
      if (c === QUOTE || c === APOSTROPHE) {
        this.#string(c)
        part(unquote(this.#text.slice(start, this.#pos)), start)
      } else part(this.#bareKey(), start)
      this.#skipBlanks()
      if (this.#text.charCodeAt(this.#pos) === end || this.#pos >= this.#text.length) return
      this.#pos++ // the dot
    }
  }

  #value(mark: Mark, layout: Layout): void {
    mark.from = this.#pos
    const c = this.#text.charCodeAt(this.#pos)
    if (c === QUOTE || c === APOSTROPHE) this.#string(c)
    else if (c === OPEN_LIST) this.#list(mark)
    else if (c === OPEN_TABLE) this.#unreadTable(mark)
    else this.#plain(layout)
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
    this.#skipNested()
  }

  /** From an opening bracket or brace to behind the one that closes it. */
  #skipNested(): void {
    let depth = 0
    do {
      const c = this.#text.charCodeAt(this.#pos)
      if (c === QUOTE || c === APOSTROPHE) this.#string(c)
      else if (c === HASH) this.#comment()
      else {
        this.#pos++
        if (c === OPEN_TABLE || c === OPEN_LIST) depth++
        else if (c === CLOSE_TABLE || c === CLOSE_LIST) depth--
      }
    } while (depth > 0 && this.#pos < this.#text.length)
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
  #plain(layout: Layout): void {
    const end = layout === 'line' ? END_OF_LINE_VALUE : END_OF_NESTED_VALUE
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

type Layout = 'line' | 'nested'

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
