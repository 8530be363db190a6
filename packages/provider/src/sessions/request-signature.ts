import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'

/** What a page signs with the key that its browser does not let out (decisions 0342 and 0343). */
export interface SignedRequest {
  /** The ids of the processes that it is for, as they were sent. */
  readonly processes: string
  /** Of the page. */
  readonly origin: string
  /** Random: no request is like another one. */
  readonly nonce: string
  /** Whether somebody is at the page, as it was sent. */
  readonly present: string
  readonly method: string
  /** The path, with its query. */
  readonly target: string
  readonly body: Uint8Array
}

/** `key` as the browser exports it, in base64url; whatever is none has signed nothing. */
export function isSignedBy(key: string, request: SignedRequest, signature: string): boolean {
  const read = readKey(key)
  const signed = Buffer.from(signature, 'base64url')
  return (
    read !== undefined && verify('sha256', textOf(request), { key: read, dsaEncoding: 'ieee-p1363' }, signed)
  )
}

const textOf = ({ processes, origin, nonce, present, method, target, body }: SignedRequest): Buffer => {
  const said = [processes, origin, nonce, present, method, target, hash('sha256', body, 'base64url')]
  return Buffer.from(['cordon console 2', ...said].join('\n'))
}

/** An uncompressed point of P-256. */
function readKey(text: string): KeyObject | undefined {
  const point = Buffer.from(text, 'base64url')
  if (point.length !== 65 || point[0] !== 4 || point.toString('base64url') !== text) return undefined
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
  try {
    return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: x!, y: y! }, format: 'jwk' })
  } catch {
    return undefined // it is not on the curve
  }
}
