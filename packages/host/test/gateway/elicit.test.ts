import { expect, test } from 'vitest'
import { personBehind } from '../../src/gateway/elicit.ts'

type Context = Parameters<typeof personBehind>[1]
type Form = {
  readonly requestedSchema: { readonly properties: Record<string, { readonly default?: string }> }
}

/** A client whose person sends the form as it is, or with this answer. */
function client(answer?: string) {
  const presets: (string | undefined)[] = []
  const elicitInput = (form: Form): Promise<unknown> => {
    const preset = form.requestedSchema.properties['answer']?.default
    presets.push(preset)
    return Promise.resolve({ action: 'accept', content: { answer: answer ?? preset } })
  }
  const context = { mcpReq: { elicitInput } } as unknown as Context
  return { person: personBehind({ elicitation: {} }, context)!, presets }
}

const question = (preset: string) =>
  ({ id: 'q', text: 'Which?', answer_type: 'text', default: preset }) as const

test('decision 0449: a preset text is shown with nothing hidden, and the tool gets it as it was, or what was typed', async () => {
  const odd = 'one\n\u202etwo\u001b[2J'
  const sent = client()
  expect(await sent.person.answer('t', question(odd))).toBe(odd)
  expect(sent.presets).toEqual(['one \\u{202e}two\\u{1b}[2J'])
  expect(await client('three').person.answer('t', question(odd))).toBe('three')
  expect(await client().person.answer('t', question(''))).toBe('')
})
