import { checkSchema, misfits } from '@cordon/tools'
import type { JsonObject } from '@cordon/workspace'
import { loadPatternTest } from '../execute/patterns.ts'
import { AnswerSchemaError } from './errors.ts'

/** SPEC 6.5, `--schema`: the JSON of the answer, validated, or an error. Many models put it between fences, whatever they are told. */
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
  return json
}

/** SPEC 6.5: a schema that nothing can be checked against is refused before anybody is asked. Throws SchemaError, PatternError. */
export async function checkAnswerSchema(schema: JsonObject): Promise<void> {
  checkSchema(schema, await loadPatternTest(schema))
}
