import { parse, TomlError } from 'smol-toml'
import { type ConfigProblem } from '../errors.ts'
import { type ConfigOrigin, type Source } from '../layers.ts'
import { type Mark, markToml } from './marks.ts'

export type Table = Record<string, unknown>

/** A source that was read: its values, and a way back from each to its place. */
export class Document {
  readonly source: Source
  readonly values: Table
  #root: Mark | undefined
  #lines: number[] | undefined
  #lastLine = 0

  constructor(source: Source, values: Table) {
    this.source = source
    this.values = values
  }

  /** Undefined: the source is no text. */
  get root(): Mark | undefined {
    return (this.#root ??= 'text' in this.source ? markToml(this.source.text).root : undefined)
  }

  origin(mark: Mark | undefined): ConfigOrigin {
    const { layer, label } = this.source
    return { layer, label, ...(mark && 'text' in this.source ? this.#place(this.source.text, mark.at) : {}) }
  }

  /** The same as `formatOrigin(origin(mark))`, without the object between: each rule of a config has one. */
  originText(mark: Mark | undefined): string {
    const { label } = this.source
    if (!mark || !('text' in this.source)) return label
    const line = this.#line(this.source.text, mark.at)
    return `${label}:${line}:${mark.at - this.#lines![line - 1]! + 1}`
  }

  #place(text: string, at: number): { line: number; column: number } {
    const line = this.#line(text, at)
    return { line, column: at - this.#lines![line - 1]! + 1 }
  }

  #line(text: string, at: number): number {
    this.#lines ??= lineStarts(text)
    // Rules are asked about in the order in which they stand: mostly it is one of the next lines.
    for (let near = this.#lastLine; near < this.#lastLine + 8 && this.#lines[near]! <= at; near++)
      if (at < (this.#lines[near + 1] ?? Infinity)) return (this.#lastLine = near) + 1
    let low = 0
    let high = this.#lines.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.#lines[middle]! <= at) low = middle
      else high = middle
    }
    this.#lastLine = low
    return low + 1
  }
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) starts.push(i + 1)
  return starts
}

/** The document, or what is wrong with its TOML. */
export function readDocument(source: Source): Document | ConfigProblem {
  if (!('text' in source)) return new Document(source, nest(source.key, source.value))
  try {
    return new Document(source, parse(source.text))
  } catch (error) {
    if (error instanceof TomlError) return syntaxProblem(source.text, source, error)
    throw error
  }
}

/** What a source says, unchecked and unmerged: for a person to look at before any of it counts (SPEC 2.1). */
export type UncheckedValues =
  | { readonly kind: 'values'; readonly values: Readonly<Table> }
  | { readonly kind: 'broken'; readonly problem: ConfigProblem }

export function uncheckedValues(source: Source): UncheckedValues {
  const read = readDocument(source)
  return read instanceof Document
    ? { kind: 'values', values: read.values }
    : { kind: 'broken', problem: read }
}

/** `a.b = 1` as the tables it stands for. */
function nest(key: readonly string[], value: unknown): Table {
  let table: unknown = value
  for (const name of key.toReversed()) {
    const outer = Object.create(null) as Table
    outer[name] = table
    table = outer
  }
  return table as Table
}

function syntaxProblem(text: string, { layer, label }: Source, error: TomlError): ConfigProblem {
  const { line, column } = error
  const what = /^Invalid TOML document: (.*)/.exec(error.message)?.[1] ?? 'it cannot be read'
  const written = text.split('\n')[line - 1] ?? ''
  return {
    origin: { layer, label, line, column },
    key: '',
    message: `not valid TOML: ${what}`,
    ...syntaxFix(what, written),
  }
}

function syntaxFix(what: string, line: string): { fix?: string } {
  if (what.includes('redefine'))
    return { fix: 'the key or table is already defined above: merge the two into one' }
  if (/^\s*\[.*\.\*/.test(line)) return { fix: 'quote the star: [conversation.tools."*"]' }
  if (/^unfinished|incomplete|expected comma|unexpected end/.test(what))
    return { fix: 'something opened here is not closed: complete the line, or take it out' }
  if (/=\s*[A-Za-z_./~-]/.test(line) && what.startsWith('invalid value'))
    return { fix: 'put text in quotes: key = "text"' }
  return {}
}
