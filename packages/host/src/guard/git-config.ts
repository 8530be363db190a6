/** One line of a git configuration: `core.hookspath`, `submodule.libs/a.path` (decision 0149). */
export interface GitSetting {
  /** Section and name in lower case, as git compares them; a subsection as it is written. */
  readonly key: string
  /** Undefined: the name stands alone, which git reads as true. */
  readonly value: string | undefined
}

/**
 * Git's configuration syntax, as `config.c` of git reads it: character by character, so that what git obeys is found
 * however it is written, in linear time. Git refuses a file with a mistake in it; here what stands before the mistake
 * counts, because another version may read on.
 */
export function parseGitConfig(text: string): readonly GitSetting[] {
  const settings: GitSetting[] = []
  const from = new Reader(text)
  let section = ''
  for (;;) {
    const c = from.next()
    if (c === '') return settings
    if (isSpace(c)) continue
    if (c === '#' || c === ';') from.skipLine()
    else if (c === '[') {
      const named = readSection(from)
      if (named === undefined) return settings
      section = `${named}.`
    } else {
      const setting = isLetter(c) ? readSetting(from, section + c.toLowerCase()) : undefined
      if (!setting) return settings
      settings.push(setting)
    }
  }
}

/** Characters one by one. A line may end as in DOS; the end of the file ends its line, and is '' after that. */
class Reader {
  readonly #text: string
  #at: number

  constructor(text: string) {
    this.#text = text
    this.#at = text.startsWith('\uFEFF') ? 1 : 0
  }

  next(): string {
    const c = this.#text[this.#at] ?? ''
    this.#at++
    if (c !== '\r' || this.#text[this.#at] !== '\n') return c
    this.#at++
    return '\n'
  }

  skipLine(): void {
    const end = this.#text.indexOf('\n', this.#at)
    this.#at = end < 0 ? this.#text.length : end + 1
  }
}

/** After `[`: `core]`, `core.old]`, `submodule "libs/a"]`. */
function readSection(from: Reader): string | undefined {
  let name = ''
  for (;;) {
    const c = from.next()
    if (c === ']') return name
    if (isSpace(c)) return c === '\n' ? undefined : readSubsection(from, name)
    if (!isKeyCharacter(c) && c !== '.') return undefined
    name += c.toLowerCase()
  }
}

function readSubsection(from: Reader, section: string): string | undefined {
  let c = from.next()
  while (isSpace(c) && c !== '\n') c = from.next()
  if (c !== '"') return undefined
  let name = `${section}.`
  for (;;) {
    c = from.next()
    if (c === '"') return from.next() === ']' ? name : undefined
    if (c === '\\') c = from.next()
    if (c === '' || c === '\n') return undefined
    name += c
  }
}

function readSetting(from: Reader, start: string): GitSetting | undefined {
  let key = start
  let c = from.next()
  for (; isKeyCharacter(c); c = from.next()) key += c.toLowerCase()
  while (c === ' ' || c === '\t') c = from.next()
  if (c === '' || c === '\n') return { key, value: undefined }
  const value = c === '=' ? readValue(from) : undefined
  return value === undefined ? undefined : { key, value }
}

/** Quotes may begin and end anywhere in it; a comment, and a line that goes on, only outside and inside of them. */
function readValue(from: Reader): string | undefined {
  let value = ''
  let spaces = 0
  let quoted = false
  for (;;) {
    let c = from.next()
    if (c === '' || c === '\n') return quoted ? undefined : untilNul(value)
    if (isSpace(c) && !quoted) {
      if (value !== '') spaces++
      continue
    }
    if (!quoted && (c === ';' || c === '#')) {
      from.skipLine()
      return untilNul(value)
    }
    value += ' '.repeat(spaces)
    spaces = 0
    if (c === '"') {
      quoted = !quoted
      continue
    }
    if (c === '\\') {
      c = from.next()
      if (c === '' || c === '\n') continue
      const meant = ESCAPES[c]
      if (meant === undefined) return undefined
      c = meant
    }
    value += c
  }
}

const ESCAPES: Readonly<Record<string, string>> = { t: '\t', b: '\b', n: '\n', '\\': '\\', '"': '"' }

/** To git a value is a string of C. */
const untilNul = (value: string): string => value.split('\0', 1)[0]!

const isSpace = (c: string): boolean => c === ' ' || c === '\t' || c === '\n' || c === '\r'
const isLetter = (c: string): boolean => (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
const isKeyCharacter = (c: string): boolean => isLetter(c) || (c >= '0' && c <= '9') || c === '-'
