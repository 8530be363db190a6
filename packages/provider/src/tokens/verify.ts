import { type Command, coversCommand } from '../commands.ts'
import { checkLink, type Delegation, readDelegation } from './delegation.ts'
import { verifyEnvelope, verifyEnvelopeInPool } from './envelope.ts'
import { type Did } from './key.ts'
import { type PathPrefix } from './prefix.ts'
import { TokenError, type TokenRefusal } from './refusal.ts'
import { readUse, unpack, type Unpacked, type Use } from './unpack.ts'

/** An invocation is remembered until it expires, so that it is used once; this bounds how many are. */
const MOST_LIFETIME_SECONDS = 300

/** Delegations whose signature was good, by CID. An invocation is never in it. */
export interface DelegationCache {
  get(cid: string): Delegation | undefined
  set(cid: string, delegation: Delegation): void
}

export interface VerifyOptions {
  /** Seconds since 1970. */
  readonly now: number
  /** This provider's DID, and those of its earlier keys whose delegations still count. */
  readonly provider: readonly Did[]
  readonly isRevoked?: (cid: string) => boolean
  readonly delegations?: DelegationCache
}

export interface VerifiedInvocation {
  readonly kind: 'verified'
  /** The audience of the provider's own delegation. */
  readonly app: Did
  /** Who signed this. */
  readonly agent: Did
  readonly command: Command
  /** As the agent sent them: nothing in them is checked. */
  readonly args: Readonly<Record<string, unknown>>
  /** The narrowest of the chain. */
  readonly prefix: PathPrefix
  /** Of every delegation, the provider's first. */
  readonly cids: readonly string[]
  readonly cid: string
  /** Unique with `agent`: to be remembered until `expires`. */
  readonly nonce: Uint8Array
  readonly expires: number
}

/**
 * SPEC 7.3 up to revocation: size and shape, signature, times, audience, chain. Does no I/O and never
 * throws; replay is for whoever has a memory (decision 0160).
 */
export function verifyInvocation(token: string, options: VerifyOptions): VerifiedInvocation | TokenRefusal {
  try {
    const opened = open(token)
    verifyEnvelope(opened.invocation)
    return check(opened, options)
  } catch (error) {
    return refusalOf(error)
  }
}

/** The same, with the invocation's signature verified on another thread meanwhile. */
export async function verifyInvocationInPool(
  token: string,
  options: VerifyOptions,
): Promise<VerifiedInvocation | TokenRefusal> {
  try {
    const opened = open(token)
    await verifyEnvelopeInPool(opened.invocation)
    return check(opened, options)
  } catch (error) {
    return refusalOf(error)
  }
}

function refusalOf(error: unknown): TokenRefusal {
  if (error instanceof TokenError) return { kind: 'refused', code: error.code, reason: error.message }
  // Whatever a decoder trips over was in the token.
  return { kind: 'refused', code: 'token_malformed', reason: 'it is not a token of UCAN 1.0' }
}

type Opened = Unpacked & { readonly use: Use }

function open(token: string): Opened {
  const unpacked = unpack(token)
  return { ...unpacked, use: readUse(unpacked.invocation) }
}

/** Everything that does not depend on whether the invocation is signed, which the caller has made sure of. */
function check({ cid, proofs, use }: Opened, options: VerifyOptions): VerifiedInvocation {
  checkUse(use, options)
  const chain = proofs.map((proof) => readCached(proof, options.delegations))
  const { root, last } = checkChain(chain, use, options.now)
  const cids = chain.map((link) => link.cid)
  if (options.isRevoked && cids.some(options.isRevoked))
    throw new TokenError('token_revoked', 'a delegation of the chain was revoked')
  const { agent, command, args, nonce, expires } = use
  return {
    kind: 'verified',
    app: root.audience,
    agent,
    command,
    args,
    prefix: last.prefix,
    cids,
    cid,
    nonce,
    expires,
  }
}

function checkUse(use: Use, { now, provider }: VerifyOptions): void {
  checkTimes('the invocation', use, now)
  if (use.expires > now + MOST_LIFETIME_SECONDS)
    throw new TokenError(
      'token_lifetime',
      `the invocation is valid for longer than ${MOST_LIFETIME_SECONDS} seconds`,
    )
  if (!provider.includes(use.subject) || !provider.includes(use.audience))
    throw new TokenError('token_wrong_audience', 'the invocation is for another provider')
}

/** SPEC 7.3: from the provider to whoever signed the invocation, each link narrower than its parent. */
function checkChain(
  chain: readonly Delegation[],
  { agent, command, subject }: Use,
  now: number,
): { root: Delegation; last: Delegation } {
  for (const link of chain) checkTimes('a delegation', link, now)
  const [root] = chain
  const last = chain.at(-1)
  if (!root || !last) throw new TokenError('token_broken_chain', 'the invocation has no delegation')
  if (root.issuer !== root.subject || root.subject !== subject)
    throw new TokenError(
      'token_broken_chain',
      'the first delegation is not by the provider that the invocation is for',
    )
  for (const [i, link] of chain.slice(1).entries()) checkLink(chain[i]!, link)
  if (last.audience !== agent)
    throw new TokenError('token_broken_chain', 'the invocation is not by the audience of the last delegation')
  if (!coversCommand(last.command, command))
    throw new TokenError(
      'token_command_not_covered',
      `the last delegation grants ${last.command}, not ${command}`,
    )
  return { root, last }
}

function readCached(
  { cid, bytes }: Unpacked['proofs'][number],
  cache: DelegationCache | undefined,
): Delegation {
  const known = cache?.get(cid)
  if (known) return known
  const delegation = readDelegation(bytes, cid)
  cache?.set(cid, delegation)
  return delegation
}

function checkTimes(
  what: string,
  { notBefore = 0, expires }: Pick<Delegation, 'notBefore' | 'expires'>,
  now: number,
): void {
  if (expires < now) throw new TokenError('token_expired', `${what} has expired`)
  if (notBefore > now) throw new TokenError('token_not_yet_valid', `${what} is not valid yet`)
}

/** The ones used last; a chain is some kilobytes. */
export function boundedCache(most: number): DelegationCache {
  const kept = new Map<string, Delegation>()
  return {
    get: (cid) => {
      const found = kept.get(cid)
      if (found && kept.delete(cid)) kept.set(cid, found)
      return found
    },
    set: (cid, delegation) => {
      kept.set(cid, delegation)
      if (kept.size > most) kept.delete(kept.keys().next().value ?? '')
    },
  }
}
