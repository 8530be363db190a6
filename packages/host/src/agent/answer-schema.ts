import { jsonText, show } from '@cordon/policy'
import { checkSchema, misfits } from '@cordon/tools'
import type { JsonObject } from '@cordon/workspace'
import { loadPatternTest } from '../execute/patterns.ts'
import { AnswerSchemaError } from './errors.ts'

/**
 * SPEC 6.5, `--schema`: the answer's value, validated, in JSON that we write ourselves (decision 0410); or an error. What a model wrote could be
 * read in two ways (a name twice), or redraw a terminal. Many put it between fences, whatever they are told.
 */
export async function checkAnswer(schema: JsonObject, text: string): Promise<string> {
  const json = /^\s*```(?:json)?[ \t]*\n([^]*?)\n?```\s*$/i.exec(text)?.[1] ?? text
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    throw new AnswerSchemaError([{ at: '', message: 'it is not JSON' }])
  }
  const problems = misfits(schema, value, await loadPatternTest(schema))
  if (problems.length > 0) throw new AnswerSchemaError(problems)
  const lost = json.match(TOKENS)?.find(isLost)
  if (lost !== undefined)
    throw new AnswerSchemaError([
      { at: '', message: `the number ${show(lost)} cannot be told exactly; a string can` },
    ])
  return jsonText(value)
}

/** Of JSON: its strings, and its numbers. */
const TOKENS = /"(?:[^"\\]+|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi

/** A number that most readers of JSON change without a word, as we would: what we write is another value. */
const isLost = (token: string): boolean =>
  !token.startsWith('"') && decimalOf(token) !== decimalOf(JSON.stringify(Number(token)))

/** One writing for each value: the digits between its outer zeros, and their exponent. Undefined for what is no number, as JSON's infinity. */
function decimalOf(number: string): string | undefined {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number)
  if (parts === null) return undefined
  const [, sign, whole, fraction = '', exponent = '0'] = parts
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/(?<!0)0+$/, '') // looks at each zero once
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

/** SPEC 6.5: a schema that nothing can be checked against is refused before anybody is asked. Throws SchemaError, PatternError. */
export async function checkAnswerSchema(schema: JsonObject): Promise<void> {
  checkSchema(schema, await loadPatternTest(schema))
}
