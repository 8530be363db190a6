import { argumentsText, piecesOf, type RecordedStep } from './script.ts'
import type { WireEvent } from './server.ts'

/** `streamGenerateContent`, as server-sent events. */
export function googleStream({ text = '', calls = [], stop }: RecordedStep): WireEvent[] {
  const chunk = (parts: readonly object[], more: object = {}): WireEvent => ({
    data: { candidates: [{ index: 0, content: { role: 'model', parts }, ...more }] },
  })
  return [
    ...piecesOf(text).map((piece) => ({ ...chunk([{ text: piece }]), isText: true })),
    ...calls.map(({ tool, arguments: args }) =>
      chunk([{ functionCall: { name: tool, args: JSON.parse(argumentsText(args)) as object } }]),
    ),
    {
      data: {
        candidates: [
          { index: 0, content: { role: 'model', parts: [] }, finishReason: stop ? 'MAX_TOKENS' : 'STOP' },
        ],
        usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 },
      },
    },
  ]
}
