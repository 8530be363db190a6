import { createHmac } from 'node:crypto'
import type { Database } from '../storage/database.ts'
import { databaseSecret, hashSecret, makeSecret } from './secret.ts'

const IDLE_MS = 30 * 60_000
const LONGEST_MS = 12 * 3_600_000
/** So often the cookie is replaced by another one. */
const ROTATE_MS = 10 * 60_000
/** What was sent before the new cookie came is still answered; and so long that cookie may be on its way. */
const PREVIOUS_MS = 30_000
/** So long whoever has not got the new one is given another: then it would be time for the next. */
const LOST_MS = ROTATE_MS
/** How exactly it is known when somebody was last here; not every request is a write. */
const SEEN_MS = 60_000

/**
 * The cookie, which no script sees, and the public half of the key that signs every request of the page (decision 0342).
 * Of cookies there may be several: whoever has another port of the host can plant some beside ours (decision 0348).
 */
export interface SessionHalves {
  readonly cookies: readonly string[]
  readonly key: string
}

export interface Session {
  readonly passkey: string
  /** The name of the passkey: who this is, in the audit. */
  readonly name: string
  /** The public half of the key that its page signs with. */
  readonly key: string
  /** Of the cookie that is good now. */
  readonly hash: string
  /** Of the one that came: the same, or the one before. */
  readonly held: string
  /** When the good one, or one instead of which it was given, was given first; undefined: somebody has come with it. */
  readonly givenAt: number | undefined
  readonly seenAt: number
  readonly rotatedAt: number
}

/** Always with a new cookie, which is returned: one that somebody planted before is worth nothing afterwards. */
export async function startSession(
  { queries }: Pick<Database, 'queries'>,
  { passkey, key }: { readonly passkey: string; readonly key: string },
  now: number,
): Promise<string> {
  await queries
    .deleteFrom('sessions')
    .where((row) =>
      row.or([
        row('seen_at', '<', now - IDLE_MS),
        row('created_at', '<', now - LONGEST_MS),
        row('key', '=', key), // a session is found by its key, so a key has one
      ]),
    )
    .execute()
  const cookie = await makeCookie({ queries }, key)
  await queries
    .insertInto('sessions')
    .values({
      hash: hashSecret(cookie),
      previous: null,
      given_at: null, // there is none before it
      key,
      passkey,
      created_at: now,
      rotated_at: now,
      seen_at: now,
    })
    .execute()
  return cookie
}

/**
 * Undefined: nobody is signed in with these. Both are needed, and the passkey must still be there. That the key has signed
 * what is asked is for the caller to know.
 */
export async function findSession(
  { queries }: Pick<Database, 'queries'>,
  { cookies, key }: SessionHalves,
  now: number,
): Promise<Session | undefined> {
  const row = await queries
    .selectFrom('sessions')
    .innerJoin('passkeys', 'passkeys.id', 'sessions.passkey')
    .selectAll('sessions')
    .select('passkeys.name')
    .where('key', '=', key)
    .executeTakeFirst()
  if (!row || isOver(row, now)) return undefined
  const hashes = new Set(cookies.map(hashSecret))
  const givenAt = row.given_at ?? undefined
  const until = Math.max(row.rotated_at + PREVIOUS_MS, givenAt === undefined ? 0 : givenAt + LOST_MS)
  const isPrevious = row.previous !== null && hashes.has(row.previous) && now <= until
  const held = hashes.has(row.hash) ? row.hash : isPrevious ? row.previous : null
  if (held === null) return undefined
  const { passkey, name, seen_at: seenAt, rotated_at: rotatedAt } = row
  return { passkey, name, key, hash: row.hash, held, givenAt, seenAt, rotatedAt }
}

const isOver = (row: { readonly seen_at: number; readonly created_at: number }, now: number): boolean =>
  now > Math.min(row.seen_at + IDLE_MS, row.created_at + LONGEST_MS)

/**
 * Its holder did something: it lasts longer. Returns the new cookie when it was time for one; the browser must get it. Who
 * still comes with the one before has not got it, and is given another one, for ten minutes (decision 0416).
 */
export async function renewSession(
  { queries }: Pick<Database, 'queries'>,
  { hash, held, key, givenAt = 0, seenAt, rotatedAt }: Session,
  now: number,
): Promise<string | undefined> {
  if (now > rotatedAt + (held === hash ? ROTATE_MS : PREVIOUS_MS)) {
    const cookie = await makeCookie({ queries }, key)
    const { numUpdatedRows } = await queries
      .updateTable('sessions')
      .set({
        hash: hashSecret(cookie),
        previous: held,
        given_at: held === hash ? now : givenAt,
        rotated_at: now,
        seen_at: now,
      })
      .where('hash', '=', hash) // of several requests at once, one replaces it
      .executeTakeFirst()
    return numUpdatedRows > 0n ? cookie : undefined
  }
  if (now > seenAt + SEEN_MS)
    await queries.updateTable('sessions').set({ seen_at: now }).where('hash', '=', hash).execute()
  return undefined
}

/** From the first request with a new cookie on, the one before is nobody's. */
export async function noteArrival(
  { queries }: Pick<Database, 'queries'>,
  { hash, held, givenAt }: Session,
): Promise<void> {
  if (givenAt === undefined || held !== hash) return
  await queries.updateTable('sessions').set({ given_at: null }).where('hash', '=', hash).execute()
}

export async function endSession({ queries }: Pick<Database, 'queries'>, hash: string): Promise<void> {
  await queries.deleteFrom('sessions').where('hash', '=', hash).execute()
}

/**
 * Somebody who is not let in has signed with the key of a session, and comes with a cookie of this very session that is not
 * good any more, however often it was replaced since: two use it, and nobody knows which of them is its holder. It ends for
 * both, and whose it was is returned. What was never a cookie of it ends nothing.
 */
export async function endReused(
  database: Queries,
  { cookies, key }: SessionHalves,
  now: number,
): Promise<Pick<Session, 'name' | 'passkey'> | undefined> {
  const secret = await databaseSecret(database)
  if (!cookies.some((cookie) => isCookieOf(secret, key, cookie))) return undefined
  const { queries } = database
  const row = await queries
    .selectFrom('sessions')
    .innerJoin('passkeys', 'passkeys.id', 'sessions.passkey')
    .select(['sessions.passkey', 'seen_at', 'sessions.created_at', 'passkeys.name'])
    .where('key', '=', key)
    .executeTakeFirst()
  const { numDeletedRows } = await queries.deleteFrom('sessions').where('key', '=', key).executeTakeFirst()
  if (!row || numDeletedRows === 0n || isOver(row, now)) return undefined // it was over by itself
  return { name: row.name, passkey: row.passkey }
}

type Queries = Pick<Database, 'queries'>

/** With a seal, so that one that was replaced is known without being kept. */
async function makeCookie(database: Queries, key: string): Promise<string> {
  const random = makeSecret()
  return `${random}.${sealOf(await databaseSecret(database), key, random)}`
}

function isCookieOf(secret: string, key: string, cookie: string): boolean {
  const [random = ''] = cookie.split('.', 1)
  return hashSecret(cookie) === hashSecret(`${random}.${sealOf(secret, key, random)}`)
}

const sealOf = (secret: string, key: string, random: string): string =>
  createHmac('sha256', secret).update(`session cookie\n${key}\n${random}`).digest('base64url')
