/**
 * Text that every match of a pattern contains, so that files without it need not be searched. Only an
 * optimisation: when in doubt there is none, and ripgrep looks at everything.
 */
export function requiredLiteral(pattern: string): string | undefined {
  // A choice, a group or a flag could make any part optional or change what letters mean; the letters and
  // digits after these escapes belong to them.
  if (/[|()]|\\[xuUpP]/.test(pattern)) return undefined
  const runs: string[] = []
  let run = ''
  const endRun = (): void => {
    runs.push(run)
    run = ''
  }
  for (const [part = ''] of pattern.matchAll(PARTS)) {
    if (/^[*?{]/.test(part)) run = dropLast(run) // what went before may be missing altogether
    const literal = literalOf(part)
    if (literal === undefined) endRun()
    else run += literal
  }
  endRun()
  const longest = runs.reduce((best, next) => (next.length > best.length ? next : best), '')
  return longest.length >= SHORTEST ? longest : undefined
}

/** Shorter ones are in nearly every file, and looking for them costs more than it saves. */
const SHORTEST = 3

/** An escape, a class, a repetition, or one character. */
const PARTS = /\\.|\[\^?\]?(?:\\.|\[:[^\]]*:\]|[^\]])*\]|\{[^}]*\}|[\s\S]/gu

function literalOf(part: string): string | undefined {
  if (/^[\p{L}\p{N} _"'`<>=,;:!%&@/~#-]$/u.test(part)) return part
  // An escaped sign stands for itself; an escaped letter is a class, an assertion or a code.
  return /^\\[^\p{L}\p{N}<>]$/u.test(part) ? part.slice(1) : undefined
}

const dropLast = (run: string): string => Array.from(run).slice(0, -1).join('')
