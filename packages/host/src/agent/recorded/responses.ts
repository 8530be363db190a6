import { argumentsText, piecesOf, type RecordedStep } from './script.ts'
import type { WireEvent } from './server.ts'

/** OpenAI's own `responses`, streamed. */
export function responsesStream({ text = '', calls = [], stop }: RecordedStep): WireEvent[] {
  const named = (data: { readonly type: string } & Record<string, unknown>): WireEvent => ({
    event: data.type,
    data,
  })
  const message = { type: 'message', id: 'msg_recorded', role: 'assistant', status: 'completed', content: [] }
  const texts =
    text === ''
      ? []
      : [
          named({ type: 'response.output_item.added', output_index: 0, item: message }),
          ...piecesOf(text).map((delta) => ({
            ...named({
              type: 'response.output_text.delta',
              item_id: message.id,
              output_index: 0,
              content_index: 0,
              delta,
            }),
            isText: true,
          })),
          named({ type: 'response.output_item.done', output_index: 0, item: message }),
        ]
  const called = calls.flatMap(({ tool, arguments: args }, i) => {
    const item = {
      type: 'function_call',
      id: `fc_${i}`,
      call_id: `recorded-${i}`,
      name: tool,
      status: 'completed',
    }
    const at = { output_index: i + 1 }
    const whole = { ...item, arguments: argumentsText(args) }
    return [
      named({ type: 'response.output_item.added', ...at, item: { ...item, arguments: '' } }),
      named({
        type: 'response.function_call_arguments.delta',
        ...at,
        item_id: item.id,
        delta: whole.arguments,
      }),
      named({ type: 'response.output_item.done', ...at, item: whole }),
    ]
  })
  const usage = { input_tokens: 100, output_tokens: 20, total_tokens: 120 }
  const end = stop
    ? named({
        type: 'response.incomplete',
        response: { incomplete_details: { reason: 'max_output_tokens' }, usage },
      })
    : named({ type: 'response.completed', response: { incomplete_details: null, usage } })
  return [
    named({ type: 'response.created', response: { id: 'resp_recorded', created_at: 0, model: 'recorded' } }),
    ...texts,
    ...called,
    end,
  ]
}
