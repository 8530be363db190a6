import type { Source } from '@cordon/config'
import { type ConversationRef, type JsonObject, readConversation } from '@cordon/workspace'

/** SPEC 2: what a conversation adds to the configuration: one source an event, in the order of the events. */
export interface ConversationLayer {
  readonly ref: ConversationRef
  readonly sources: readonly Source[]
}

export async function readConversationLayer(ref: ConversationRef): Promise<ConversationLayer> {
  const sources: Source[] = []
  for await (const event of readConversation(ref))
    if (event.kind === 'config') sources.push(deltaSource(ref, event.delta))
  return { ref, sources }
}

const deltaSource = ({ id }: Pick<ConversationRef, 'id'>, delta: JsonObject): Source => ({
  layer: 'conversation',
  label: `conversation ${id}`,
  key: [],
  value: delta,
})

/**
 * A conversation outlives the tools it once spoke of. What it says only about the access of a tool or server that is no
 * longer there would be an error for ever (SPEC 2: access without a source), so it is passed over.
 */
export function withoutGone(
  sources: readonly Source[],
  known: { readonly tools: ReadonlySet<string>; readonly servers: ReadonlySet<string> },
): readonly Source[] {
  return sources.map((source) =>
    'value' in source && source.key.length === 0
      ? { ...source, value: trimTable(trimTable(source.value, TOOLS, known.tools), SERVERS, known.servers) }
      : source,
  )
}

const TOOLS = ['conversation', 'tools']
const SERVERS = ['providers', 'mcp']

function trimTable(value: unknown, [key, ...rest]: readonly string[], known: ReadonlySet<string>): unknown {
  if (!isTable(value)) return value
  if (key === undefined)
    return Object.fromEntries(
      Object.entries(value).filter(([name, entry]) => known.has(name) || !saysOnlyAccess(entry)),
    )
  return Object.hasOwn(value, key) ? { ...value, [key]: trimTable(value[key], rest, known) } : value
}

const saysOnlyAccess = (entry: unknown): boolean =>
  isTable(entry) && Object.keys(entry).every((field) => field === 'access')

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
