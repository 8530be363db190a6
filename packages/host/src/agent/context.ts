import type {
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider'
import type { ConversationEvent, JsonObject, Resource, StoredEvent } from '@cordon/workspace'
import { deliverBlocks, type DeliveredBlock, readBlocks } from '../attachment/blocks.ts'
import { ContextFullError, type Room } from './errors.ts'

/** What a request is made of. */
export interface ContextOptions {
  readonly system: string
  readonly room: Room
  /** The content of a block, or undefined when it cannot be had any more. */
  readonly read: (resource: Resource) => Promise<Buffer | undefined>
  /** Signed reasoning is only for who signed it. */
  readonly isOwn: (model: string | undefined) => boolean
}

export interface Assembled {
  readonly prompt: LanguageModelV4Prompt
  /** What is not in it, in words for people; empty when everything is. */
  readonly leftOut: readonly string[]
}

type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart
type Message = LanguageModelV4Prompt[number]

/** One message with what it costs, and how it can be made smaller. */
interface Piece {
  readonly turn: number
  message: Message
  tokens: number
  readonly result?: ResultPiece
}

/** A tool's result, which may stand there in part, or as a reference. */
interface ResultPiece {
  readonly tool: string
  readonly text: string
  readonly message: (text: string) => Message
  /** The model has not had it yet: it never gets a reference instead. */
  readonly isNew: boolean
}

/**
 * SPEC 6.5: the request that a conversation comes to. Bounded: the oldest large results of tools give way first, then whole
 * turns from the beginning; of the last turn, results that the model has not had yet stand there in part (decision 0371). One
 * pass over the events.
 */
export async function assembleContext(
  events: readonly StoredEvent[],
  options: ContextOptions,
): Promise<Assembled> {
  const pieces = await piecesOf(events, options)
  const leftOut = fit(pieces, tokensOf(options.system), options.room)
  const system: Message = { role: 'system', content: options.system, providerOptions: CACHED }
  const messages = joined(pieces.map(({ message }) => message))
  const last = messages.at(-1)
  // What is the same in the next request ends here, and with the system prompt.
  if (last) messages[messages.length - 1] = { ...last, providerOptions: CACHED }
  return { prompt: [system, ...messages], leftOut }
}

/** Before it is in the log: this text fits into a request, alone. */
export function requireRoom(text: string, room: Room): void {
  const tokens = tokensOf(text)
  if (tokens > room.tokens) throw new ContextFullError(tokens, room)
}

const CACHED = { anthropic: { cacheControl: { type: 'ephemeral' } } }

async function piecesOf(events: readonly StoredEvent[], { read, isOwn }: ContextOptions): Promise<Piece[]> {
  const blocks = deliveredIn(await readBlocks(each(events)))
  const answered = new Set(events.flatMap((event) => (event.kind === 'tool_result' ? [event.id] : [])))
  const repeated = repeatedIn(events)
  const toolOf = new Map<string, string>()
  const pieces: Piece[] = []
  let turn = 0
  /** Whether the answer that calls belong to is this model's own. */
  let isOwnAnswer = false
  const add = (message: Message, result?: ResultPiece): void =>
    void pieces.push({ turn, message, tokens: tokensOf(message), ...(result ? { result } : {}) })
  const lastReply = events.findLastIndex(({ kind }) => kind === 'response')
  // A crash came between: what became of these nobody knows, and every call needs an answer.
  let unanswered: { readonly id: string; readonly tool: string }[] = []
  const answerAll = (): void => {
    for (const { id, tool } of unanswered) add(resultMessage(id, tool, 'error', UNKNOWN_OUTCOME))
    unanswered = []
  }
  for (const [i, event] of events.entries()) {
    if (event.kind !== 'tool_call' && event.kind !== 'tool_result') answerAll()
    switch (event.kind) {
      case 'turn':
        turn++
        break
      case 'request':
      case 'attach': {
        const attached = await Promise.all(blocks(event.resources).map((block) => userPart(block, read)))
        const text: UserPart[] =
          event.kind === 'request' && !repeated.has(event) ? [{ type: 'text', text: event.text }] : []
        const content = [...attached.flat(), ...text]
        if (content.length > 0) add({ role: 'user', content })
        break
      }
      case 'response':
        isOwnAnswer = isOwn(event.model)
        add({ role: 'assistant', content: assistantParts(event, isOwnAnswer) })
        break
      case 'tool_call':
        toolOf.set(event.id, event.tool)
        add({
          role: 'assistant',
          content: [
            {
              type: 'tool-call',
              toolCallId: event.id,
              toolName: event.tool,
              input: event.arguments,
              ...(isOwnAnswer && isMetadata(event.provider) ? { providerOptions: event.provider } : {}),
            },
          ],
        })
        if (!answered.has(event.id)) unanswered.push(event)
        break
      case 'tool_result': {
        const tool = toolOf.get(event.id)
        if (tool === undefined) break // an answer to nothing would make the provider refuse all of it
        const parts = await Promise.all(blocks(event.resources).map((block) => textOfBlock(block, read)))
        const text = joinedParts(event.text, parts)
        const message = (shown: string): Message => resultMessage(event.id, tool, event.outcome, shown)
        add(message(text), text.length > LARGE ? { tool, text, message, isNew: i > lastReply } : undefined)
        break
      }
      case 'inquiry':
      case 'config':
      case 'detach':
      case 'note':
      case 'unknown':
        break
    }
  }
  answerAll()
  return pieces
}

/** Questions that nobody answered, and that were asked again in the same words: those are sent once. What was attached stays. */
function repeatedIn(events: readonly StoredEvent[]): ReadonlySet<StoredEvent> {
  const repeated = new Set<StoredEvent>()
  let asked: Extract<StoredEvent, { kind: 'request' }> | undefined
  for (const event of events) {
    if (event.kind === 'response' || event.kind === 'tool_call') asked = undefined
    if (event.kind !== 'request') continue
    if (asked?.text === event.text) repeated.add(asked)
    asked = event
  }
  return repeated
}

/** Smaller ones are not worth a reference. */
const LARGE = 2000

export const UNKNOWN_OUTCOME =
  'the program ended before the result was known: it may have been done, in part or not at all'

// oxlint-disable-next-line require-await
async function* each<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values
}

