import { isResource, type Json, type JsonObject, type Resource } from '../resources/resource.ts'

/** When it was written, ISO 8601 in UTC. */
interface Stamped {
  readonly at: string
}

/** A change of the conversation's configuration layer (SPEC 2), merged in order. */
export interface ConfigEvent extends Stamped {
  readonly kind: 'config'
  readonly delta: JsonObject
  /** SPEC 2.1: that this user made it, here. Written by the log's writer, never by who makes the event. */
  readonly seal?: string
}

/** A turn begins; it lasts until the next one. */
interface TurnEvent extends Stamped {
  readonly kind: 'turn'
}

interface RequestEvent extends Stamped {
  readonly kind: 'request'
  readonly text: string
  /** Cordon wrote it, to go on with a turn: no person said so. */
  readonly by?: 'cordon'
  readonly resources: readonly Resource[]
}

/** What a person attached outside a request. It goes to the model with the next one. */
interface AttachEvent extends Stamped {
  readonly kind: 'attach'
  readonly resources: readonly Resource[]
}

/**
 * The earlier blocks with this URI and content are no longer part of the conversation. The log only grows, so they stay
 * in it, and so does their content, until the conversation is removed.
 */
interface DetachEvent extends Stamped {
  readonly kind: 'detach'
  readonly uri: string
  readonly checksum: string
}

interface ResponseEvent extends Stamped {
  readonly kind: 'response'
  readonly text: string
  readonly model?: string
  /** Why it ended; `interrupted` when what was received was kept (SPEC 6.5). */
  readonly stop?: string
  /** What the provider needs to see again, such as signed reasoning. Opaque to Cordon. */
  readonly provider?: JsonObject
  /** In tokens, as the provider counted. */
  readonly usage?: {
    readonly input: number
    readonly cached: number
    readonly output: number
    /** It was stopped before it said what it took. */
    readonly partial?: true
  }
}

interface ToolCallEvent extends Stamped {
  readonly kind: 'tool_call'
  readonly id: string
  readonly tool: string
  readonly arguments: Json
  readonly provider?: JsonObject
}

interface ToolResultEvent extends Stamped {
  readonly kind: 'tool_result'
  /** Of the call it answers. */
  readonly id: string
  readonly outcome: 'success' | 'error' | 'denied' | 'skipped' | 'cancelled'
  readonly text: string
  readonly resources: readonly Resource[]
}

/** A question a tool asked, with its answer when there is one. Never a mount approval (SPEC 3.2). */
interface InquiryEvent extends Stamped {
  readonly kind: 'inquiry'
  readonly id: string
  readonly question: string
  readonly answer?: Json
}

/** Something the log says about itself: a recovered tail, where a fork came from. */
interface NoteEvent extends Stamped {
  readonly kind: 'note'
  readonly text: string
  /** It stands for a line that is too long to be read. */
  readonly left_out?: { readonly line: number; readonly bytes: number }
}

export type ConversationEvent =
  | ConfigEvent
  | TurnEvent
  | RequestEvent
  | AttachEvent
  | DetachEvent
  | ResponseEvent
  | ToolCallEvent
  | ToolResultEvent
  | InquiryEvent
  | NoteEvent

/** Of a kind, or in a shape, that this version does not know. Kept and passed over, never dropped. */
interface UnknownEvent {
  readonly kind: 'unknown'
  readonly stored: JsonObject
}

export type StoredEvent = ConversationEvent | UnknownEvent

/** Undefined when it is not even an object: then it is no event, and the line is damaged. */
export function parseEvent(value: unknown): StoredEvent | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return isKnown(value as Fields)
    ? (value as ConversationEvent)
    : { kind: 'unknown', stored: value as JsonObject }
}

type Fields = Readonly<Record<string, unknown>>

function isKnown(event: Fields): boolean {
  const shape =
    Object.hasOwn(SHAPES, String(event['kind'])) && SHAPES[event['kind'] as ConversationEvent['kind']]
  return (
    shape !== false && isText(event['at']) && Object.entries(shape).every(([name, fits]) => fits(event[name]))
  )
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isPresent = (value: unknown): boolean => value !== undefined
const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isResources = (value: unknown): boolean => Array.isArray(value) && value.every(isResource)

/** The fields an event must have. Others may be there: they are kept. */
const SHAPES: Readonly<
  Record<ConversationEvent['kind'], Readonly<Record<string, (value: unknown) => boolean>>>
> = {
  config: { delta: isObject },
  turn: {},
  request: { text: isText, resources: isResources },
  attach: { resources: isResources },
  detach: { uri: isText, checksum: isText },
  response: { text: isText },
  tool_call: { id: isText, tool: isText, arguments: isPresent },
  tool_result: { id: isText, outcome: isText, text: isText, resources: isResources },
  inquiry: { id: isText, question: isText },
  note: { text: isText },
}
