import { type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Intake } from './intake.ts'

export interface LongAnswer {
  readonly upstream: ClientRequest
  readonly answered: IncomingMessage
  readonly res: ServerResponse
  readonly intake: Intake
  readonly count: (bytes: number) => void
}

/**
 * Decision 0056: how long a long body is was read by the one parser, in its head. The rest of the body is
 * counted, not parsed, and goes from the connection straight to the client. The parser never sees the end
 * of such a body, so the connection to the server is closed behind it.
 */
export function relayLongBody(length: number, { upstream, answered, res, intake, count }: LongAnswer): void {
  // This is called inside the parser. Once it is through, `answered` holds what it had of the body.
  process.nextTick(() => {
    let left = length
    while (left > 0 && !answered.destroyed) {
      const held = answered.read() as Buffer | null
      if (held !== null) {
        left -= held.length
        count(held.length)
        res.write(held)
      } else if (intake.socket.readableLength > 0) intake.socket.read() // to the parser, and so to `answered`
      else break
    }
    if (left === 0) {
      answered.resume() // for its end: the parser saw all of it, and the connection can be kept
      res.end()
    } else if (!answered.destroyed)
      intake.pourExactly(res, {
        length: left,
        count,
        done: () => {
          res.end()
          upstream.destroy()
        },
      })
  })
}

/** Undefined where the body is short, absent, or ends by anything but a length. */
export function longBodyLength(method: string | undefined, answered: IncomingMessage): number | undefined {
  const { statusCode = 0, headers } = answered
  const text = headers['content-length'] ?? ''
  const bodiless = method === 'HEAD' || statusCode < 200 || statusCode === 204 || statusCode === 304
  if (bodiless || headers['transfer-encoding'] !== undefined || !/^\d{1,15}$/.test(text)) return undefined
  const length = Number(text)
  return length >= LONG ? length : undefined
}

/** So long that a new connection for the next request weighs little. */
const LONG = 1024 * 1024
