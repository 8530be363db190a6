import { type StoredEvent } from './events.ts'
import { readLog } from './log-reader.ts'
import { assertInPlace, type ConversationRef, eventsFile } from './shelf.ts'

/** The events of one conversation, in order. */
export async function* readConversation(ref: ConversationRef): AsyncGenerator<StoredEvent> {
  assertInPlace(ref)
  for await (const { event } of readLog(eventsFile(ref), { tooLong: 'note' })) yield event
}

export interface Hit {
  readonly conversation: ConversationRef
  /** The line of `events.jsonl`, counted from 1. */
  readonly line: number
  readonly kind: string
  /** The one line of text that matched. */
  readonly text: string
}

/** Every line of text in any event for which `matches` says so. Payloads in the blob store are not searched. */
export async function* grepConversations(
  refs: readonly ConversationRef[],
  matches: (text: string) => boolean,
): AsyncGenerator<Hit> {
  for (const conversation of refs) {
    assertInPlace(conversation)
    for await (const { event, number } of readLog(eventsFile(conversation), { tooLong: 'note' }))
      for (const text of linesIn(event.kind === 'unknown' ? event.stored : event))
        if (matches(text)) yield { conversation, line: number, kind: kindOf(event), text }
  }
}

function kindOf(event: StoredEvent): string {
  if (event.kind !== 'unknown') return event.kind
  const { kind } = event.stored
  return typeof kind === 'string' ? kind : 'unknown'
}

const NOT_CONTENT = new Set(['kind', 'at', 'id', '$blob'])

function* linesIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield* value.split('\n')
  else if (Array.isArray(value)) for (const item of value) yield* linesIn(item)
  else if (typeof value === 'object' && value !== null)
    for (const [name, item] of Object.entries(value)) if (!NOT_CONTENT.has(name)) yield* linesIn(item)
}
