import type { CompiledQuery } from 'kysely'
import { Refusal } from '../errors.ts'
import { Batcher } from '../storage/batcher.ts'
import { raiseClockFloor } from '../storage/clock-floor.ts'
import type { Database } from '../storage/database.ts'
import type { VerifiedInvocation } from '../tokens/verify.ts'

/** How often what has expired is forgotten. */
const PURGE_EVERY_MS = 30_000

/**
 * SPEC 7.3: an invocation counts once, at whichever provider of this database it arrives: who sends the same again sends
 * the same end of it, too. The memory of it is durable before anything is done, because the intent that follows is.
 */
export class Replay {
  readonly #database: Database
  readonly #claims: Batcher<Claim, boolean>
  readonly #inserts = new Map<number, CompiledQuery<{ nonce: string }>>()
  #purgedAt = 0

  constructor(database: Database, isAlone: () => boolean) {
    this.#database = database
    this.#claims = new Batcher((claims) => this.#claim(claims), isAlone)
  }

  async require(
    { agent, nonce, expires }: Pick<VerifiedInvocation, 'agent' | 'nonce' | 'expires'>,
    now: number,
  ): Promise<void> {
    const claimed = await this.#claims.add({
      nonce: `${agent} ${Buffer.from(nonce).toString('base64url')}`,
      expires_at: expires * 1000,
    })
    if (!claimed)
      throw new Refusal('token_replayed', 'this invocation was used before; sign a new one for every request')
    if (Math.abs(now - this.#purgedAt) > PURGE_EVERY_MS) this.#purge(now)
  }

  async #claim(claims: readonly Claim[]): Promise<boolean[]> {
    // The same one twice in a batch: one row, and one winner.
    const unique = new Map(claims.map((claim) => [claim.nonce, claim]))
    const rows = await this.#database.runQuery(this.#insert([...unique.values()]))
    const fresh = new Set(rows.map(({ nonce }) => nonce))
    return claims.map(({ nonce }) => fresh.delete(nonce))
  }

  /** Written once for every number of rows. */
  #insert(claims: readonly Claim[]): CompiledQuery<{ nonce: string }> {
    let known = this.#inserts.get(claims.length)
    if (!known) {
      known = this.#database.queries
        .insertInto('nonces')
        .values([...claims])
        .onConflict((row) => row.columns(['expires_at', 'nonce']).doNothing())
        .returning('nonce')
        .compile()
      this.#inserts.set(claims.length, known)
    }
    return { ...known, parameters: claims.flatMap(({ nonce, expires_at }) => [nonce, expires_at]) }
  }

  #purge(now: number): void {
    this.#purgedAt = now
    const until = now - 1000
    this.#database
      .transaction(async (db) => {
        await raiseClockFloor(db, until)
        await db.deleteFrom('nonces').where('expires_at', '<', until).execute()
      })
      .catch(() => {
        this.#purgedAt = 0 // tried again with the next request
      })
  }
}

interface Claim {
  readonly nonce: string
  readonly expires_at: number
}
