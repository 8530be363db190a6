import { encodeContainer } from '../../src/tokens/container.ts'
import { type Delegation, type DelegationTerms, mintDelegation } from '../../src/tokens/delegation.ts'
import { cidOf, type Payload, sealEnvelope } from '../../src/tokens/envelope.ts'
import { metaFor, policyFor } from '../../src/tokens/constraint.ts'
import { type Did, SigningKey } from '../../src/tokens/key.ts'
import { parsePrefix } from '../../src/tokens/prefix.ts'
import { type VerifyOptions, verifyInvocation } from '../../src/tokens/verify.ts'

/** Always the same key, so that what it signs can be pinned. */
export const provider: SigningKey = SigningKey.load('z3u2Rb3dLNBUUM9QbvnU3FbHYip3keGXoKT2KWFcnLqGV68F')
export const [app, agent, helper, stranger] = Array.from({ length: 4 }, () => SigningKey.generate()) as [
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
]

export const NOW = 1_800_000_000
const HOUR = 3600

export const terms = (
  audience: Did,
  prefix: string,
  more: Partial<DelegationTerms> = {},
): DelegationTerms => ({
  audience,
  prefix: parsePrefix(prefix),
  command: '/filesystem',
  expires: NOW + HOUR,
  ...more,
})

export const rootTo = (to: SigningKey, prefix = '/srv/ws', more: Partial<DelegationTerms> = {}): Delegation =>
  mintDelegation(provider, terms(to.did, prefix, more))

/** A delegation as an attacker writes it: any field, signed by whoever he is. */
export function forge(by: SigningKey, fields: Payload, prefix = '/srv/ws'): Uint8Array {
  return sealEnvelope('delegation', by, {
    iss: by.did,
    sub: provider.did,
    cmd: '/filesystem',
    pol: policyFor(parsePrefix(prefix)),
    meta: metaFor(parsePrefix(prefix)),
    nonce: new Uint8Array(12),
    exp: NOW + HOUR,
    ...fields,
  })
}

/** An invocation with any field, and the proofs it names unless others are given. */
export function invoke(
  by: SigningKey,
  chain: readonly Uint8Array[],
  fields: Payload = {},
  held = chain,
): string {
  const invocation = sealEnvelope('invocation', by, {
    iss: by.did,
    aud: provider.did,
    sub: provider.did,
    cmd: '/filesystem/file/read',
    args: { path: '/srv/ws/f' },
    prf: chain.map(cidOf),
    nonce: new Uint8Array(12),
    exp: NOW + 60,
    ...fields,
  })
  return encodeContainer([invocation, ...held])
}

export const OPTIONS: VerifyOptions = { now: NOW, provider: [provider.did] }

/** `verified`, or the refusal as `code: reason`. */
export function outcome(token: string, options: Partial<VerifyOptions> = {}): string {
  const result = verifyInvocation(token, { ...OPTIONS, ...options })
  return result.kind === 'verified' ? 'verified' : `${result.code}: ${result.reason}`
}
