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

/** The same for every text in a value, and for its keys. */
export const plainValue = <T>(value: T): T => mapTexts(value, plainText)

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
