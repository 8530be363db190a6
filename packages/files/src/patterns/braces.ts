import { GlobError } from './glob.ts'

const MOST_ALTERNATIVES = 256

/** A pair of braces that has none in it, and what is around it. */
const INNERMOST = /^((?:[^\\]|\\.)*?)\{((?:[^\\{}]|\\.)*)\}(.*)$/s

/** `*.{ts,tsx}` is two globs. Nesting multiplies, so there is an end to it. */
export function expandBraces(pattern: string): string[] {
  const done = new Set<string>()
  let todo = [pattern]
  while (todo.length > 0) {
    const next: string[] = []
    for (const text of todo) {
      const parts = INNERMOST.exec(text)
      if (parts) next.push(...(parts[2] ?? '').split(',').map((choice) => `${parts[1]}${choice}${parts[3]}`))
      else done.add(text)
    }
    todo = [...new Set(next)]
    if (todo.length + done.size > MOST_ALTERNATIVES)
      throw new GlobError(`its braces stand for more than ${MOST_ALTERNATIVES} patterns`)
  }
  return [...done]
}
