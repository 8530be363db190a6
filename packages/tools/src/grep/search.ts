import { FileError, type OpenFile } from '@cordon/files'
import { type RelPath } from '@cordon/policy'
import { decode, SAMPLE, sniffEncoding } from '../text/encoding.ts'
import { requiredLiteral } from './required-literal.ts'
import { type Hit, type Query, Ripgrep } from './ripgrep.ts'

export interface FoundLine {
  readonly line: number
  readonly kind: Hit['kind']
  readonly text: string
}

export interface Found {
  readonly name: RelPath
  readonly lines: readonly FoundLine[]
}

export interface Limits {
  readonly matches: number
  readonly milliseconds: number
}

export interface SearchResult {
  /** Files with a match, by name. */
  readonly found: readonly Found[]
  readonly matches: number
  readonly files: number
  readonly binary: number
  readonly tooLarge: number
  /** Vanished, changed or could not be read while the search was under way. */
  readonly unreadable: number
  readonly stopped: 'no' | 'enough' | 'time'
}

/** A file's place in the stream that ripgrep sees. */
interface Segment {
  readonly name: RelPath
  readonly offset: number
  /** How many lines went before it. */
  readonly line: number
}

/** A larger file would be held in memory twice; a search says that it passed over it. */
const LARGEST = 64 * 1024 * 1024
const BATCH = 256 * 1024
const NEWLINE = Buffer.from('\n')

/** Feeds files to ripgrep one after the other, and finds for each of its lines the file it came from. */
export class Search {
  #matches = 0
  #unreadable = 0
  #files = 0
  #binary = 0
  #tooLarge = 0
  #stopped: SearchResult['stopped'] = 'no'
  readonly #ripgrep: Ripgrep
  readonly #literal: Buffer | undefined
  readonly #limits: Limits
  readonly #deadline: number
  readonly #query: Query
  readonly #segments: Segment[] = []
  readonly #found: { readonly name: RelPath; readonly lines: FoundLine[] }[] = []
  #batch: Uint8Array[] = []
  #batched = 0
  #offset = 0
  #line = 0

  constructor(program: string, query: Query, limits: Limits) {
    this.#query = query
    this.#limits = limits
    this.#deadline = performance.now() + limits.milliseconds
    this.#literal = literalFor(query)
    this.#ripgrep = new Ripgrep(program, query, (hit) => this.#onHit(hit))
  }

  /** Nothing more is wanted: enough was found, time is up, or ripgrep ended. */
  get isOver(): boolean {
    return this.#ripgrep.isOver || this.#isLate()
  }

  /** Reads the file now; it is searched at its leisure. Resolves when there is room for more. */
  add(name: RelPath, open: () => OpenFile): Promise<void> | undefined {
    const content = this.#read(open)
    if (content !== undefined) this.#take(name, content)
    return this.#batched >= BATCH ? this.#flush() : undefined
  }

  /** A file that is known to have no match. */
  passOver(): void {
    this.#files++
  }

  async finish(): Promise<SearchResult> {
    await this.#flush()
    await this.#ripgrep.end()
    const found = this.#found
      .map(({ name, lines }) => ({
        name,
        lines: lines.filter((line) => isNearMatch(line, lines, this.#query)),
      }))
      .filter(({ lines }) => lines.length > 0)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    return {
      found,
      matches: this.#matches,
      files: this.#files,
      binary: this.#binary,
      tooLarge: this.#tooLarge,
      unreadable: this.#unreadable,
      stopped: this.#stopped,
    }
  }

  stop(): void {
    this.#ripgrep.stop()
  }

  #isLate(): boolean {
    if (performance.now() < this.#deadline) return false
    this.#stopped = 'time'
    return true
  }

  #take(name: RelPath, content: Buffer): void {
    this.#files++
    const encoding = sniffEncoding(content.subarray(0, SAMPLE))
    if (encoding === 'binary') return void this.#binary++
    if (encoding === 'utf-16le' || encoding === 'utf-16be') {
      const text = decode(content, encoding)
      if (text === undefined) return void this.#binary++
      return this.#offer(name, Buffer.from(text))
    }
    this.#offer(name, encoding === 'utf-8-bom' ? content.subarray(3) : content)
  }

  #offer(name: RelPath, content: Buffer): void {
    if (content.length === 0 || (this.#literal && !content.includes(this.#literal))) return
    if (content.includes(0)) return void this.#binary++
    this.#segments.push({ name, offset: this.#offset, line: this.#line })
    this.#push(content)
    // The next file must begin on a line of its own.
    if (content.at(-1) !== 10) this.#push(NEWLINE)
  }

  #push(bytes: Uint8Array): void {
    this.#batch.push(bytes)
    this.#batched += bytes.length
    this.#offset += bytes.length
    for (let i = 0; i < bytes.length; i++) if (bytes[i] === 10) this.#line++
  }

  #read(open: () => OpenFile): Buffer | undefined {
    try {
      using file = open()
      return file.readAll(LARGEST)
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      if (error.code === 'FILE_TOO_LARGE') this.#tooLarge++
      else this.#unreadable++
      return undefined
    }
  }

  async #flush(): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    this.#batched = 0
    if (batch.length > 0) await this.#ripgrep.write(Buffer.concat(batch))
  }

  #onHit(hit: Hit): void {
    const segment = this.#segmentAt(hit.offset)
    if (!segment) return
    if (this.#found.at(-1)?.name !== segment.name) this.#found.push({ name: segment.name, lines: [] })
    this.#found.at(-1)?.lines.push({ line: hit.line - segment.line, kind: hit.kind, text: hit.text })
    if (hit.kind !== 'match' || ++this.#matches < this.#limits.matches) return
    this.#stopped = 'enough'
    this.#ripgrep.stop()
  }

  #segmentAt(offset: number): Segment | undefined {
    let low = 0
    let high = this.#segments.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#segments[middle]?.offset ?? 0) <= offset) low = middle + 1
      else high = middle
    }
    return this.#segments[low - 1]
  }
}

/** Letters of another case are other bytes, so only an exact search can be narrowed beforehand. */
function literalFor({ pattern, syntax, letterCase }: Query): Buffer | undefined {
  const exact = letterCase === 'exact' || (letterCase === 'smart' && /\p{Lu}/u.test(pattern))
  if (!exact) return undefined
  const literal = syntax === 'literal' ? pattern : requiredLiteral(pattern)
  return literal === undefined || literal === '' || !literal.isWellFormed() ? undefined : Buffer.from(literal)
}

/** ripgrep shows the first lines of a file as context of the file before it: those are not near a match of their own. */
function isNearMatch(line: FoundLine, all: readonly FoundLine[], { before, after }: Query): boolean {
  if (line.kind === 'match') return true
  return all.some((m) => m.kind === 'match' && m.line - line.line <= before && line.line - m.line <= after)
}
