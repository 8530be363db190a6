import { argumentsText, piecesOf, type RecordedStep, USUAL } from './script.ts'
import type { WireEvent } from './server.ts'

/** Messages, streamed. */
export function anthropicStream({
  text = '',
  reasoning,
  redacted,
  calls = [],
  stop,
  tokens = USUAL,
}: RecordedStep): WireEvent[] {
  const named = (data: { readonly type: string } & Record<string, unknown>): WireEvent => ({
    event: data.type,
    data,
  })
  const blocks: WireEvent[][] = []
  const block = (start: object, deltas: readonly object[], isText = false): void => {
    const index = blocks.length
    blocks.push([
      named({ type: 'content_block_start', index, content_block: start }),
      ...deltas.map((delta) => ({ ...named({ type: 'content_block_delta', index, delta }), isText })),
      named({ type: 'content_block_stop', index }),
    ])
  }
  if (reasoning !== undefined)
    block({ type: 'thinking', thinking: '', signature: '' }, [
      { type: 'thinking_delta', thinking: reasoning },
      { type: 'signature_delta', signature: 'c2lnbmVk' },
    ])
  if (redacted !== undefined) block({ type: 'redacted_thinking', data: redacted }, [])
  if (text !== '')
    block(
      { type: 'text', text: '' },
      piecesOf(text).map((piece) => ({ type: 'text_delta', text: piece })),
      true,
    )
  for (const [i, { tool, arguments: args }] of calls.entries())
    block({ type: 'tool_use', id: `toolu_recorded_${i}`, name: tool, input: {} }, [
      { type: 'input_json_delta', partial_json: argumentsText(args) },
    ])
  return [
    named({
      type: 'message_start',
      message: {
        id: 'msg_recorded',
        type: 'message',
        role: 'assistant',
        model: 'recorded',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: tokens.input, output_tokens: 1 },
      },
    }),
    ...blocks.flat(),
    named({
      type: 'message_delta',
      delta: {
        stop_reason: calls.length > 0 ? 'tool_use' : stop ? 'max_tokens' : 'end_turn',
        stop_sequence: null,
      },
      usage: { output_tokens: tokens.output },
    }),
    named({ type: 'message_stop' }),
  ]
}
