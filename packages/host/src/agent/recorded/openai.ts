import { argumentsText, piecesOf, type RecordedStep, USUAL } from './script.ts'
import type { WireEvent } from './server.ts'

/** Chat completions, streamed. */
export function openAiStream({
  text = '',
  reasoning,
  calls = [],
  stop,
  tokens: { input, output } = USUAL,
}: RecordedStep): WireEvent[] {
  const chunk = (delta: object, finish: string | null = null): WireEvent => ({
    data: {
      id: 'recorded',
      object: 'chat.completion.chunk',
      created: 0,
      model: 'recorded',
      choices: [{ index: 0, delta, finish_reason: finish }],
    },
  })
  return [
    chunk({ role: 'assistant', content: '' }),
    ...(reasoning === undefined ? [] : [chunk({ reasoning_content: reasoning })]),
    ...piecesOf(text).map((content) => ({ ...chunk({ content }), isText: true })),
    ...calls.map(({ tool, arguments: args }, index) =>
      chunk({
        tool_calls: [
          {
            index,
            id: `recorded-${index}`,
            type: 'function',
            function: { name: tool, arguments: argumentsText(args) },
          },
        ],
      }),
    ),
    chunk({}, calls.length > 0 ? 'tool_calls' : (stop ?? 'stop')),
    {
      data: {
        id: 'recorded',
        object: 'chat.completion.chunk',
        created: 0,
        model: 'recorded',
        choices: [],
        usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
      },
    },
    { data: '[DONE]' },
  ]
}
