import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Readable } from 'node:stream'
import { urlToHttpOptions } from 'node:url'

/** A provider that says nothing for so long will not say anything more. */
const SILENCE_MS = 300_000

/** Where a provider is, as a request needs it. */
export interface Address {
  readonly protocol: string
  readonly hostname: string | null | undefined
  readonly port: string | number | null | undefined
  /** As the header of every request says it. */
  readonly host: string
}

export function parseAddress(text: string): Address {
  const url = new URL(text)
  const { hostname, port } = urlToHttpOptions(url)
  return { protocol: url.protocol, hostname, port, host: url.host }
}

/**
 * Sends a token and, where there is one, the content; resolves with the head of the answer. On Node's own client, whose
 * connections are kept: `fetch` took twice the processor time of everything else that a call needs (decision 0308).
 * Headers are given as they are sent; from an object Node makes them one by one (decision 0425).
 */
export function post(
  { host, ...to }: Address,
  path: string,
  token: string,
  body?: Uint8Array | Readable,
): Promise<IncomingMessage> {
  const request = to.protocol === 'https:' ? requestHttps : requestHttp
  const headers = ['Host', host, 'Authorization', `Bearer ${token}`]
  // Of a stream the length is not known, and Node sends it in chunks.
  if (body === undefined || body instanceof Uint8Array) headers.push('Content-Length', `${body?.length ?? 0}`)
  const options = { ...to, path, method: 'POST', headers, timeout: SILENCE_MS }
  return new Promise((resolve, reject) => {
    const sent = request(options, resolve)
    sent.on('error', reject)
    sent.on('timeout', () => sent.destroy(new Error(`nothing came for ${SILENCE_MS / 1000} seconds`)))
    if (body === undefined || body instanceof Uint8Array) return void sent.end(body)
    // Not `pipeline`: it ends what is being answered when the answer came before all was sent.
    body.on('error', (error) => sent.destroy(error))
    sent.on('close', () => body.destroy())
    body.pipe(sent)
  })
}

/** All of it; throws when less comes than was promised. (`node:stream/consumers` goes by way of a `Blob`.) */
export function bytesOf(stream: Readable): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    stream.on('end', () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)))
    stream.on('error', reject)
  })
}
