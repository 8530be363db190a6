import { join } from 'node:path'
import { type Author, changeRecorded, type Recording } from '../audit/change.ts'
import type { Database } from '../storage/database.ts'
import { raiseGeneration } from '../storage/generation.ts'
import { type Did, SigningKey } from '../tokens/key.ts'
import {
  createPrivate,
  makePrivateDirectory,
  PrivateFileError,
  readPrivate,
  replacePrivate,
} from './private-file.ts'

const fileIn = (dir: string): string => join(dir, 'provider.key')

/** SPEC 7.1: the secret stays in the user's data directory; only its public part is in the database. Made on first start. */
export function openAmbientProviderKey(dir: string): SigningKey {
  makePrivateDirectory(dir)
  const file = fileIn(dir)
  if (readPrivate(file) === undefined) createPrivate(file, `${SigningKey.generate().serialize()}\n`)
  return SigningKey.load(readPrivate(file)!)
}

/**
 * As it is now: it may have been rotated. One that is gone is not made anew while a provider works with it: no database knows
 * the new one, and what it signed would count as forged.
 */
export function currentProviderKey(dir: string): SigningKey {
  const text = readPrivate(fileIn(dir))
  if (text === undefined)
    throw new PrivateFileError(fileIn(dir), 'is gone; put it back, or start anew to make another')
  return SigningKey.load(text)
}

export interface KnownKey {
  readonly did: Did
  readonly createdAt: number
  readonly retiredAt: number | undefined
}

/**
 * The key of a host that is at this database for the first time. It grants as every other does, so the trail says since
 * when, and who brought it (decision 0399).
 */
export async function introduceKey(
  recording: Recording,
  key: SigningKey,
  author: Author,
  now: number,
): Promise<void> {
  if (await isKnownKey(recording.database, key.did)) return
  await changeRecorded(recording, author, async (database) => {
    await registerKey(database, key, now)
    return { result: undefined, name: 'key added', detail: { did: key.did } }
  })
}

/** Every provider on this database accepts what this key delegated, from now on. */
export async function registerKey(database: Database, key: SigningKey, now: number): Promise<void> {
  await database.transaction(async (db) => {
    await db
      .insertInto('provider_keys')
      .values({ did: key.did, created_at: now, retired_at: null })
      .onConflict((row) => row.column('did').doNothing())
      .execute()
    await raiseGeneration(db)
  })
}

/**
 * A new key signs from now on; what the old one delegated counts until it is retired. `register` makes it known to all
 * providers of the database, before it can sign anything.
 */
export async function rotateKey(
  dir: string,
  register: (key: SigningKey) => Promise<void>,
): Promise<SigningKey> {
  const key = SigningKey.generate()
  await register(key)
  replacePrivate(fileIn(dir), `${key.serialize()}\n`)
  return key
}

/** Nothing it signed counts any more. Says whether there was such a key in use. */
export async function retireKey(database: Database, did: string, now: number): Promise<boolean> {
  return database.transaction(async (db) => {
    const { numUpdatedRows } = await db
      .updateTable('provider_keys')
      .set({ retired_at: now })
      .where('did', '=', did)
      .where('retired_at', 'is', null)
      .executeTakeFirst()
    await raiseGeneration(db)
    return numUpdatedRows > 0n
  })
}

export const isKnownKey = async (database: Pick<Database, 'queries'>, did: Did): Promise<boolean> =>
  (await listKeys(database)).some((each) => each.did === did)

export async function listKeys(database: Pick<Database, 'queries'>): Promise<KnownKey[]> {
  const rows = await database.queries.selectFrom('provider_keys').selectAll().orderBy('created_at').execute()
  return rows.map(({ did, created_at, retired_at }) => ({
    did: did as Did,
    createdAt: created_at,
    retiredAt: retired_at ?? undefined,
  }))
}
