import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CordonError, show } from '@cordon/policy'
import { decodeContainer, encodeContainer } from '../tokens/container.ts'
import { COMMANDS, coversCommand } from '../commands.ts'
import {
  type Delegation,
  delegateOn,
  type DelegationTerms,
  MOST_LINKS,
  readDelegation,
} from '../tokens/delegation.ts'
import { chooseChain } from '../tokens/invocation.ts'
import { SigningKey } from '../tokens/key.ts'
import { createPrivate, makePrivateDirectory, readPrivate, replacePrivate } from '../keys/private-file.ts'

class WalletError extends CordonError {
  readonly code = 'WALLET'
}

/** What an agent holds: its key, and the delegations it was given, one container a line. All of it is secret. */
export class Wallet {
  readonly dir: string
  readonly key: SigningKey

  private constructor(dir: string, key: SigningKey) {
    this.dir = dir
    this.key = key
  }

  static exists(dir: string): boolean {
    return existsSync(join(dir, 'agent.key'))
  }

  /** Makes the key if there is none. */
  static create(dir: string): Wallet {
    makePrivateDirectory(dir)
    createPrivate(join(dir, 'agent.key'), `${SigningKey.generate().serialize()}\n`)
    return Wallet.open(dir)
  }

  /** `fix`: the command that makes one, as this caller would have it. */
  static open(dir: string, fix = `cordon provider wallet create --wallet ${show(dir)}`): Wallet {
    const text = readPrivate(join(dir, 'agent.key'))
    if (text === undefined)
      throw new WalletError(`there is no agent's key in ${show(dir)}; \`${fix}\` makes one`)
    return new Wallet(dir, SigningKey.load(text))
  }

  /** Everything in it, from the provider's delegations to the last, each once. */
  delegations(): Delegation[] {
    const found = this.#lines().flatMap(delegationsIn)
    return [...new Map(found.map((each) => [each.cid, each])).values()]
  }

  add(container: string): void {
    delegationsIn(container) // or it is refused
    replacePrivate(this.#file, `${readPrivate(this.#file) ?? ''}${container}\n`)
  }

  /** Takes out what this delegation is in, and so what stands on it; says how many lines that were. */
  remove(cid: string): number {
    const lines = this.#lines()
    const kept = lines.filter((line) => !delegationsIn(line).some((each) => each.cid === cid))
    if (kept.length < lines.length) replacePrivate(this.#file, kept.map((line) => `${line}\n`).join(''))
    return lines.length - kept.length
  }

  #lines(): string[] {
    return (readPrivate(this.#file) ?? '').split('\n').filter((line) => line !== '')
  }

  get #file(): string {
    return join(this.dir, 'delegations')
  }
}

const delegationsIn = (container: string): Delegation[] =>
  decodeContainer(container, MOST_LINKS).map((bytes) => readDelegation(bytes))

/** A delegation as text to hand over; with `chain`, what it stands on goes with it. */
export const sealDelegations = (chain: readonly Delegation[]): string =>
  encodeContainer(chain.map(({ bytes }) => bytes))

/** Offline: the new delegation with everything it stands on, as text for the other agent's wallet. */
export function delegateFrom(
  key: SigningKey,
  held: readonly Delegation[],
  terms: DelegationTerms,
  now: number,
): string {
  const covering = COMMANDS.filter((each) => coversCommand(terms.command, each))
  const chain = covering
    .map((command) => chooseChain(held, { agent: key.did, command, paths: [terms.prefix], now }))
    .find((found) => found && coversCommand(found.at(-1)!.command, terms.command))
  if (!chain)
    throw new WalletError(`no delegation in the wallet covers ${terms.command} on ${show(terms.prefix)}`)
  return sealDelegations([...chain, delegateOn(key, chain, terms)])
}
