import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Command } from '../commands.ts'
import { Refusal } from '../errors.ts'
import type { Answer } from '../operations/operation.ts'
import { handle } from '../pipeline/pipeline.ts'
import { bodyOf, type Served } from './routes.ts'
import { dropRest, ReceivedBody, sendPieces } from './pieces.ts'

/**
 * One request for a command, from its header to its last byte. On Node's own request and response: contents stream
 * both ways, and whatever stands in between costs a part of every read.
 */
export async function answerCommand(
  served: Served,
  command: Command,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { metrics, provider } = served
  const started = performance.now()
  provider.traffic.begin()
  let code = 'ok'
  try {
    if (!served.isOpen()) throw new Refusal('stopping', 'this provider is stopping; ask another, or again')
    const token = BEARER.exec(incoming.headers.authorization ?? '')?.[1]
    const body = new ReceivedBody(incoming)
    const answer = await handle(provider, { route: command, token, body, whenGone: onceGone(outgoing) })
    if (answer.kind === 'content') metrics.transferred(answer.length)
    await send(outgoing, answer)
  } catch (error) {
    const refusal = asAnswer(served, error)
    code = refusal.code
    refuse(incoming, outgoing, refusal)
  } finally {
    provider.traffic.end()
    const ms = performance.now() - started
    metrics.finish(command, code, ms / 1000)
    served.answered({ command, code, ms: Math.round(ms) })
  }
}

const onceGone =
  (outgoing: ServerResponse) =>
  (act: () => void): void => {
    const closed = (): void => void (outgoing.writableFinished || act())
    if (outgoing.closed) closed()
    else outgoing.once('close', closed)
  }

const BEARER = /^Bearer (\S+)$/i

/** Whatever is not a refusal is a bug or the database: no, without a word about the inside. */
function asAnswer(served: Served, error: unknown): Refusal {
  if (error instanceof Refusal) return error
  served.unexpected(error)
  return new Refusal('unavailable', 'the provider cannot decide or record this now; try again')
}

function refuse(incoming: IncomingMessage, outgoing: ServerResponse, refusal: Refusal): void {
  const { retry_after_seconds: wait, size } = refusal.detail
  const text = JSON.stringify(bodyOf(refusal))
  const unread = !incoming.complete && !incoming.destroyed
  outgoing.writeHead(refusal.status, {
    ...JSON_TYPE,
    'content-length': Buffer.byteLength(text),
    ...(unread ? { connection: 'close' } : {}),
    ...(typeof wait === 'number' ? { 'retry-after': String(wait) } : {}),
    ...(refusal.code === 'range_not_satisfiable' ? { 'content-range': `bytes */${String(size)}` } : {}),
  })
  if (!unread) return void outgoing.end(text)
  outgoing.write(text)
  dropRest(incoming, () => outgoing.end())
}

const JSON_TYPE = { 'content-type': 'application/json' }

async function send(outgoing: ServerResponse, answer: Answer): Promise<void> {
  if (answer.kind === 'json') {
    const text = JSON.stringify(answer.value)
    outgoing.writeHead(200, { ...JSON_TYPE, 'content-length': Buffer.byteLength(text) }).end(text)
    return
  }
  const { content, start, length, size, sha256 } = answer
  const partial = length !== size
  outgoing.writeHead(partial ? 206 : 200, {
    'content-type': 'application/octet-stream',
    'content-length': length,
    ...(sha256 === undefined ? {} : { etag: `"${sha256}"` }),
    ...(partial ? { 'content-range': `bytes ${start}-${start + length - 1}/${size}` } : {}),
  })
  if ('pieces' in content) await sendPieces(outgoing, content, length)
  else outgoing.end(content)
}
