/**
 * A command as a person writes it: words, quoted where they need it. Nothing is expanded, because no shell will see it.
 * Pure; a problem is a sentence.
 */
export function splitWords(text: string): readonly string[] | { readonly problem: string } {
  const words: string[] = []
  let word: string | undefined
  for (let rest = text; rest !== '';) {
    const token = TOKEN.exec(rest)?.groups
    if (!token) return { problem: problemAt(rest) }
    rest = rest.slice(token['all']!.length)
    if (token['space'] !== undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + valueOf(token)
  }
  return word === undefined ? words : [...words, word]
}

/** One spelling for one command, so that the same one has the same URI. */
export const joinWords = (words: readonly string[]): string =>
  words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`))
    .join(' ')

type Token = Readonly<Record<string, string | undefined>>

const TOKEN =
  /^(?<all>(?<space>\s+)|'(?<single>[^']*)'|"(?<double>(?:[^"\\]|\\.)*)"|\\(?<escaped>.)|(?<plain>[^\s'"\\|&;<>()$`]+))/s

function valueOf({ single, double, escaped, plain }: Token): string {
  return single ?? double?.replace(/\\(["\\])/g, '$1') ?? escaped ?? plain ?? ''
}

function problemAt(rest: string): string {
  const [first = ''] = rest
  return /['"\\]/.test(first)
    ? 'a quote is not closed'
    : `there is no shell, so ${first} means nothing; quote it, or write command:sh -c '…'`
}
