/**
 * All that could be a path in the arguments of a tool that is not ours: each key and each text as a whole, what stands in quotation
 * marks, and the words, also in the middle of a command line: `sh -c "cat <.env"`.
 */
export function wordsIn(args: unknown): readonly string[] | 'too many' {
  const words = new Set<string>()
  let characters = 0
  // No recursion: how deep the arguments are is for the caller to say.
  const todo: unknown[] = [args]
  while (todo.length > 0) {
    const value = todo.pop()
    if (typeof value === 'string') {
      characters += value.length
      if (characters > MOST_CHARACTERS) return 'too many'
      for (const word of [value, ...value.split(QUOTES), ...value.split(SEPARATORS)])
        if (word !== '') words.add(word)
      if (words.size > MOST_WORDS) return 'too many'
    } else if (Array.isArray(value)) for (const each of value) todo.push(each)
    else if (typeof value === 'object' && value !== null)
      for (const [key, each] of Object.entries(value)) todo.push(key, each)
  }
  return [...words]
}

const QUOTES = /["'`]/
const SEPARATORS = /[\s"'`=,;:|&<>(){}[\]]+/

/** Each is looked up on the disk. A text of this many different words is no command line. */
const MOST_WORDS = 20_000
const MOST_CHARACTERS = 1_000_000
