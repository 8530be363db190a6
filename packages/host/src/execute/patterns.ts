import { CordonError, quote } from '@cordon/policy'
import type { PatternTest } from '@cordon/tools'

/** An expression that cannot be run in linear time (back references, look-around), or is none. */
class PatternError extends CordonError {
  readonly code = 'PATTERN'
}

/**
 * Patterns meet texts that a model wrote, so they run on RE2's algorithm (decision 0101): no pattern can take longer
 * than linear time. Loaded only for tools that have one.
 */
export async function loadPatternTest(used: unknown): Promise<PatternTest> {
  if (!mentionsPattern(used)) return refuseAll
  const { RE2JS } = await import('re2js')
  const compiled = new Map<string, { readonly test: (text: string) => boolean }>()
  return (pattern, text) => {
    let expression = compiled.get(pattern)
    if (!expression) compiled.set(pattern, (expression = compile(RE2JS, pattern)))
    return expression.test(text)
  }
}

const refuseAll: PatternTest = (pattern) => {
  throw new PatternError(`the pattern ${quote(pattern)} was not loaded`)
}

function compile(
  engine: typeof import('re2js').RE2JS,
  pattern: string,
): { readonly test: (text: string) => boolean } {
  try {
    const expression = engine.compile(pattern)
    return { test: (text) => expression.matcher(text).find() }
  } catch (error) {
    throw new PatternError(
      `the pattern ${quote(pattern)} is not one that runs in linear time: ${error instanceof Error ? error.message : String(error)}\n` +
        '  fix: write it without back references and look-around',
    )
  }
}

/** Cheaper than loading an engine that most tools never need. Found out once of each schema: it is asked before every call. */
function mentionsPattern(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const found = mentioning.get(value) ?? JSON.stringify(value).includes('pattern')
  mentioning.set(value, found)
  return found
}

const mentioning = new WeakMap<object, boolean>()
