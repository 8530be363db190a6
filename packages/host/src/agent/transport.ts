import { type IncomingMessage, request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import { PlainHeaders } from './plain-headers.ts'

/**
 * `fetch` for the libraries of the providers, by Node's client of HTTP: Node's own `fetch` is a sixth of a start (decision
 * 0312). A redirect is the answer, and is not followed: a key, and a whole conversation, go where they were meant to go.
 */
export const send: typeof fetch = async (input, { method, headers, body, signal } = {}) => {
  if (typeof input !== 'string' || typeof body !== 'string') throw new TypeError('only text is sent')
  const answer = await answerTo(input, body, {
    method: method ?? 'POST',
    // Nothing here could unpack it.
    headers: { ...(headers as Record<string, string>), 'accept-encoding': 'identity' },
    ...(signal ? { signal } : {}),
  })
  return responseOf(answer, signal ?? undefined)
}

interface Sending {
  readonly method: string
  readonly headers: Record<string, string>
  readonly signal?: AbortSignal
}

/**
 * Stopped by hand and not by Node's `signal`: that destroys the connection also when all of the answer has come and it is
 * kept for the next request, where nobody listens to its errors.
 */
function answerTo(url: string, body: string, { signal, ...options }: Sending): Promise<IncomingMessage> {
  const request = url.startsWith('https:') ? requestSecure : requestPlain
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    let open: { destroy: (reason: Error) => unknown }
    const stop = (): unknown => open.destroy(new Error('stopped'))
    signal?.addEventListener('abort', stop)
    const sent = request(url, options, (answer) => {
      open = answer
      resolve(answer)
    })
    open = sent
    sent.on('error', (cause) => reject(reasonOf(cause, signal, 'fetch failed')))
    sent.on('close', () => signal?.removeEventListener('abort', stop))
    sent.end(body)
  })
}

/** What the libraries read of a response. */
function responseOf(answer: IncomingMessage, signal: AbortSignal | undefined): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', headersDistinct } = answer
  const headers = new PlainHeaders(
    Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')]),
  )
  const ok = status >= 200 && status < 300
  const pieces = piecesOf(answer, signal)
  const body = ReadableStream.from(ok ? bounded(pieces) : cut(pieces))
  const response = { ok, status, statusText, headers, body }
  return response as unknown as Response
}

async function* piecesOf(
  answer: IncomingMessage,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of answer) yield piece as Uint8Array
  } catch (cause) {
    throw reasonOf(cause, signal, 'terminated')
  }
}

/** A reply is a megabyte at most; in pieces of four letters it is some forty. One event is a line. */
const MOST_BYTES = 2 ** 26
const LONGEST_LINE = 2 ** 22
const MOST_OF_AN_ERROR = 2 ** 20

/** What never ends would be kept until there is no more memory. */
async function* bounded(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let [bytes, line] = [0, 0]
  for await (const piece of pieces) {
    const lastBreak = piece.lastIndexOf(NEWLINE)
    bytes += piece.length
    line = lastBreak < 0 ? line + piece.length : piece.length - lastBreak - 1
    if (bytes > MOST_BYTES || line > LONGEST_LINE) throw new EndlessError()
    yield piece
  }
}

const NEWLINE = 10

/** Of an error the beginning is enough. */
async function* cut(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of pieces) {
    yield piece
    bytes += piece.length
    if (bytes > MOST_OF_AN_ERROR) return
  }
}

class EndlessError extends Error {
  constructor() {
    super('it sent more than any answer is long')
  }
}

/** As `fetch` has it: who stopped it said why; anything else is a `TypeError`, and its cause the network's. */
const reasonOf = (cause: unknown, signal: AbortSignal | undefined, words: string): unknown =>
  signal?.aborted ? signal.reason : new TypeError(words, { cause })
