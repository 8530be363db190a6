import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { base58btc } from 'multiformats/bases/base58'
import { TokenError } from './refusal.ts'

/** `did:key:z6Mk…`, Ed25519, in its one spelling. */
export type Did = `did:key:z${string}` & { readonly __did: unique symbol }

/** Who signs: a provider or an agent. Serialised it is a secret; the file that holds it is the caller's. */
export class SigningKey {
  readonly did: Did
  readonly #private: KeyObject

  private constructor(secret: KeyObject) {
    this.#private = secret
    const { x = '' } = createPublicKey(secret).export({ format: 'jwk' })
    this.did = didOf(Buffer.from(x, 'base64url'))
  }

  static generate(): SigningKey {
    return new SigningKey(generateKeyPairSync('ed25519').privateKey)
  }

  /** Reads what `serialize` wrote. The text is a secret, so an error never shows it. */
  static load(text: string): SigningKey {
    const bytes = decodeMultikey(text.trim(), SECRET_CODE)
    if (!bytes) throw new TokenError('token_malformed', 'this is not a signing key of Ed25519')
    const key = createPrivateKey({ key: Buffer.concat([PKCS8, bytes]), format: 'der', type: 'pkcs8' })
    return new SigningKey(key)
  }

  /** As multikey, `z3u2…`: the W3C's text form of a secret key. */
  serialize(): string {
    const { d = '' } = this.#private.export({ format: 'jwk' })
    return base58btc.encode(Buffer.concat([SECRET_CODE, Buffer.from(d, 'base64url')]))
  }

  sign(bytes: Uint8Array): Uint8Array {
    return Uint8Array.from(sign(null, bytes, this.#private))
  }
}

/** The only spelling of a DID is the one that encoding gives, so DIDs can be compared as text. */
export function parseDid(text: unknown): Did {
  if (typeof text === 'string' && publicKeyOf(text)) return text as Did
  throw new TokenError('token_malformed', 'it names a party by something else than a did:key of Ed25519')
}

export function isSignedBy(did: Did, bytes: Uint8Array, signature: Uint8Array): boolean {
  const key = publicKeyOf(did)
  return key !== undefined && verify(null, bytes, key, signature)
}

/** The same on another thread: a verification costs more than any other part of a request (decision 0630). */
export function isSignedByInPool(did: Did, bytes: Uint8Array, signature: Uint8Array): Promise<boolean> {
  const key = publicKeyOf(did)
  if (!key || signature.length !== 64) return Promise.resolve(false)
  return new Promise((resolve, reject) => {
    verify(null, bytes, key, signature, (error, good) => (error ? reject(error) : resolve(good)))
  })
}

/** Keys are public and few, and making the object costs half as much as a verification. */
const known = new Map<string, KeyObject>()
const MOST_KNOWN = 1024

function publicKeyOf(did: string): KeyObject | undefined {
  const before = known.get(did)
  if (before) return before
  const bytes = did.startsWith('did:key:')
    ? decodeMultikey(did.slice('did:key:'.length), PUBLIC_CODE)
    : undefined
  if (!bytes) return undefined
  const key = createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' })
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(did, key)
  return key
}

const didOf = (publicKey: Uint8Array): Did =>
  `did:key:${base58btc.encode(Buffer.concat([PUBLIC_CODE, publicKey]))}` as Did

function decodeMultikey(text: string, code: Buffer): Buffer | undefined {
  if (text.length > 64) return undefined // 32 bytes take 48 characters; decoding is quadratic
  try {
    const bytes = Buffer.from(base58btc.decode(text))
    const fits = bytes.length === 34 && bytes.subarray(0, 2).equals(code)
    return fits && base58btc.encode(bytes) === text ? bytes.subarray(2) : undefined
  } catch {
    return undefined
  }
}

/** The multicodec varints of `ed25519-pub` and `ed25519-priv`. */
const PUBLIC_CODE = Buffer.from([0xed, 0x01])
const SECRET_CODE = Buffer.from([0x80, 0x26])
/** RFC 8410: what precedes the 32 bytes of a key in DER. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
