import { hash } from 'node:crypto'
import { encode } from '@ipld/dag-cbor'
import { base32 } from 'multiformats/bases/base32'
import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'
import { decodeCanonical, malformed } from './cbor.ts'
import { type Did, isSignedBy, isSignedByInPool, parseDid, type SigningKey } from './key.ts'
import { TokenError } from './refusal.ts'

/** UCAN 1.0, Envelope: `[signature, {h: varsig, "ucan/dlg@1.0.0-rc.1": payload}]` in DAG-CBOR. */
const TAGS = { delegation: 'ucan/dlg@1.0.0-rc.1', invocation: 'ucan/inv@1.0.0-rc.1' } as const
export type EnvelopeKind = keyof typeof TAGS

/** Varsig 1: EdDSA on edwards25519 with SHA2-512, of DAG-CBOR. The only header accepted. */
const VARSIG = Uint8Array.of(0x34, 0x01, 0xed, 0x01, 0xed, 0x01, 0x13, 0x71)

export type Payload = Readonly<Record<string, unknown>>

export interface Envelope {
  readonly kind: EnvelopeKind
  readonly issuer: Did
  readonly payload: Payload
  readonly signature: Uint8Array
  /** The very bytes that the signature is about. */
  readonly signed: Uint8Array
}

export function sealEnvelope(kind: EnvelopeKind, key: SigningKey, payload: Payload): Uint8Array {
  const signed = encode({ h: VARSIG, [TAGS[kind]]: payload })
  return Buffer.concat([HEAD, key.sign(signed), signed])
}

/** Canonical: an array of two, and the 64 bytes of a signature with their head. The rest is what was signed. */
const HEAD = Uint8Array.of(0x82, 0x58, 64)

/** The shape only; nothing in it is to be believed before `verifyEnvelope`. */
export function openEnvelope(bytes: Uint8Array): Envelope {
  const envelope = decodeCanonical(bytes)
  if (!Array.isArray(envelope) || envelope.length !== 2) throw malformed('it is not an envelope of UCAN 1.0')
  const [signature, signed] = envelope as unknown[]
  if (!(signature instanceof Uint8Array) || !isMap(signed) || Object.keys(signed).length !== 2)
    throw malformed('it is not an envelope of UCAN 1.0')
  const { h } = signed
  if (!(h instanceof Uint8Array) || Buffer.compare(h, VARSIG) !== 0)
    throw malformed('it is signed in another way than Ed25519 over DAG-CBOR')
  const kind = (['delegation', 'invocation'] as const).find((each) => TAGS[each] in signed)
  const payload = kind && signed[TAGS[kind]]
  if (!kind || !isMap(payload)) throw malformed('it is neither a delegation nor an invocation of UCAN 1.0')
  if (signature.length !== 64) throw malformed('its signature is not one of Ed25519')
  const signedBytes = bytes.subarray(HEAD.length + signature.length)
  return { kind, issuer: parseDid(payload['iss']), payload, signature, signed: signedBytes }
}

export function verifyEnvelope({ kind, issuer, signature, signed }: Envelope): void {
  if (!isSignedBy(issuer, signed, signature)) throw forged(kind)
}

export async function verifyEnvelopeInPool({ kind, issuer, signature, signed }: Envelope): Promise<void> {
  if (!(await isSignedByInPool(issuer, signed, signature))) throw forged(kind)
}

const forged = (kind: EnvelopeKind): TokenError =>
  new TokenError(
    'token_signature',
    `the signature of ${kind === 'invocation' ? 'the invocation' : 'a delegation'} is not its issuer's`,
  )

/** CIDv1, DAG-CBOR, SHA2-256 of exactly these bytes. */
export const cidOf = (bytes: Uint8Array): CID =>
  CID.createV1(0x71, createDigest(0x12, Uint8Array.from(hash('sha256', bytes, 'buffer'))))

/** The same as text, for every token of every request: without an object in between. */
export const cidTextOf = (bytes: Uint8Array): string =>
  base32.encode(Buffer.concat([CID_HEAD, hash('sha256', bytes, 'buffer')]))

/** Version 1, DAG-CBOR, SHA2-256 of 32 bytes. */
const CID_HEAD = Buffer.from([1, 0x71, 0x12, 32])

export const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Uint8Array) &&
  CID.asCID(value) === null
