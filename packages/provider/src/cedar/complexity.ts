/**
 * Cedar's WebAssembly has a stack of a megabyte and recurses over a policy. When that overflows, its memory is
 * damaged, and with it every later decision (decision 0163). So the text is measured before Cedar sees it, at
 * a fraction of what was found to overflow: 128 brackets, 600 `else`, 2,000 of the others, 3,000 items of a set.
 */
const MOST_NESTED = 32
const MOST_OPERATORS = 256
const MOST_ITEMS = 1000

const TOKENS = /\/\/[^\n]*|"(?:\\[^]|[^"\\])*"|&&|\|\||\belse\b|[()[\]{}.,!+*;\n-]/g

/** The line at which a statement becomes too complex for Cedar; undefined if none does. */
export function tooComplexAt(text: string): number | undefined {
  let line = 1
  let depth = 0
  let operators = 0
  let items = 0
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '\n') line++
    else if (token.startsWith('"')) line += token.split('\n').length - 1
    else if (token.startsWith('//')) continue
    else if ('([{'.includes(token)) depth++
    else if (')]}'.includes(token)) depth--
    else if (token === ';') depth = operators = items = 0
    else if (token === ',') items++
    else operators++
    if (depth > MOST_NESTED || operators > MOST_OPERATORS || items > MOST_ITEMS) return line
  }
  return undefined
}
