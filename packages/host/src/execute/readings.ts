import { join } from 'node:path'

/**
 * Every absolute path that a word of a call may be taken for. Our own tools take it as it stands, below the workspace; others
 * expand `~`, read a `file:` URL, decode it, or take what is behind `@` as curl does. For the kernel `..` is the parent of where
 * a link leads; many programs, and our tools, take it out before they look: both are tried.
 */
export function readingsOf(word: string, root: string, home: string): readonly string[] {
  const spelled = [word, decoded(word), word.replace(/^[@!+]/, ''), word.replaceAll('\\', '/')]
  const taken = spelled.flatMap((text) => [text, expanded(text, home)]).filter((text) => text !== '')
  const given = taken.map((text) => (text.startsWith('/') ? text : `${root}/${text}`))
  return [...new Set(given.flatMap((path) => (path.includes('..') ? [join(path), path] : [join(path)])))]
}

const expanded = (text: string, home: string): string =>
  text.replace(/^file:\/\/(?:localhost(?=\/))?/i, '').replace(/^~(?=\/|$)/, home)

function decoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text // no URL
  }
}
