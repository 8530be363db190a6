import { encode } from '@ipld/dag-cbor'
import { malformed, readHead } from './cbor.ts'
import { TokenError } from './refusal.ts'

/** SPEC 7.3: size first. A chain of eight is about 5 KiB. */
const MOST_TOKEN_CHARACTERS: number = 64 * 1024

/** UCAN Container 1: `C`, then base64url of `{"ctn-v1": [token, …]}`; never compressed, so nothing can swell. */
const HEADER = 'C'
const KEY = 'ctn-v1'

export function encodeContainer(tokens: readonly Uint8Array[]): string {
  const sorted = [...tokens].sort((a, b) => Buffer.compare(a, b))
  const text = HEADER + Buffer.from(encode({ [KEY]: sorted })).toString('base64url')
  if (text.length > MOST_TOKEN_CHARACTERS) throw tooLarge()
  return text
}

export function decodeContainer(text: string, most: number): Uint8Array[] {
  if (text.length > MOST_TOKEN_CHARACTERS) throw tooLarge()
  if (!/^C[\w-]+$/.test(text)) throw malformed('it is not a UCAN container in base64url')
  const bytes = Buffer.from(text.slice(1), 'base64url')
  // Node reads over stray bits at the end; one token has one spelling.
  if (bytes.toString('base64url') !== text.slice(1))
    throw malformed('it is not a UCAN container in base64url')
  return readTokens(bytes, most)
}

/**
 * The canonical DAG-CBOR of `{"ctn-v1": [token, …]}` has one form, so it is read as that and nothing else: a map of one,
 * the key, an array, and byte strings, with every length in its shortest form, to the last byte.
 */
function readTokens(bytes: Buffer, most: number): Uint8Array[] {
  const list = bytes.subarray(0, PREFIX.length).equals(PREFIX) ? readHead(bytes, PREFIX.length) : undefined
  if (list?.major !== 4) throw notContainer()
  if (list.value > most)
    throw new TokenError('token_too_deep', `it holds ${list.value} tokens; the most is ${most}`)
  const tokens: Uint8Array[] = []
  let at = list.next
  for (let i = 0; i < list.value; i++) {
    const { major, value, next } = readHead(bytes, at)
    at = next + value
    if (major !== 2 || at > bytes.length) throw notContainer()
    tokens.push(Uint8Array.prototype.slice.call(bytes, next, at)) // of its own, whatever becomes of the text
  }
  if (at !== bytes.length) throw notContainer()
  return tokens
}

const PREFIX = Buffer.from(encode({ [KEY]: [] }).subarray(0, -1))

const notContainer = (): TokenError => malformed('it is not a UCAN container of version 1')

const tooLarge = (): TokenError =>
  new TokenError('token_too_large', `it is longer than ${MOST_TOKEN_CHARACTERS} characters`)
