import { isDeep, isTable, type Source } from '@cordon/config'
import {
  type ConfigEvents,
  type ConversationRef,
  eventsFile,
  readConfigEvents,
  UnreadableConversationError,
  type Workspace,
} from '@cordon/workspace'

/** SPEC 2, 2.1: what a conversation adds to the configuration. */
export interface ConversationLayer {
  readonly ref: ConversationRef
  /** What this user sealed: a person's word, one source an event, in the order of the events. */
  readonly sources: readonly Source[]
  /** What somebody else wrote there: files like any other. Undefined when there is nothing of the kind. */
  readonly foreign: ForeignLayer | undefined
}

/** To be laid below the sealed sources, once its text is trusted: what a person sealed keeps the last word. */
interface ForeignLayer {
  /** What it is trusted under: `conversations/<id>`. */
  readonly name: string
  /** Canonical JSON: what its digest is made over, and what its sources were read from. */
  readonly text: string
  readonly sources: readonly Source[]
  /** How many changes this user had sealed, when some of them are gone; else 0. Some may have taken access away. */
  readonly lost: number
}

export const readConversationLayer = async (
  workspace: Workspace,
  ref: ConversationRef,
): Promise<ConversationLayer> => layerOf(ref, await readConfigEvents(workspace, ref))

export function layerOf(
  ref: ConversationRef,
  { sealed, foreign, lost }: Pick<ConfigEvents, 'sealed' | 'foreign' | 'lost'>,
): ConversationLayer {
  return {
    ref,
    sources: sealed.map((delta) => ({ ...deltaSource(ref, delta), sealed: true })),
    foreign: foreign.length > 0 || lost ? foreignLayer(ref, foreign, lost) : undefined,
  }
}

/**
 * When sealed changes are lost, that is a part of the text: some may have taken access away, so a person decides about
 * their absence too, and anew when others are lost.
 */
function foreignLayer(
  ref: ConversationRef,
  foreign: ConfigEvents['foreign'],
  lost: ConfigEvents['lost'],
): ForeignLayer {
  const all = [...(lost ? [{ lost }] : []), ...foreign]
  if (all.some((each) => isDeep(each, DEEPEST)))
    throw new UnreadableConversationError(
      eventsFile(ref),
      'a change of the configuration is nested too deeply',
    )
  const lines = all.map(canonical)
  const text = `[\n${lines.join(',\n')}\n]\n`
  // The digest and the merge use the same bytes (SPEC 2.1).
  const deltas = (JSON.parse(text) as unknown[]).slice(lost ? 1 : 0)
  return {
    name: `conversations/${ref.id}`,
    text,
    sources: deltas.map((delta) => deltaSource(ref, delta)),
    lost: lost?.count ?? 0,
  }
}

/** More than the configuration takes anyway; what walks over a value may then simply recurse. */
const DEEPEST = 128

/** One text for one value: keys in order, no space. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isTable(value)) return JSON.stringify(value)
  const fields = Object.keys(value).toSorted()
  return `{${fields.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`
}

const deltaSource = ({ id }: Pick<ConversationRef, 'id'>, delta: unknown): Source => ({
  layer: 'conversation',
  label: `conversation ${id}`,
  key: [],
  value: delta,
})

/**
 * A conversation outlives the tools it once spoke of. What it says only about the access of a tool or server that is no
 * longer there would be an error for ever (SPEC 2: access without a source), so it is passed over (decision 0081).
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
