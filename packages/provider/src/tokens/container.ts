import { encode } from '@ipld/dag-cbor'
import { decodeCanonical, malformed } from './cbor.ts'
import { isMap } from './envelope.ts'
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
  const value = decodeCanonical(bytes)
  const tokens = isMap(value) && Object.keys(value).length === 1 ? value[KEY] : undefined
  if (!Array.isArray(tokens) || !tokens.every((each) => each instanceof Uint8Array))
    throw malformed('it is not a UCAN container of version 1')
  if (tokens.length > most)
    throw new TokenError('token_too_deep', `it holds ${tokens.length} tokens; the most is ${most}`)
  return tokens
}

const tooLarge = (): TokenError =>
  new TokenError('token_too_large', `it is longer than ${MOST_TOKEN_CHARACTERS} characters`)
