import { type App, findAppByDid } from './apps/app.ts'
import { revokedAmong } from './apps/delegations.ts'
import { listKeys } from './keys/provider-key.ts'
import { Batcher } from './storage/batcher.ts'
import type { Database } from './storage/database.ts'
import type { Did } from './tokens/key.ts'

/** Remembered per generation; more than this is forgotten and asked for again. */
const MOST_REMEMBERED = 10_000

/** What people decided, as of one generation: apps, keys, revocations, policies. Asked for once, then remembered. */
class Snapshot {
  readonly generation: number
  readonly #database: Database
  readonly #known = new Map<string, Promise<unknown>>()

  constructor(database: Database, generation: number) {
    this.#database = database
    this.generation = generation
  }

  /** The DIDs whose delegations count. */
  providers(): Promise<readonly Did[]> {
    return this.remember('providers', async () =>
      (await listKeys(this.#database))
        .filter(({ retiredAt }) => retiredAt === undefined)
        .map(({ did }) => did),
    )
  }

  app(did: Did): Promise<App | undefined> {
    return this.remember(`app ${did}`, () => findAppByDid(this.#database, did))
  }

  /** Whether one of a chain is revoked. */
  isRevoked(cids: readonly string[]): Promise<boolean> {
    const key = `revoked ${cids.join(' ')}`
    return this.remember(key, async () => (await revokedAmong(this.#database, cids)).size > 0)
  }

  remember<T>(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#known.get(key)
    if (known) return known as Promise<T>
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear()
    const asked = ask()
    this.#known.set(key, asked)
    asked.catch(() => this.#known.delete(key))
    return asked
  }
}

export interface Now {
  readonly snapshot: Snapshot
  /** The clock, never below what replay protection has forgotten. */
  readonly now: number
}

/** Asks the database, once for all who ask together, whether what is remembered still holds. */
export class Registry {
  readonly #clock: () => number
  readonly #asking: Batcher<undefined, Now>

  constructor(database: Database, clock: () => number, isAlone: () => boolean) {
    this.#clock = clock
    let snapshot = new Snapshot(database, 0)
    const readMeta = database.queries.selectFrom('meta').selectAll().compile()
    this.#asking = new Batcher(async (askers) => {
      const rows = await database.runQuery(readMeta)
      const meta = Object.fromEntries(rows.map(({ name, value }) => [name, value]))
      const generation = meta['generation'] ?? 0
      if (generation !== snapshot.generation) snapshot = new Snapshot(database, generation)
      const now = Math.max(this.#clock(), meta['clock_floor'] ?? 0)
      return askers.map(() => ({ snapshot, now }))
    }, isAlone)
  }

  current(): Promise<Now> {
    return this.#asking.add(undefined)
  }
}
