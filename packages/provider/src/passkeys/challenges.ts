import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { databaseSecret, hashSecret, makeSecret } from '../sessions/secret.ts'
import { clockFloor, raiseClockFloor } from '../storage/clock-floor.ts'
import type { Database } from '../storage/database.ts'

/** What a passkey is asked for. */
export type Purpose = 'register' | 'sign in' | 'step up'

/** A person looks for the key in a pocket. */
const CHALLENGE_MS = 5 * 60_000

export interface Challenge {
  /** Comes back with the answer. */
  readonly ceremony: string
  /** What the passkey signs: bound to the purpose and the subject, so that an answer fits one question only. */
  readonly challenge: string
}

type Queries = Pick<Database, 'queries'>

/**
 * Nothing is stored for a question: anybody may ask, and who is not signed in must not be able to push out the questions of
 * others (decision 0187). So the ceremony itself carries until when it is good, and a seal of the provider's.
 */
export async function makeChallenge(
  database: Queries,
  purpose: Purpose,
  subject: string,
  now: number,
): Promise<Challenge> {
  const stem = `${now + CHALLENGE_MS}.${makeSecret()}`
  const ceremony = `${stem}.${sealOf(await databaseSecret(database), stem, purpose, subject)}`
  return { ceremony, challenge: challengeOf(purpose, ceremony, subject) }
}

/** What must have been signed; undefined when it was never asked, too long ago, or is answered. */
export async function findChallenge(
  database: Queries,
  purpose: Purpose,
  subject: string,
  ceremony: string,
  now: number,
): Promise<string | undefined> {
  const [expires = '', secret = '', seal = '', ...rest] = ceremony.split('.')
  const expected = sealOf(await databaseSecret(database), `${expires}.${secret}`, purpose, subject)
  const isOurs =
    rest.length === 0 &&
    seal.length === expected.length &&
    timingSafeEqual(Buffer.from(hashSecret(seal)), Buffer.from(hashSecret(expected)))
  if (!isOurs || Math.max(now, await clockFloor(database)) > Number(expires)) return undefined
  const used = await database.queries
    .selectFrom('used_challenges')
    .select('hash')
    .where('hash', '=', hashSecret(ceremony))
    .executeTakeFirst()
  return used ? undefined : challengeOf(purpose, ceremony, subject)
}

/** Once: of two answers at the same moment that were both right, one gets false. Kept until the ceremony is too old anyway. */
export async function useChallenge(
  database: Pick<Database, 'queries' | 'transaction'>,
  ceremony: string,
  now: number,
): Promise<boolean> {
  const { queries } = database
  await database.transaction(async (db) => {
    await raiseClockFloor(db, now - 1000) // what is forgotten must not become good again by a clock set back
    await db
      .deleteFrom('used_challenges')
      .where('expires_at', '<', now - 1000)
      .execute()
  })
  const { numInsertedOrUpdatedRows } = await queries
    .insertInto('used_challenges')
    .values({ hash: hashSecret(ceremony), expires_at: Number(ceremony.split('.')[0]) })
    .onConflict((row) => row.column('hash').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

const sealOf = (secret: string, stem: string, purpose: Purpose, subject: string): string =>
  createHmac('sha256', secret).update(`${purpose}\n${stem}\n${subject}`).digest('base64url')

/** The page computes those of a sign-in and of a step-up itself (`console/src/page-key.ts`). */
const challengeOf = (purpose: Purpose, ceremony: string, subject: string): string =>
  createHash('sha256').update(`cordon passkey 1\n${purpose}\n${ceremony}\n${subject}`).digest('base64url')