/** SPEC 6.3: how each block is delivered. A resource object stands for its place in the log. */
function deliveredIn(all: Parameters<typeof deliverBlocks>[0]) {
  const byResource = new Map<Resource, DeliveredBlock>()
  for (const block of deliverBlocks(all)) byResource.set(block.resource, block)
  return (resources: readonly Resource[]): DeliveredBlock[] =>
    resources.map((resource) => byResource.get(resource)!)
}

async function textOfBlock(block: DeliveredBlock, read: ContextOptions['read']): Promise<string> {
  const { delivery, resource } = block
  if (delivery.kind === 'detached') return ''
  if (delivery.kind === 'reference') return delivery.text
  return textOfResource(resource, read)
}

/** All that a model is told of a tool's result: what a person hands over is what they saw (SPEC 6.5). */
export async function wholeResult(
  { text, resources }: { readonly text: string; readonly resources: readonly Resource[] },
  read: ContextOptions['read'],
): Promise<string> {
  return joinedParts(text, await Promise.all(resources.map((resource) => textOfResource(resource, read))))
}

const joinedParts = (text: string, parts: readonly string[]): string =>
  [text, ...parts].filter((part) => part !== '').join('\n')

async function textOfResource(resource: Resource, read: ContextOptions['read']): Promise<string> {
  const content = await read(resource)
  if (!content) return `[${resource.uri}: its content cannot be read any more]`
  return isText(resource)
    ? `<resource uri=${JSON.stringify(resource.uri)}>\n${content.toString('utf8')}\n</resource>`
    : `[${resource.uri}: ${content.length} bytes of ${resource.mimeType ?? 'unknown content'}]`
}

const isText = ({ text }: Resource): boolean => text !== undefined

async function userPart(block: DeliveredBlock, read: ContextOptions['read']): Promise<UserPart[]> {
  const { delivery, resource } = block
  const { mimeType, uri } = resource
  if (delivery.kind === 'full' && !isText(resource) && mimeType !== undefined && SEEN.test(mimeType)) {
    const content = await read(resource)
    if (content)
      return [
        { type: 'text', text: `[${uri}:]` },
        { type: 'file', data: { type: 'data', data: content.toString('base64') }, mediaType: mimeType },
      ]
  }
  const text = await textOfBlock(block, read)
  return text === '' ? [] : [{ type: 'text', text }]
}

/** What models can look at. */
const SEEN = /^(?:image\/(?:png|jpeg|gif|webp)|application\/pdf)$/

function assistantParts(
  { text, provider }: Extract<ConversationEvent, { kind: 'response' }>,
  isOwn: boolean,
): Extract<Message, { role: 'assistant' }>['content'] {
  const reasoning =
    isOwn && Array.isArray(provider?.['reasoning']) ? provider['reasoning'].filter(isThought) : []
  return [
    ...reasoning.map(({ text: thought, metadata }) => {
      return { type: 'reasoning', text: thought, providerOptions: metadata } as const
    }),
    ...(text === '' ? [] : [{ type: 'text', text } as const]),
  ]
}

/** A log may have been written by others. */
const isThought = (
  value: unknown,
): value is { readonly text: string; readonly metadata: Record<string, JsonObject> } =>
  typeof value === 'object' &&
  value !== null &&
  'text' in value &&
  typeof value.text === 'string' &&
  'metadata' in value &&
  isMetadata(value.metadata)

/** By provider, and nothing that its library would write over a message of ours: no provider sends that. */
const isMetadata = (value: unknown): value is Record<string, JsonObject> =>
  isObject(value) && !Object.hasOwn(value, 'openaiCompatible') && Object.values(value).every(isObject)

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const resultMessage = (id: string, tool: string, outcome: string, text: string): Message => ({
  role: 'tool',
  content: [
    {
      type: 'tool-result',
      toolCallId: id,
      toolName: tool,
      output: { type: outcome === 'success' ? 'text' : 'error-text', value: text },
    },
  ],
})

