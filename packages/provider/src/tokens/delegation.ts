import { randomBytes } from 'node:crypto'
import { coversCommand, isCommandScope } from '../commands.ts'
import { malformed } from './cbor.ts'
import { metaFor, policyFor, readConstraint } from './constraint.ts'
import { cidTextOf, openEnvelope, type Payload, sealEnvelope, verifyEnvelope } from './envelope.ts'
import { type Did, parseDid, type SigningKey } from './key.ts'
import { coversPath, type PathPrefix } from './prefix.ts'
import { TokenError } from './refusal.ts'

/** SPEC 7.3: so many links from the provider to the agent, at most. */
export const MOST_LINKS = 8

/** One verified link. Times are seconds since 1970. */
export interface Delegation {
  readonly bytes: Uint8Array
  readonly cid: string
  readonly issuer: Did
  readonly audience: Did
  /** The provider whose files they are. */
  readonly subject: Did
  /** A command, or one above several: `/filesystem/file`. */
  readonly command: string
  readonly prefix: PathPrefix
  readonly notBefore: number | undefined
  readonly expires: number
}

export interface DelegationTerms {
  readonly audience: Did
  readonly prefix: PathPrefix
  readonly command: string
  readonly notBefore?: number
  readonly expires: number
  readonly nonce?: Uint8Array
}

/** The provider's own delegation to an app: the root of every chain. */
export const mintDelegation = (key: SigningKey, terms: DelegationTerms): Delegation =>
  seal(key, key.did, terms)

/** A delegate's delegation, made offline: refused here, as it would be by the provider, if it is not narrower. */
export function delegateOn(
  key: SigningKey,
  chain: readonly Delegation[],
  terms: DelegationTerms,
): Delegation {
  const parent = chain.at(-1)
  if (!parent || parent.audience !== key.did)
    throw new TokenError('token_broken_chain', 'the last delegation of the chain is not to this key')
  if (chain.length >= MOST_LINKS) throw tooDeep()
  const child = seal(key, parent.subject, terms)
  checkLink(parent, child)
  return child
}

export const tooDeep = (): TokenError =>
  new TokenError('token_too_deep', `the chain has more than ${MOST_LINKS} delegations`)

/** SPEC 7.3: each link is by the audience of the one before it, about the same provider, and no wider. */
export function checkLink(parent: Delegation, child: Delegation): void {
  if (child.issuer !== parent.audience)
    throw new TokenError('token_broken_chain', 'a delegation is not by the audience of the one before it')
  if (child.subject !== parent.subject)
    throw new TokenError('token_broken_chain', 'a delegation is about another subject than the one before it')
  if (!coversPath(parent.prefix, child.prefix))
    throw new TokenError('token_widened', 'a delegation has a path_prefix outside that of the one before it')
  if (!coversCommand(parent.command, child.command))
    throw new TokenError('token_widened', 'a delegation has a command that the one before it does not grant')
}

/** From bytes to a delegation whose signature and shape are good. Its times are the caller's to check. */
export function readDelegation(bytes: Uint8Array, cid: string = cidTextOf(bytes)): Delegation {
  const envelope = openEnvelope(bytes)
  if (envelope.kind !== 'delegation') throw malformed('a proof is not a delegation')
  const { payload, issuer } = envelope
  checkFields(payload, DELEGATION_FIELDS)
  checkNonce(payload['nonce'])
  const command = payload['cmd']
  if (typeof command !== 'string' || !isCommandScope(command))
    throw new TokenError(
      'token_command_not_covered',
      'a delegation is for a command that this provider has not',
    )
  const subject = payload['sub']
  if (subject === null) throw new TokenError('token_broken_chain', 'a delegation names no subject')
  const read = {
    bytes,
    cid,
    issuer,
    audience: parseDid(payload['aud']),
    subject: parseDid(subject),
    command,
    notBefore: payload['nbf'] === undefined ? undefined : parseTime(payload['nbf']),
    expires: parseTime(payload['exp']),
  }
  verifyEnvelope(envelope)
  return { ...read, prefix: readConstraint(payload['meta'], payload['pol']) }
}

function seal(key: SigningKey, subject: Did, terms: DelegationTerms): Delegation {
  const { audience, prefix, command, notBefore, expires, nonce = randomBytes(12) } = terms
  const bytes = sealEnvelope('delegation', key, {
    iss: key.did,
    aud: audience,
    sub: subject,
    cmd: command,
    pol: policyFor(prefix),
    nonce: Uint8Array.from(nonce),
    exp: expires,
    ...(notBefore === undefined ? {} : { nbf: notBefore }),
    meta: metaFor(prefix),
  })
  return readDelegation(bytes) // what we make is held to what we accept
}

const DELEGATION_FIELDS: ReadonlySet<string> = new Set([
  'iss',
  'aud',
  'sub',
  'cmd',
  'pol',
  'nonce',
  'exp',
  'nbf',
  'meta',
])

/** A field nobody here knows may be one that restricts. */
export function checkFields(payload: Payload, known: ReadonlySet<string>): void {
  for (const name of Object.keys(payload))
    if (!known.has(name)) throw malformed('it has a field that UCAN 1.0 has not')
}

export function checkNonce(nonce: unknown): asserts nonce is Uint8Array {
  if (!(nonce instanceof Uint8Array) || nonce.length < 8 || nonce.length > 64)
    throw malformed('its nonce is not 8 to 64 bytes')
}

/** What never ends (`null` in UCAN) is refused: nothing of ours is granted for ever. */
export function parseTime(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw malformed('it has a time that is not in seconds since 1970')
}
