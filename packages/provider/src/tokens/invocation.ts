import { randomUUID } from 'node:crypto'
import type { CID } from 'multiformats/cid'
import { type Command, coversCommand } from '../commands.ts'
import { encodeContainer } from './container.ts'
import { checkLink, type Delegation, MOST_LINKS } from './delegation.ts'
import { cidOf, sealEnvelope } from './envelope.ts'
import { type Did, type SigningKey } from './key.ts'
import { coversPath } from './prefix.ts'
import { TokenError } from './refusal.ts'

export interface InvocationTerms {
  /** The agent's own, the audience of the chain's last delegation. */
  readonly key: SigningKey
  /** From the provider's delegation to the one to this key; `chooseChain` finds it. */
  readonly chain: readonly Delegation[]
  readonly command: Command
  readonly args: Readonly<Record<string, unknown>>
  /** Seconds since 1970; a provider accepts five minutes ahead. */
  readonly expires: number
  readonly nonce?: Uint8Array
}

/** One use of a chain, with the chain, as text for a header or a body. */
export function signInvocation({ key, chain, command, args, expires, nonce }: InvocationTerms): string {
  const [root] = chain
  if (!root) throw new TokenError('token_broken_chain', 'an invocation needs a chain of delegations')
  const invocation = sealEnvelope('invocation', key, {
    iss: key.did,
    aud: root.subject,
    sub: root.subject,
    cmd: command,
    args,
    prf: chain.map(cidOfLink),
    nonce: Uint8Array.from(nonce ?? freshNonce()),
    exp: expires,
  })
  return encodeContainer([invocation, ...chain.map(({ bytes }) => bytes)])
}

/**
 * The time first and 74 bits of chance after it, as a UUID of version 7 has them: what one agent signs comes to a provider in
 * this order, and is remembered there on the page that the last one is on (decision 0620). Node draws the chance for many of
 * these at once; a few bytes of their own cost a call of the kernel (decision 0358).
 */
function freshNonce(): Uint8Array {
  const nonce = Buffer.from(randomUUID().replaceAll('-', ''), 'hex')
  nonce.writeUIntBE(Date.now(), 0, 6)
  return nonce
}

function cidOfLink(link: Delegation): CID {
  const cid = cids.get(link) ?? cidOf(link.bytes)
  cids.set(link, cid)
  return cid
}

/** An agent invokes the same delegations again and again. */
const cids = new WeakMap<Delegation, CID>()

export interface WantedUse {
  readonly agent: Did
  readonly command: Command
  /** Everything the call names: its path, and its destination if it has one. */
  readonly paths: readonly string[]
  /** Seconds since 1970. */
  readonly now: number
}

/**
 * From what an agent holds, in any order, the shortest chain that lets it do this now; undefined if there is none. Of
 * several the one that came last: whoever hands out a delegation again does so because the one before ended early, by a
 * revocation or a retired key, which an agent cannot see in it.
 */
export function chooseChain(held: readonly Delegation[], use: WantedUse): readonly Delegation[] | undefined {
  const usable = held
    .toReversed()
    .filter(
      ({ command, prefix, notBefore = 0, expires }) =>
        notBefore <= use.now &&
        use.now <= expires &&
        coversCommand(command, use.command) &&
        use.paths.every((path) => coversPath(prefix, path)),
    )
  let chains = usable.filter(({ audience }) => audience === use.agent).map((last) => [last])
  for (let links = 1; links <= MOST_LINKS && chains.length > 0; links++) {
    const complete = chains.find(([first]) => first?.issuer === first?.subject)
    if (complete) return complete
    chains = chains
      .flatMap((chain) => parentsOf(chain, usable).map((parent) => [parent, ...chain]))
      .slice(0, MOST_TRIED)
  }
  return undefined
}

const MOST_TRIED = 256

const parentsOf = ([child]: readonly Delegation[], from: readonly Delegation[]): Delegation[] =>
  from.filter((parent) => child !== undefined && isLink(parent, child))

function isLink(parent: Delegation, child: Delegation): boolean {
  try {
    checkLink(parent, child)
    return true
  } catch (error) {
    if (error instanceof TokenError) return false
    throw error
  }
}
