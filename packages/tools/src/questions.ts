import { type ToolIo, type ToolResult } from './protocol.ts'

/** The id of the one question these tools ask. */
const OVERWRITE = 'overwrite'

export type Consent =
  | { readonly kind: 'given' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'ask'; readonly result: ToolResult }

/** Whether something that exists may be replaced: by the argument, by an answer, or it must be asked. */
export function mayOverwrite(
  given: boolean | undefined,
  { answers, asked }: ToolIo,
  question: string,
): Consent {
  if (given === true) return { kind: 'given' }
  // What it was said to may be another file by now (decision 0408).
  const isOther = Object.hasOwn(asked, OVERWRITE) && asked[OVERWRITE] !== question
  const answer = given ?? (isOther ? undefined : answers[OVERWRITE])
  if (answer === undefined)
    return {
      kind: 'ask',
      result: {
        type: 'needs_input',
        question: {
          id: OVERWRITE,
          text: question,
          answer_type: 'boolean',
          default: false,
          argument: 'overwrite',
        },
      },
    }
  // Only a plain yes: anything else that came back is a no.
  return answer === true ? { kind: 'given' } : { kind: 'refused' }
}
