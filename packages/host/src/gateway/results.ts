import type { CallToolResult, GetPromptResult } from '@modelcontextprotocol/server'
import { show } from '@cordon/policy'
import type { HostPaths } from '@cordon/workspace'
import { boundContent, headOf } from '../execute/output.ts'
import { STANDARD_ERROR } from '../execute/process.ts'
import type { ContentBlock } from '../execute/result.ts'
import type { ToolOutcome } from '../execute/execute.ts'
import type { CallSecrets } from '../execute/secrets.ts'
import { shownValues } from '../execute/shown.ts'
import { notesOf } from '../mcp/diagnosis.ts'
import { ourText, plainText, plainValue, serverText, serverValue, toolText } from './text.ts'

type Content = CallToolResult['content'][number]

const textBlock = (text: string): Content => ({ type: 'text', text })

export const errorResult = (...texts: readonly string[]): CallToolResult => ({
  content: texts.map(textBlock),
  isError: true,
})

/**
 * What a local tool gave back, for a client. Everything is text that names the file it is about: a client that shows text
 * alone loses nothing. What hints tell of the host is not for a model, and left out.
 */
export function resultOfOutcome(
  { reply, notes, end, hints }: ToolOutcome,
  paths: Pick<HostPaths, 'workspaceUri'>,
): CallToolResult {
  const odd = notes.map((note) => textBlock(`note: ${note}`))
  const { refused = [], unreached = [] } = end ?? {}
  if (reply.type === 'success') {
    const ours = ourText(notesOf({ refused, unreached: [], hints: [] }, 'model'))
    return {
      content: [
        ...reply.content.flatMap((block) => asText(block, paths)),
        ...saidBeside(reply.stderr),
        ...odd,
        ...(ours === undefined ? [] : [textBlock(ours)]),
      ],
    }
  }
  const ours = ourText([
    ...(reply.transient ? ['the same call may work later'] : []),
    ...notesOf({ refused, unreached, hints }, 'model'),
  ])
  return errorResult([toolText(reply.message), ...(ours === undefined ? [] : [ours])].join('\n'), ...notes)
}

/** SPEC 6.5: what a tool that answers in plain text wrote to its standard error, marked as such. */
const saidBeside = (stderr: string | undefined): Content[] =>
  stderr === undefined ? [] : [textBlock(`${STANDARD_ERROR}:\n${stderr.trimEnd()}`)]

/**
 * SPEC 4.9: of what a search finds, or a link leads to, nobody was asked about. What may be secret is left out, and said: a call
 * that names it is asked about.
 */
export function withoutSecrets(outcome: ToolOutcome, secrets: Pick<CallSecrets, 'at'>): ToolOutcome {
  const { reply } = outcome
  if (reply.type !== 'success') return outcome
  const secret = (block: ContentBlock): block is Extract<ContentBlock, { type: 'resource' }> =>
    block.type === 'resource' && secrets.at(pathOf(block.resource.uri))
  const left = [...new Set(reply.content.filter(secret).map(({ resource }) => pathOf(resource.uri)))]
  if (left.length === 0) return outcome
  const names = `${left.slice(0, MOST_NAMES).map(show).join(', ')}${left.length > MOST_NAMES ? ', …' : ''}`
  return {
    ...outcome,
    reply: { ...reply, content: reply.content.filter((block) => !secret(block)) },
    notes: [
      ...outcome.notes,
      `left out, because it may be secret: ${names}; a person is asked about a call that names it as its path`,
    ],
  }
}

const MOST_NAMES = 10

