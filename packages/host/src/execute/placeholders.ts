import { CordonError, quote } from '@cordon/policy'

/** What a placeholder can name: exactly the object that the tool also gets on standard input (SPEC 6.5). */
export type CallData = Readonly<Record<string, unknown>>

class PlaceholderError extends CordonError {
  readonly code = 'PLACEHOLDER'
}

/**
 * Fills `{{tool.arguments.path}}` into the words of a command (decision 0102). Each word stays one word and what was
 * filled in is never read again, so no value can add a word, an option of its own or another placeholder.
 */
export function expandCommand(command: readonly string[], data: CallData): [string, ...string[]] {
  const [program = '', ...words] = command
  // Who chooses the program chooses what runs: that is the configuration, never the caller.
  if (/\{\{\s*tool\.(?:arguments|answers)\b/.test(program.replaceAll('{{{{', '')))
    throw new PlaceholderError(
      `the program ${quote(program)} may not depend on arguments or answers\n  fix: name the program, and use placeholders in the words after it`,
    )
  return [expand(program, data), ...words.map((word) => expand(word, data))]
}

/** `{{{{` is a literal `{{`; any other `{{` must begin a placeholder that ends in the same word. */
const TOKEN = /\{\{\{\{|\{\{([^{}]*)\}\}|\{\{/g

function expand(word: string, data: CallData): string {
  return word.replace(TOKEN, (token: string, inner: string | undefined) => {
    if (token === '{{{{') return '{{'
    if (inner === undefined || !PATH.test(inner.trim()))
      throw new PlaceholderError(
        `${quote(word)}: ${quote(token)} begins no placeholder\n  fix: write {{tool.arguments.NAME}}, or {{{{ for two braces`,
      )
    return textOf(lookUp(data, inner.trim(), word), inner.trim())
  })
}

/** Names and list positions, separated by dots. */
const PATH = /^[\w-]+(?:\.[\w-]+)*$/

function lookUp(data: CallData, path: string, word: string): unknown {
  let value: unknown = data
  for (const [i, name] of path.split('.').entries()) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) {
      const missing = path.split('.', i + 1).join('.')
      throw new PlaceholderError(`${quote(word)}: there is no ${missing} in this call`)
    }
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function textOf(value: unknown, path: string): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.includes('\0') || !text.isWellFormed())
    throw new PlaceholderError(`{{${path}}}: ${quote(text)} cannot be an argument of a program`)
  return text
}
