import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from 'hono'
import { z } from 'zod'
import { ConsoleRefusal } from './errors.ts'

/** What a passkey signed; what is in it is for the library to judge. */
export const SIGNATURE: z.ZodType<{ ceremony: string; response: { id: string } }> = z.strictObject({
  ceremony: z.string().max(200),
  response: z.looseObject({ id: z.string().max(2000) }),
})

/** An answer of a passkey has some kilobytes; nothing that is sent here is larger. */
const MOST_BYTES = 64 * 1024
/** A byte a minute would hold a connection for weeks, and nobody has to be signed in for it. */
const MOST_MS = 10_000

async function tooSlow(signal: AbortSignal): Promise<never> {
  await pause(MOST_MS, undefined, { signal })
  throw new ConsoleRefusal('bad_request', 'it came too slowly')
}

/** All that was sent, within bounds; also when it is asked for twice. */
export async function readBytes(c: Context): Promise<Uint8Array> {
  const length = Number(c.req.header('content-length') ?? Number.NaN)
  if (!(length <= MOST_BYTES)) throw new ConsoleRefusal('bad_request', 'too much, or no length is given')
  const slow = new AbortController()
  try {
    return new Uint8Array(await Promise.race([c.req.arrayBuffer(), tooSlow(slow.signal)]))
  } catch (error) {
    if (error instanceof ConsoleRefusal) c.header('connection', 'close')
    throw error instanceof ConsoleRefusal ? error : new ConsoleRefusal('bad_request', 'it did not come whole')
  } finally {
    slow.abort()
  }
}

/** JSON said to be JSON: a form of another page cannot send that without being asked first. */
export async function readBody<T extends z.ZodType>(c: Context, shape: T): Promise<z.output<T>> {
  if (!/^application\/json\b/.test(c.req.header('content-type') ?? ''))
    throw new ConsoleRefusal('bad_request', 'expected JSON')
  const read = shape.safeParse(parseJson(await readBytes(c)))
  if (read.success) return read.data
  throw new ConsoleRefusal('bad_request', 'it has not the expected shape')
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    throw new ConsoleRefusal('bad_request', 'it is not JSON')
  }
}
