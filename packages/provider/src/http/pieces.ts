import { on } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Pieces } from '../operations/operation.ts'
import type { Body } from '../pipeline/pipeline.ts'

/**
 * A request's body. Node gives every piece memory of its own, which waits for the collector; at a gigabyte that was
 * 90 MiB at a time. Here a piece is given back as soon as the next is asked for (decision 0257).
 */
export class ReceivedBody implements Body {
  readonly #incoming: IncomingMessage
  bytes = 0

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    // One at a time and as they came: iterating the request itself joins what has piled up, in new memory.
    const limits = { close: ['end', 'close'], highWaterMark: 1, lowWaterMark: 1 }
    const arrivals = on(this.#incoming, 'data', limits) as AsyncIterableIterator<[Buffer]>
    let last: Buffer | undefined
    return {
      next: async () => {
        if (last) giveBack(last)
        const { value } = (await arrivals.next()) as IteratorResult<[Buffer], undefined>
        last = value?.[0]
        if (!last) return { done: true, value: undefined }
        this.bytes += last.length
        return { done: false, value: last }
      },
      return: async () => {
        await arrivals.return?.()
        return { done: true, value: undefined }
      },
    }
  }
}

/** So long the rest of a refused upload is read. A client that has the answer stops sending well before. */
const DROPPING_MS = 5000

/**
 * Decision 0360, for a request that was answered before all of it came. A connection that is closed while bytes of the
 * client are unread is reset, and the answer that says why is lost with it. So the rest is read and goes nowhere, until
 * the client has stopped sending or had time enough to; then `over` is called, once.
 */
export function dropRest(incoming: IncomingMessage, over: () => void): void {
  const patience = setTimeout(done, DROPPING_MS)
  function done(): void {
    clearTimeout(patience)
    incoming.off('close', done).off('end', done)
    over()
  }
  incoming.once('end', done).once('close', done).resume()
}

/** Only what is alone in its memory: small buffers of Node share theirs. */
function giveBack({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** Waits for every piece to be taken before it asks for the next, which may be in the same memory. */
export async function sendPieces(
  outgoing: ServerResponse,
  { pieces, stop }: Pieces,
  length: number,
): Promise<void> {
  const destroy = (): void => void outgoing.destroy()
  stop.addEventListener('abort', destroy)
  if (stop.aborted) destroy()
  try {
    let sent = 0
    for await (const piece of pieces) {
      await written(outgoing, piece)
      sent += piece.length
    }
    if (sent === length) outgoing.end()
    else outgoing.destroy()
  } catch {
    // Cut short, the client sees fewer bytes than were promised; that is how it knows.
    outgoing.destroy()
  } finally {
    stop.removeEventListener('abort', destroy)
  }
}

const written = (outgoing: ServerResponse, piece: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    const closed = (): void => reject(new Error('the client is gone'))
    outgoing.once('close', closed)
    outgoing.write(piece, (error) => {
      outgoing.off('close', closed)
      if (error) reject(error)
      else resolve()
    })
  })
