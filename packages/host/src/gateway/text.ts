/**
 * What servers write is read by a model, and often printed by its client. Control characters could redraw the terminal, and
 * invisible ones hide instructions from the person: each is made visible. A joiner inside an emoji is let through.
 */
export const plainText = (text: string): string =>
  /[^\n\t\r -~]/.test(text)
    ? text.replace(
        /[^\P{C}\n\t\r\u200d]|[\p{Zl}\p{Zp}]|[\u{e0000}-\u{e0fff}]/gu,
        (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`,
      )
    : text

/** The same for every text in a value, keys left as they are: a call has to name them exactly. */
export function plainValue<T>(value: T): T {
  return walk(value) as T
}

function walk(value: unknown): unknown {
  if (typeof value === 'string') return plainText(value)
  if (Array.isArray(value)) return value.map(walk)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner)]))
}
