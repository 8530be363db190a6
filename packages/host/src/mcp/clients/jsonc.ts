import { CordonError } from '@cordon/policy'

/** JSON with comments and trailing commas, as editors write it, with the place of every value. */
export type JsonNode =
  | {
      readonly kind: 'object'
      readonly from: number
      readonly to: number
      readonly members: readonly Member[]
    }
  | {
      readonly kind: 'array'
      readonly from: number
      readonly to: number
      readonly items: readonly JsonNode[]
    }
  | {
      readonly kind: 'value'
      readonly from: number
      readonly to: number
      readonly value: string | number | boolean | null
    }

export interface Member {
  readonly key: string
  /** Where the key's own quote stands. */
  readonly at: number
  readonly value: JsonNode
}

class JsoncError extends CordonError {
  readonly code = 'CLIENT_FILE'
  readonly line: number
  readonly column: number
  constructor(text: string, at: number, expected: string) {
    const before = text.slice(0, at).split('\n')
    const [line, column] = [before.length, before.at(-1)!.length + 1]
    super(`not valid JSON: expected ${expected} at line ${line}, column ${column}`)
    this.line = line
    this.column = column
  }
}

/** Deeper than any client nests, and far from the end of the stack. */
const DEEPEST = 200

export function parseJsonc(text: string): JsonNode {
  const reader = new Reader(text)
  const root = reader.value(0)
  reader.end()
  return root
}

/** The value at a path of keys. A key that is written twice is the last one, as every client reads it. */
export function nodeAt(root: JsonNode, path: readonly string[]): JsonNode | undefined {
  let here: JsonNode | undefined = root
  for (const key of path) here = memberOf(here, key)?.value
  return here
}

export const memberOf = (node: JsonNode | undefined, key: string): Member | undefined =>
  node?.kind === 'object' ? node.members.findLast((member) => member.key === key) : undefined

/** As plain data; objects have no prototype, so that `__proto__` is a key like any other. */
export function plainOf(node: JsonNode): unknown {
  switch (node.kind) {
    case 'value':
      return node.value
    case 'array':
      return node.items.map(plainOf)
    case 'object': {
      const plain = Object.create(null) as Record<string, unknown>
      for (const { key, value } of node.members) plain[key] = plainOf(value)
      return plain
    }
  }
}

class Reader {
  readonly #text: string
  #at: number

  constructor(text: string) {
    this.#text = text
    this.#at = text.startsWith('\uFEFF') ? 1 : 0
  }

  value(depth: number): JsonNode {
    this.#skip()
    if (depth > DEEPEST) throw this.#wrong('fewer levels')
    const from = this.#at
    const first = this.#text[from]
    if (first === '{') return this.#object(depth)
    if (first === '[') return this.#array(depth)
    if (first === '"') return { kind: 'value', from, value: this.#string(), to: this.#at }
    return this.#scalar()
  }

  end(): void {
    this.#skip()
    if (this.#at < this.#text.length) throw this.#wrong('the end')
  }

  #object(depth: number): JsonNode {
    const from = this.#at++
    const members: Member[] = []
    for (this.#skip(); this.#text[this.#at] !== '}'; this.#comma('}')) {
      const at = this.#at
      if (this.#text[at] !== '"') throw this.#wrong('a key in quotes')
      const key = this.#string()
      this.#skip()
      if (this.#text[this.#at] !== ':') throw this.#wrong('a colon')
      this.#at++
      members.push({ key, at, value: this.value(depth + 1) })
    }
    return { kind: 'object', from, to: ++this.#at, members }
  }

  #array(depth: number): JsonNode {
    const from = this.#at++
    const items: JsonNode[] = []
    for (this.#skip(); this.#text[this.#at] !== ']'; this.#comma(']')) items.push(this.value(depth + 1))
    return { kind: 'array', from, to: ++this.#at, items }
  }

  #comma(close: string): void {
    this.#skip()
    if (this.#text[this.#at] === ',') {
      this.#at++
      this.#skip()
    } else if (this.#text[this.#at] !== close) throw this.#wrong(`a comma or ${close}`)
  }

  #string(): string {
    STRING.lastIndex = this.#at
    const match = STRING.exec(this.#text)
    if (!match) throw this.#wrong('a string on one line, with its closing quote')
    const written = match[0]
    try {
      const value = JSON.parse(written) as string
      this.#at += written.length
      return value
    } catch {
      throw this.#wrong('a string without unknown escapes and control characters')
    }
  }

  #scalar(): JsonNode {
    const from = this.#at
    SCALAR.lastIndex = from
    const written = SCALAR.exec(this.#text)?.[0]
    if (written === undefined) throw this.#wrong('a value')
    this.#at += written.length
    return { kind: 'value', from, to: this.#at, value: JSON.parse(written) as number | boolean | null }
  }

  #skip(): void {
    VOID.lastIndex = this.#at
    this.#at += VOID.exec(this.#text)?.[0].length ?? 0
    if (this.#text.startsWith('//', this.#at)) throw this.#wrong('a line feed at the end of the comment')
  }

  #wrong(expected: string): JsoncError {
    return new JsoncError(this.#text, this.#at, expected)
  }
}

const STRING = /"[^"\\\n\r]*(?:\\.[^"\\\n\r]*)*"/y
const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])/y
/**
 * VS Code ends a `//` comment at a carriage return and at U+2028 and U+2029 as well, others at a line feed alone: what stands
 * behind one of them would be a comment for us and the command for the client, or the other way round. Such a text is refused.
 */
const VOID = /(?:[ \t\r\n]+|\/\/[^\n\r\u2028\u2029]*(?=\r?\n|$)|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/)*/y