/** Without the part of it that is shown. */
const pathOf = (uri: string): string => fileOf(uri.replace(/#[^#]*$/, ''))

function asText(block: ContentBlock, paths: Pick<HostPaths, 'workspaceUri'>): Content[] {
  if (block.type === 'text') return [textBlock(block.text)]
  const { text, blob, mimeType } = block.resource
  const uri = paths.workspaceUri(block.resource.uri)
  const name = fileOf(uri)
  if (text !== undefined) return [textBlock(`${name}:\n${text}`)]
  const size = Buffer.byteLength(blob ?? '', 'base64')
  const kind = mimeType ?? 'application/octet-stream'
  return [
    textBlock(`${name}: ${size} bytes that are no text (${kind})`),
    { type: 'resource', resource: { uri, mimeType: kind, blob: blob ?? '' } },
  ]
}

/** `file:///src/a.ts#L3` is `src/a.ts#L3`: the path as a tool is given it. */
function fileOf(uri: string): string {
  const path = /^file:\/\/\/(.*)$/s.exec(uri)?.[1]
  if (path === undefined) return uri
  try {
    return decodeURIComponent(path) || '.'
  } catch {
    return uri
  }
}

/** A server's answer, made safe to print, no larger than the tool may answer, and with what we know about a failure. */
export function resultOfServer(
  result: CallToolResult,
  most: number,
  notes: readonly string[],
): CallToolResult {
  const { content, cut } = boundResult(result.content.map(plainContent), most)
  const { structuredContent, _meta: meta } = result
  const fits = structuredContent === undefined || JSON.stringify(structuredContent).length <= most
  const metaFits = meta === undefined || JSON.stringify(meta).length <= LARGEST_META
  const said = [
    ...(cut === undefined ? [] : [cut]),
    ...(fits
      ? []
      : [`its data (structuredContent) is larger than ${most} bytes (max_output_bytes), and left out`]),
    ...(metaFits ? [] : [`its _meta is larger than ${LARGEST_META} bytes, and left out`]),
    ...notes,
  ]
  const ours = ourText(said)
  return {
    content: [...content, ...(ours === undefined ? [] : [textBlock(ours)])],
    ...(structuredContent === undefined || !fits ? {} : { structuredContent: plainValue(structuredContent) }),
    ...(result.isError === true || !fits ? { isError: true } : {}),
    ...(meta === undefined || !metaFits ? {} : { _meta: plainValue(meta) }),
  }
}

/** The contents of a resource, by the same rules. What was left out is said in a text of its own, at the same address. */
export function contentsOfServer(contents: readonly Resource[], most: number): readonly Resource[] {
  const blocks = contents.map((resource): Content => ({
    type: 'resource',
    resource: serverResource(resource),
  }))
  const { content, cut } = boundResult(blocks, most)
  const kept = content.flatMap((block) => (block.type === 'resource' ? [block.resource] : []))
  const ours = cut === undefined ? undefined : ourText([cut])
  return ours === undefined
    ? kept
    : [...kept, { uri: plainText(contents[0]?.uri ?? ''), mimeType: 'text/plain', text: ours }]
}

/** The messages of a prompt; what was left out is said in a last one. */
export function promptOfServer(result: GetPromptResult, most: number): GetPromptResult {
  const { messages, ...rest } = result
  const { content, cut, places } = boundResult(
    messages.map(({ content: block }) => plainContent(block)),
    most,
  )
  const kept = content.map((block, i) => ({ role: messages[places[i]!]!.role, content: block }))
  const ours = cut === undefined ? undefined : ourText([cut])
  return {
    ...serverValue(rest),
    messages: ours === undefined ? kept : [...kept, { role: 'user', content: { type: 'text', text: ours } }],
  }
}

/** What a server says went wrong, no longer than what it says went well. */
export function failureOfServer(message: string, most: number): string {
  const size = Buffer.byteLength(message)
  const text = serverText(headOf(message, most))
  const ours =
    size <= most ? undefined : ourText([`output cut: ${most} of ${size} bytes kept (max_output_bytes)`])
  return ours === undefined ? text : `${text}\n${ours}`
}

/** For a person who is asked whether it may be handed over: all that it is, each long text cut by itself, with its length. */
export function shownResult({ content, structuredContent }: CallToolResult): string {
  const blocks = content.map((block) => {
    if (block.type === 'text') return `${shownText(block.text)}\n`
    if (block.type === 'resource' && 'text' in block.resource)
      return `${show(block.resource.uri)}:\n${shownText(block.resource.text)}\n`
    const { data, resource, ...rest } = { data: undefined, resource: undefined, ...block }
    const size = Buffer.byteLength(data ?? (resource && 'blob' in resource ? resource.blob : ''), 'base64')
    return `${size > 0 ? `${size} bytes that are no text\n` : ''}${shownValues({ ...rest, ...(resource ? { uri: resource.uri } : {}) })}`
  })
  const structured = structuredContent === undefined ? [] : [`as data:\n${shownValues(structuredContent)}`]
  return [...blocks, ...structured].join('')
}

const LONGEST_SHOWN = 2000

const shownText = (text: string): string =>
  text.length <= LONGEST_SHOWN
    ? text
    : `${text.slice(0, LONGEST_SHOWN).toWellFormed()}… (${text.length} characters, the rest is not shown)`

/** What goes with a result is for programs; a little of it is enough. */
const LARGEST_META = 64 * 1024

/** Encoded data stays as it is: it is printed by nobody. All around it is text as any other. */
function plainContent(block: Content): Content {
  switch (block.type) {
    case 'text':
      return { ...plainValue({ ...block, text: '' }), text: serverText(block.text) }
    case 'resource_link':
      return { ...serverValue(block), uri: plainText(block.uri) }
    case 'image':
    case 'audio':
      return { ...plainValue({ ...block, data: '' }), data: block.data }
    case 'resource':
      return {
        ...plainValue({ ...block, resource: { uri: '', text: '' } }),
        resource: serverResource(block.resource),
      }
  }
}

const serverResource = (resource: Resource): Resource =>
  'text' in resource
    ? { ...plainResource(resource), text: serverText(resource.text) }
    : plainResource(resource)

type Resource = Extract<Content, { type: 'resource' }>['resource']

/** The contents of a resource, wherever they stand. */
const plainResource = <T extends { readonly uri: string }>(resource: T): T =>
  'blob' in resource
    ? { ...plainValue({ ...resource, blob: '' }), blob: resource.blob }
    : plainValue(resource)

interface BoundedResult {
  readonly content: readonly Content[]
  /** Of each that is left, which one it was. */
  readonly places: readonly number[]
  readonly cut: string | undefined
}

/** An empty one costs a client as much. */
const MOST_BLOCKS = 10_000

/** By the same rule as for local tools: texts are cut between characters, everything else is whole or not there. */
function boundResult(content: readonly Content[], most: number): BoundedResult {
  const few = content.slice(0, MOST_BLOCKS)
  const { content: kept, cut } = boundContent(few.map(asBounded), most)
  const more = content.length - few.length
  const tooMany = more === 0 ? undefined : `${more} of ${content.length} parts left out`
  const places = kept.map((block) => Number(uriOf(block)))
  if (cut === undefined) return { content: few, places, cut: tooMany }
  return {
    places,
    content: kept.map((block) => {
      const original = content[Number(uriOf(block))]!
      if (block.type === 'resource' && block.resource.blob !== undefined) return original
      const text = block.type === 'text' ? block.text : (block.resource.text ?? '')
      if (original.type === 'resource' && 'text' in original.resource)
        return { ...original, resource: { ...original.resource, text } }
      return textBlock(text)
    }),
    cut: tooMany === undefined ? cut : `${cut}; ${tooMany}`,
  }
}

/** Only its size counts; the address is its place in the list. */
function asBounded(block: Content, i: number): ContentBlock {
  const uri = `${i}`
  if (block.type === 'text') return { type: 'resource', resource: { uri, text: block.text } }
  if (block.type === 'resource' && 'text' in block.resource)
    return { type: 'resource', resource: { uri, text: block.resource.text } }
  const blob =
    block.type === 'resource'
      ? 'blob' in block.resource
        ? block.resource.blob
        : ''
      : 'data' in block
        ? block.data
        : JSON.stringify(block)
  return { type: 'resource', resource: { uri, blob } }
}

const uriOf = (block: ContentBlock): string => (block.type === 'resource' ? block.resource.uri : '')