/** A guess that is rather too high: nobody but the provider knows its tokens. */
function tokensOf(value: string | Message): number {
  if (typeof value === 'string') return Math.ceil(Buffer.byteLength(value) / BYTES_A_TOKEN)
  if (typeof value.content === 'string') return tokensOf(value.content)
  let tokens = 0
  for (const part of value.content)
    tokens += part.type === 'file' ? FILE_TOKENS : tokensOf(JSON.stringify(part))
  return tokens
}

const BYTES_A_TOKEN = 3
/** A picture or a page costs about that much, whatever its bytes. */
const FILE_TOKENS = 2500

/** Changes the pieces until they fit. Says what it did. */
function fit(pieces: Piece[], system: number, whole: Room): string[] {
  const most = whole.tokens
  let total = pieces.reduce((sum, piece) => sum + piece.tokens, system)
  const put = (piece: Piece, text: string): void => {
    total -= piece.tokens
    piece.message = piece.result!.message(text)
    piece.tokens = tokensOf(piece.message)
    total += piece.tokens
  }
  const last = pieces.at(-1)?.turn ?? 0
  const gone: ResultPiece[] = []
  for (const piece of pieces) {
    if (total <= most) break
    if (!piece.result || piece.result.isNew) continue
    put(piece, referenceTo(piece.result))
    gone.push(piece.result)
  }
  // One enormous result must not cost the whole conversation: at first it gives way down to half of the room.
  const unseen = pieces.filter(({ result }) => result?.isNew)
  const cut = new Set<ResultPiece>()
  const cutTo = (room: number): void => {
    const share = shareOf(unseen, room)
    for (const piece of unseen) {
      if (piece.tokens <= share) continue
      cut.add(piece.result!)
      for (let keep = piece.result!.text.length; piece.tokens > share && keep > LEAST_KEPT;) {
        keep = Math.max(LEAST_KEPT, Math.floor(keep * Math.min(0.9, share / piece.tokens)))
        put(piece, partOf(piece.result!, keep))
      }
    }
  }
  const others = (): number => total - unseen.reduce((sum, piece) => sum + piece.tokens, 0)
  if (total > most) cutTo(Math.max(most - others(), most / 2))
  const turns = new Set<number>()
  while (total > most && pieces.length > 0 && pieces[0]!.turn !== last) {
    const { turn } = pieces[0]!
    const end = pieces.findIndex((piece) => piece.turn !== turn)
    for (const dropped of pieces.splice(0, end)) total -= dropped.tokens
    turns.add(turn)
  }
  if (total > most) cutTo(most - others())
  if (total > most) throw new ContextFullError(total, whole)
  return [
    ...(gone.length === 0 ? [] : [`the ${named(gone)}`]),
    ...(cut.size === 0 ? [] : [`the middle of the ${named([...cut])}`]),
    ...(turns.size === 0 ? [] : [`the first ${turns.size === 1 ? 'turn' : `${turns.size} turns`}`]),
  ]
}

const referenceTo = ({ tool, text }: ResultPiece): string =>
  `[the result of ${tool} was left out to save room: ${text.length} characters; call it again if it is needed, for less of it]`

/** Both ends: a listing begins with what it is, and an error stands at the end. */
function partOf({ text }: ResultPiece, keep: number): string {
  const head = Math.ceil((keep * 2) / 3)
  const left = text.length - keep
  return [
    text.slice(0, head).toWellFormed(),
    `\n[… ${left} of ${text.length} characters are left out here: all of it is more than may be sent. For the rest, ask for less at once: a range of lines or bytes, a filter, fewer files …]\n`,
    text.slice(head + left).toWellFormed(),
  ].join('')
}

const LEAST_KEPT = 500

/** How many tokens each may have, so that all of them have no more than `room`: the small ones leave theirs to the large ones. */
function shareOf(pieces: readonly Piece[], room: number): number {
  let left = room
  const sizes = pieces.map(({ tokens }) => tokens).toSorted((a, b) => a - b)
  for (const [i, size] of sizes.entries()) {
    const share = left / (sizes.length - i)
    if (size > share) return Math.max(0, share)
    left -= size
  }
  return Infinity
}

/** `results of read (30,000 characters), grep (…)`. */
function named(results: readonly ResultPiece[]): string {
  const first = results.slice(0, MOST_NAMED).map(({ tool, text }) => {
    return `${tool} (${text.length.toLocaleString('en')} characters)`
  })
  const more = results.length - first.length
  return `${results.length === 1 ? 'result' : 'results'} of ${first.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

const MOST_NAMED = 5

/** Providers want one message for each time somebody speaks. */
function joined(messages: readonly Message[]): Message[] {
  const all: Message[] = []
  for (const message of messages) {
    const before = all.at(-1)
    if (message.content.length === 0) continue
    if (before?.role !== message.role || before.role === 'system') all.push(message)
    // Of one role, so of one kind of parts.
    else
      all[all.length - 1] = { ...before, content: before.content.concat(message.content as never) } as Message
  }
  return all
}
