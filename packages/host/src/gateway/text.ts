/**
 * What servers write is read by a model, and often printed by its client. Control characters could redraw the terminal, a
 * carriage return write over a line, and what cannot be seen hide instructions from the person: each is made visible. What
 * belongs to an emoji, or to a letter of India, is let through behind one.
 */
export const plainText = (text: string): string =>
  /[^\n\t -~]/.test(text)
    ? text.replace(
        /\r(?!\n)|[^\P{C}\n\t\r\u200d]|[\p{Zl}\p{Zp}]|(?!\u200d|\ufe0f)\p{DI}|(?<![\p{Extended_Pictographic}\u{1f3fb}-\u{1f3ff}\p{Mn}])\u200d|(?<![\p{Extended_Pictographic}#*0-9])\ufe0f/gu,
        (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`,
      )
    : text

/**
 * SPEC 5.4: what Cordon says of a result stands in it behind `cordon:`, at the begin of a line. A line of a tool that begins so
 * would pass for ours, and is marked (decision 0337).
 */
export const toolText = (text: string): string => marked(plainText(text), /^(?:cordon[^\p{L}\p{N}]*[:\]])/iu)

/** Of a server also one that begins as the command which follows. The tools here say that of their own refusals. */
export const serverText = (text: string): string =>
  marked(plainText(text), /^(?:cordon[^\p{L}\p{N}]*[:\]]|to allow it\b)/iu)

function marked(text: string, likeOurs: RegExp): string {
  if (!/cordon|to allow|[^\n\t\r -~]/i.test(text)) return text
  const isLikeOurs = (line: string): boolean =>
    likeOurs.test(line.normalize('NFKC').replace(/^[^\p{L}\p{N}]+/u, ''))
  return text
    .split('\n')
    .map((line) => (isLikeOurs(line) ? `not from Cordon: ${line}` : line))
    .join('\n')
}

/** What Cordon says; undefined when that is nothing. */
export const ourText = (lines: readonly string[]): string | undefined =>
  lines.length === 0 ? undefined : `cordon: ${lines.join('\n')}`

/** Of several lines each is marked, so that none can pass for something that Cordon or the client says. */
export function questionOf(who: string, text: string): string {
  const lines = plainText(text).split(/\r?\n/)
  return lines.length === 1
    ? `${who} asks: ${lines[0]}`
    : [`${who} asks:`, ...lines.map((line) => `> ${line}`)].join('\n')
}

/** The same for every text in a value, and for its keys. */
export const plainValue = <T>(value: T): T => mapTexts(value, plainText)

/** The same for what is meant to be read, and could pass for ours. */
export const serverValue = <T>(value: T): T => mapTexts(value, serverText)

/**
 * The same for a tool with its schemas: what is meant to be read is marked, at whatever depth. Names and values that a schema
 * allows mean what they are, and a mark would change that.
 */
export const serverSchema = <T>(value: T): T => {
  const walk = (each: unknown, keys: 'words' | 'names'): unknown => {
    if (Array.isArray(each)) return each.map((one) => walk(one, 'words'))
    if (typeof each !== 'object' || each === null) return each
    return Object.fromEntries(
      Object.entries(each).map(([key, inner]) => {
        if (keys === 'words' && VALUES.has(key)) return [key, inner]
        if (typeof inner === 'string' && READ.has(key)) return [key, serverText(inner)]
        return [key, walk(inner, keys === 'words' && NAMED.has(key) ? 'names' : 'words')]
      }),
    )
  }
  return walk(plainValue(value), 'words') as T
}

const READ: ReadonlySet<string> = new Set(['description', 'title', '$comment', 'markdownDescription'])
/** Below these a server chooses the keys. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required'])

/** Every text on one line, where a form shows them side by side. */
export const inOneLine = <T>(value: T): T => mapTexts(value, (text) => text.replaceAll(/\s*[\r\n]\s*/g, ' '))

function mapTexts<T>(value: T, map: (text: string) => string): T {
  const walk = (each: unknown): unknown => {
    if (typeof each === 'string') return map(each)
    if (Array.isArray(each)) return each.map(walk)
    if (typeof each !== 'object' || each === null) return each
    return Object.fromEntries(Object.entries(each).map(([key, inner]) => [map(key), walk(inner)]))
  }
  return walk(value) as T
}
