import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { anthropicStream } from './anthropic.ts'
import { googleStream } from './google.ts'
import { openAiStream } from './openai.ts'
import { responsesStream } from './responses.ts'
import { type RecordedStep, type Script, stepOf } from './script.ts'

/** A request as it arrived: what was really sent is what a test looks at. */
export interface RecordedRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

/** One event of a stream; `pace` says that a person would see this piece come. */
export interface WireEvent {
  readonly event?: string
  readonly data: unknown
  readonly isText?: boolean
}

/**
 * A model that says what a script says, in the words of all four kinds of providers, on this machine's
 * loopback. For tests and `cordon demo`: the same client code talks to it as to a real one.
 */
export class RecordedModel implements AsyncDisposable {
  readonly requests: RecordedRequest[] = []
  readonly #server: Server
  readonly #script: Script
  readonly #onRequest: (request: RecordedRequest) => void

  private constructor(script: Script, onRequest: (request: RecordedRequest) => void) {
    this.#script = script
    this.#onRequest = onRequest
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
  }

  static async start(
    script: Script,
    onRequest: (request: RecordedRequest) => void = () => undefined,
  ): Promise<RecordedModel> {
    const model = new RecordedModel(script, onRequest)
    model.#server.listen(0, '127.0.0.1')
    await once(model.#server, 'listening')
    return model
  }

  /** For `base_url`, in both protocols. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    if (path === '/v1/models') return sendJson(response, 200, { data: [{ id: 'recorded' }] })
    const stream = path.includes(':streamGenerateContent') ? googleStream : STREAMS[path]
    if (!stream) return sendJson(response, 404, { error: { message: 'not found', type: 'not_found_error' } })
    const body = await json(request)
    const step = stepOf(this.#script, body, this.requests.length)
    const recorded = { path, headers: request.headers, body }
    this.requests.push(recorded)
    this.#onRequest(recorded)
    if (step.fault?.kind === 'status') return sendFault(response, step.fault)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    await send(response, stream(step), step)
  }
}

const STREAMS: Readonly<Record<string, (step: RecordedStep) => WireEvent[]>> = {
  '/v1/chat/completions': openAiStream,
  '/v1/messages': anthropicStream,
  '/v1/responses': responsesStream,
}

async function send(
  response: ServerResponse,
  events: WireEvent[],
  { pace = 0, fault }: RecordedStep,
): Promise<void> {
  const texts = events.filter(({ isText }) => isText).length
  const closed = once(response, 'close')
  let sent = 0
  for (const { event, data, isText } of events) {
    if (isText && pace > 0) await sleep(pace)
    if (isText && fault && ++sent > texts / 2) {
      if (fault.kind === 'cut') return void response.destroy()
      if (fault.kind === 'malformed') response.write('data: {"no json\n\n')
      if (fault.kind === 'hang' && sent === texts) return
    }
    const name = event === undefined ? '' : `event: ${event}\n`
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    if (!response.write(`${name}data: ${text}\n\n`)) await Promise.race([once(response, 'drain'), closed])
    if (response.destroyed) return
  }
  response.end()
}

function sendFault(
  response: ServerResponse,
  { status, retryAfter, body, page, location }: Extract<RecordedStep['fault'], { kind: 'status' }>,
): void {
  if (location !== undefined) response.setHeader('location', location)
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter)
  if (page !== undefined) return void response.writeHead(status, { 'content-type': 'text/html' }).end(page)
  const error = { message: body ?? `recorded status ${status}`, type: 'recorded_error' }
  sendJson(response, status, { type: 'error', error })
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
