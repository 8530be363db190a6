import { type IncomingMessage } from 'node:http'

/**
 * Decision 0057: the answer is there, maybe before the end of the body. The parser reads on, so that it alone
 * says where the next request begins, and what is left of the body goes nowhere. Without this nobody
 * reads any more, and the connection hangs until it counts as idle.
 */
export function discardRest(req: IncomingMessage): void {
  let left = MOST
  req.unpipe()
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) req.socket.destroy()
  })
  req.resume()
}

/** Many clients read no answer before they have sent all; only an upload without an end is cut. */
const MOST = 64 * 1024 * 1024
