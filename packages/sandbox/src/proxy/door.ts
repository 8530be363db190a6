import { type Socket } from 'node:net'
import { denialText, type Denial } from './denial.ts'
import { readSpeech } from './first-bytes.ts'
import { type Door, type Endpoint } from './gate.ts'
import { readHeld } from './held-read.ts'
import { type Requests } from './requests.ts'
import { plainResponse } from './responses.ts'
import { type Shared } from './shared.ts'
import { openTunnel, TLS_ACCESS_DENIED } from './tunnel.ts'

/**
 * SPEC 4.5, decision 0211: a program that knows no proxy connected to an address inside that stands for `place`. From here
 * on it is a tunnel to that place like any other: what TLS and HTTP say about the host must agree with it.
 */
export async function openDoor(
  shared: Shared,
  requests: Requests,
  client: Socket,
  place: Door,
): Promise<void> {
  await openTunnel(shared, requests, client, place, {
    kind: 'direct',
    accept: () => {},
    deny: (where, denial) => void sayNo(shared, client, 403, denialOf(where, denial)),
    fail: (reason, timedOut) => void sayNo(shared, client, timedOut ? 504 : 502, `cordon: ${reason}.\n`),
  })
}

const denialOf = ({ host, port }: Endpoint, denial: Denial): string => denialText(`${host}:${port}`, denial)

/** The kernel has accepted the connection already, so it can be said only in the words of whoever speaks first. */
async function sayNo(
  { limits }: Shared,
  client: Socket,
  status: 403 | 502 | 504,
  text: string,
): Promise<void> {
  const first = await readHeld(client, {
    limit: limits.maxHeadBytes,
    ms: limits.firstBytesMs,
    take: (bytes) => (readSpeech(bytes).kind === 'more' ? undefined : bytes.length),
  })
  const speech = first.kind === 'read' ? readSpeech(first.bytes).kind : 'bytes'
  if (speech === 'http') client.end(plainResponse(status, text))
  else if (speech === 'tls' || speech === 'broken-tls') client.end(TLS_ACCESS_DENIED)
  else client.resetAndDestroy()
}
