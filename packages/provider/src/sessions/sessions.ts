import { timingSafeEqual } from 'node:crypto'
import type { Database } from '../storage/database.ts'
import { hashSecret, makeSecret } from './secret.ts'

const IDLE_MS = 30 * 60_000
const LONGEST_MS = 12 * 3_600_000
/** So often the cookie is replaced by another one. */
const ROTATE_MS = 10 * 60_000
/** What was sent before the new cookie came is still answered. */
const PREVIOUS_MS = 30_000
/** How exactly it is known when somebody was last here; not every request is a write. */
const SEEN_MS = 60_000

/** What the browser gets once: the cookie, which no script sees, and the key, which no other port of the host sees. */
export interface SessionSecrets {
  readonly cookie: string
  readonly key: string
}

export interface Session {
  readonly passkey: string
  /** The name of the passkey: who this is, in the audit. */
  readonly name: string
  /** Of the cookie that is good now. */
  readonly hash: string
  readonly seenAt: number
  readonly rotatedAt: number
}

/** Always with new secrets: a cookie that somebody planted before is worth nothing afterwards. */
export async function startSession(
  { queries }: Pick<Database, 'queries'>,
  passkey: string,
  now: number,
): Promise<SessionSecrets> {
  await queries
    .deleteFrom('sessions')
    .where((row) => row.or([row('seen_at', '<', now - IDLE_MS), row('created_at', '<', now - LONGEST_MS)]))
    .execute()
  const secrets = { cookie: makeSecret(), key: makeSecret() }
  await queries
    .insertInto('sessions')
    .values({
      hash: hashSecret(secrets.cookie),
      previous: null,
      key: hashSecret(secrets.key),
      passkey,
      created_at: now,
      rotated_at: now,
      seen_at: now,
    })
    .execute()
  return secrets
}

/** Undefined: nobody is signed in with these. Both secrets are needed, and the passkey must still be there. */
export async function findSession(
  { queries }: Pick<Database, 'queries'>,
  { cookie, key }: SessionSecrets,
  now: number,
): Promise<Session | undefined> {
  const hash = hashSecret(cookie)
  const row = await queries
    .selectFrom('sessions')
    .innerJoin('passkeys', 'passkeys.id', 'sessions.passkey')
    .selectAll('sessions')
    .select('passkeys.name')
    .where((at) => at.or([at('hash', '=', hash), at('previous', '=', hash)]))
    .executeTakeFirst()
  if (!row || !isSame(row.key, hashSecret(key))) return undefined
  if (now > Math.min(row.seen_at + IDLE_MS, row.created_at + LONGEST_MS)) return undefined
  if (row.hash !== hash && now > row.rotated_at + PREVIOUS_MS) return undefined
  const { passkey, name, seen_at: seenAt, rotated_at: rotatedAt } = row
  return { passkey, name, hash: row.hash, seenAt, rotatedAt }
}

/** Its holder did something: it lasts longer. Returns the new cookie when it was time for one; the browser must get it. */
export async function renewSession(
  { queries }: Pick<Database, 'queries'>,
  { hash, seenAt, rotatedAt }: Session,
  now: number,
): Promise<string | undefined> {
  if (now > rotatedAt + ROTATE_MS) {
    const cookie = makeSecret()
    const { numUpdatedRows } = await queries
      .updateTable('sessions')
      .set({ hash: hashSecret(cookie), previous: hash, rotated_at: now, seen_at: now })
      .where('hash', '=', hash) // of several requests at once, one replaces it
      .executeTakeFirst()
    return numUpdatedRows > 0n ? cookie : undefined
  }
  if (now > seenAt + SEEN_MS)
    await queries.updateTable('sessions').set({ seen_at: now }).where('hash', '=', hash).execute()
  return undefined
}

export async function endSession({ queries }: Pick<Database, 'queries'>, hash: string): Promise<void> {
  await queries.deleteFrom('sessions').where('hash', '=', hash).execute()
}

/**
 * Somebody who is not let in has the key of a session, with a cookie that is not good any more, however often it was
 * replaced since: two have the secrets, and nobody knows which of them is their holder. It ends for both. The key stays
 * the same for as long as the session lasts, and only who had both ever had it.
 */
export async function endReused(
  { queries }: Pick<Database, 'queries'>,
  { key }: SessionSecrets,
): Promise<void> {
  await queries.deleteFrom('sessions').where('key', '=', hashSecret(key)).execute()
}

const isSame = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a), Buffer.from(b))
