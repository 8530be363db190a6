import { Refusal } from '../errors.ts'
import type { Provider } from '../provider.ts'
import type { Now } from '../registry.ts'
import { type VerifiedInvocation, verifyInvocation, verifyInvocationInPool } from '../tokens/verify.ts'

/** SPEC 7.3: signature, times, audience, chain; then revocation; then replay. */
export async function authenticate(
  token: string,
  { snapshot, now }: Now,
  { replay, delegations, traffic }: Pick<Provider, 'replay' | 'delegations' | 'traffic'>,
): Promise<VerifiedInvocation> {
  const provider = await snapshot.providers()
  const options = { now: Math.floor(now / 1000), provider, delegations }
  const verified = traffic.isAlone
    ? verifyInvocation(token, options)
    : await verifyInvocationInPool(token, options)
  if (verified.kind === 'refused') throw new Refusal(verified.code, verified.reason)
  if (await snapshot.isRevoked(verified.cids))
    throw new Refusal('token_revoked', 'a delegation of the chain was revoked; ask for a new one')
  await replay.require(verified, now)
  return verified
}
