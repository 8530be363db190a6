import { parse, TomlError } from 'smol-toml'
import { type Path } from '../layers.ts'

/**
 * `conversation.tools."My.Tool".run` as its segments. A TOML key, except that a bare `*` is allowed, because
 * that is how SPEC 2 and people write the defaults. Undefined when it is no key.
 */
export function parseKeyPath(text: string): readonly string[] | undefined {
  if (/[\n\r]/.test(text)) return undefined
  const quotedStars = text.replace(/(^|\.)\s*\*\s*(?=\.|$)/g, '$1"*"')
  try {
    return onlyPath(parse(`${quotedStars} = 0`))
  } catch (error) {
    if (error instanceof TomlError) return undefined
    throw error
  }
}

function onlyPath(table: unknown): string[] | undefined {
  const path: string[] = []
  for (let here = table; here !== 0;) {
    const entries = Object.entries(here as object)
    if (entries.length !== 1) return undefined
    path.push(entries[0]![0])
    here = entries[0]![1]
  }
  return path
}

/** As it would be written in TOML; list positions in brackets: `conversation.tools.x.access.fs[2].path`. */
export const formatKeyPath = (path: Path): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${formatKey(part)}`))
    .join('')
    .replace(/^\./, '')

/** One segment, quoted only where TOML needs it. */
export const formatKey = (name: string): string => (/^[A-Za-z0-9_-]+$/.test(name) ? name : formatString(name))

/** A basic string. Whatever could redraw a terminal or hide in an editor is escaped, which TOML allows everywhere. */
export const formatString = (text: string): string =>
  JSON.stringify(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => {
    const code = c.codePointAt(0)!.toString(16)
    return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`
  })
