const PRINTABLE_ASCII = /^[ -~]*$/

/**
 * Most text is ASCII, and then the classes of Unicode are not needed. The expression is written where it is used, here and
 * elsewhere: V8 looks the classes up when it comes to it, which was a part of every start.
 */
const escapeUnsafe = (text: string, escape: (hex: string) => string): string =>
  PRINTABLE_ASCII.test(text)
    ? text
    : text.replace(
        /[\p{C}\p{Zl}\p{Zp}\p{DI}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]|(?<!\p{L}\p{M}{0,3})\p{M}/gu,
        (c) => escape(c.codePointAt(0)!.toString(16)),
      )

/**
 * Untrusted text in a message: control and bidi characters must not redraw the terminal, and what cannot be seen (the
 * default ignorable characters, and blanks that are no space) must not make one name look like another. Marks that stand over
 * no letter would stand over what we wrote before them, and a pile of them hides what is around it.
 */
export const quote = (text: string): string =>
  escapeUnsafe(JSON.stringify(clip(text)), (hex) => `\\u{${hex}}`)

/** Untrusted text of several lines that a person decides about: as it is, and nothing in it that cannot be seen. Tabs stay. */
export const visible = (text: string): string =>
  text.replace(/[^\n\t]+/g, (part) => escapeUnsafe(part, (hex) => `\\u{${hex}}`))

/** JSON that a terminal can be shown as well: the same data, and whatever could redraw it or hide there as an escape. */
export const jsonText = (value: unknown, indent?: number): string =>
  JSON.stringify(value, undefined, indent).replace(/[^\n]+/g, (line) =>
    escapeUnsafe(line, (hex) =>
      String.fromCodePoint(parseInt(hex, 16))
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join(''),
    ),
  )

/** A TOML string to be pasted: whole, and with TOML's own escapes. */
export const tomlString = (text: string): string =>
  escapeUnsafe(JSON.stringify(text), (hex) =>
    hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`,
  )

/** Plain text stays as it was typed, so that messages can be compared and copied; anything else is quoted. */
export const show = (text: string): string =>
  text !== '' &&
  text.length <= LONGEST_SHOWN &&
  !text.search(/^[^\p{C}\p{Zl}\p{Zp}\p{DI}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"]+$/u) &&
  (PRINTABLE_ASCII.test(text) || !/(?<!\p{L}\p{M}{0,3})\p{M}/u.test(text))
    ? text
    : quote(text)

/** The same, however long it is: for what a person signs for, where nothing may be left out. */
export const showWhole = (text: string): string =>
  text.length <= LONGEST_SHOWN ? show(text) : escapeUnsafe(JSON.stringify(text), (hex) => `\\u{${hex}}`)

const LONGEST_SHOWN = 512

const clip = (text: string): string =>
  text.length <= LONGEST_SHOWN
    ? text
    : `${text.slice(0, LONGEST_SHOWN).toWellFormed()}… (${text.length} characters)`

/**
 * A word to be pasted, which a shell reads as it is: whole, and with nothing in it that the shell would run. Control
 * characters need `$'…'`; a shell that does not know it still runs nothing.
 */
export function shellWord(text: string): string {
  if (/^[\w.,/:@%+-]+$/.test(text)) return text
  if (!text.search(/^[^\p{C}\p{Zl}\p{Zp}\p{DI}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]*$/u))
    return `'${text.replaceAll("'", `'\\''`)}'`
  const escaped = text.replace(/[\\']/g, (c) => `\\${c}`)
  return `$'${escapeUnsafe(escaped, (hex) => (hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`))}'`
}

/** What a wrong value is, in a few words: never the value itself when it could be long. */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'string')
    return `the string ${quote(value.length > 40 ? `${value.slice(0, 40).toWellFormed()}…` : value)}`
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : `a ${typeof value}`
}
