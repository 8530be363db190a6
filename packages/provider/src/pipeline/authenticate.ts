import { Refusal } from '../errors.ts'
import type { Now } from '../registry.ts'
import { type DelegationCache, type VerifiedInvocation, verifyInvocationInPool } from '../tokens/verify.ts'
import type { Replay } from './replay.ts'

/** SPEC 7.3: signature, times, audience, chain; then revocation; then replay. */
export async function authenticate(
  token: string,
  { snapshot, now }: Now,
  { replay, delegations }: { readonly replay: Replay; readonly delegations: DelegationCache },
): Promise<VerifiedInvocation> {
  const provider = await snapshot.providers()
  const verified = await verifyInvocationInPool(token, { now: Math.floor(now / 1000), provider, delegations })
  if (verified.kind === 'refused') throw new Refusal(verified.code, verified.reason)
  if (await snapshot.isRevoked(verified.cids))
    throw new Refusal('token_revoked', 'a delegation of the chain was revoked; ask for a new one')
  await replay.require(verified, now)
  return verified
}
