import type { Client, ClientCapabilities } from '@modelcontextprotocol/client'
import {
  type CreateMessageRequest,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { PATIENCE_MS } from './elicit.ts'
import { inOneLine, plainValue, questionOf } from './text.ts'

/** Of one server, at the same time: a person and a model have better things to do. */
const MOST_AT_ONCE = 2

/**
 * A server may ask the client for a sample of its model, or the person for an answer, as part of answering a call. The person
 * is told who asks; out of a call, or too often, nobody is asked. What the client cannot do was not offered to the server (decision 0232).
 */
export function askClient(
  server: string,
  client: Client,
  { sampling, elicitation }: ClientCapabilities,
  /** The call that is being answered. */
  current: () => ServerContext | undefined,
): void {
  let open = 0
  const ask = async <T>(question: (call: ServerContext) => Promise<T>): Promise<T> => {
    const call = current()
    if (!call) throw refused('a server may ask only while it answers a call')
    if (open >= MOST_AT_ONCE) throw refused('too many questions at once')
    open++
    try {
      return await question(call)
    } finally {
      open--
    }
  }
  if (sampling)
    client.setRequestHandler('sampling/createMessage', ({ params }) =>
      ask(({ mcpReq }) =>
        mcpReq.requestSampling(sampleFor(server, params, sampling), { signal: mcpReq.signal }),
      ),
    )
  if (elicitation)
    client.setRequestHandler('elicitation/create', ({ params }) => {
      if (params.mode === 'url') throw refused('a page to be opened is not passed on')
      const asked = {
        ...inOneLine(plainValue(params)),
        message: questionOf(`MCP server ${server}`, params.message),
      }
      return ask(({ mcpReq }) => mcpReq.elicitInput(asked, { signal: mcpReq.signal, timeout: PATIENCE_MS }))
    })
}

type Sample = CreateMessageRequest['params']

/** Whoever approves it sees who asks, first of all. What the client did not say it can do is not asked of it. */
export function sampleFor(
  server: string,
  params: Sample,
  { context, tools }: NonNullable<ClientCapabilities['sampling']>,
): Sample {
  const { includeContext, tools: offered, toolChoice, systemPrompt, ...rest } = plainValue(params)
  const who = `(asked by MCP server ${server}, through Cordon)`
  return {
    ...rest,
    systemPrompt: systemPrompt === undefined ? who : `${who}\n${systemPrompt}`,
    ...(includeContext === undefined || !context ? {} : { includeContext }),
    ...(offered === undefined || !tools ? {} : { tools: offered }),
    ...(toolChoice === undefined || !tools ? {} : { toolChoice }),
  }
}

const refused = (why: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidRequest, why)
