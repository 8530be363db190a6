import { basename, join } from 'node:path'

/**
 * Every absolute path that a word of a call may be taken for. Our own tools take it as it stands, below the workspace; others
 * expand `~`, read a URL, decode it, take what is behind `@` as curl does, or what is glued to an option (`-f.env`). For the
 * kernel `..` is the parent of where a link leads; many programs, and our tools, take it out before they look: both are tried.
 */
export function readingsOf(word: string, root: string, home: string): readonly string[] {
  const whole = word.startsWith('/') ? word : `${root}/${word}`
  return isPlain(word) && !whole.includes('..') ? [join(whole)] : everyReading(word, root, home)
}

/** Most words. Nobody expands, decodes or takes off anything of it, so all readings are one. */
const isPlain = (word: string): boolean => /^[\w./][\w ./-]*$/.test(word)

/** The definition. */
export function everyReading(word: string, root: string, home: string): readonly string[] {
  const parts = [word, ...behindOption(word)]
  const spelled = parts.flatMap((text) => [
    text,
    decoded(text),
    text.replace(/^[@!+#]+/, ''),
    text.slice(text.lastIndexOf('@') + 1),
    text.replaceAll('\\', '/'),
  ])
  const taken = spelled.flatMap((text) => [text, expanded(text, home)]).filter((text) => text !== '')
  const given = new Set(taken.map((text) => (text.startsWith('/') ? text : `${root}/${text}`)))
  return [...new Set([...given].flatMap((path) => (path.includes('..') ? [join(path), path] : [join(path)])))]
}

/** Behind the letter of an option, or from where a path may begin: `-fdocs/x`, `--env-file.env`, `-d@/x`. */
function behindOption(word: string): readonly string[] {
  if (!word.startsWith('-')) return []
  const start = word.search(/[./~@]/)
  return [word.slice(2), ...(start > 0 ? [word.slice(start)] : [])]
}

function expanded(text: string, home: string): string {
  const path = text.replace(/^[a-z][\w+.-]*:\/\/[^/]*(?=\/)/i, '').replace(/^file:(?:\/\/)?/i, '')
  const tilde = ['~', `~${basename(home)}`].find((each) => path === each || path.startsWith(`${each}/`))
  return tilde === undefined ? path : home + path.slice(tilde.length)
}

/** Once and twice: who decodes what was decoded is not rare. What is no URL has single bytes decoded all the same. */
function decoded(text: string): string {
  if (!text.includes('%')) return text
  const once = decodedOnce(text)
  return once.includes('%') ? decodedOnce(once) : once
}

function decodedOnce(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text.replace(/%([2-7][\da-f])/gi, (_, hex: string) =>
      String.fromCodePoint(Number.parseInt(hex, 16)),
    )
  }
}
