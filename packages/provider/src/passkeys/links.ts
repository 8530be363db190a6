import type { Database } from '../storage/database.ts'
import { hashSecret, makeSecret } from '../sessions/secret.ts'

const LINK_MS = 10 * 60_000

/** SPEC 7.7: who has the host's terminal may add a passkey, once, with the secret this returns (decision 0187). */
export async function makeLink({ queries }: Pick<Database, 'queries'>, now: number): Promise<string> {
  const secret = makeSecret()
  await forgetLinks({ queries }, now)
  await queries
    .insertInto('links')
    .values({ hash: hashSecret(secret), expires_at: now + LINK_MS })
    .execute()
  return secret
}

/** For good: a clock that is set back afterwards brings none of them back. */
export async function forgetLinks({ queries }: Pick<Database, 'queries'>, now: number): Promise<void> {
  await queries.deleteFrom('links').where('expires_at', '<', now).execute()
}

/** In the fragment, which no browser sends to anybody: not to a proxy, a log or the next page. */
export const linkUrl = (origin: string, secret: string): string => `${origin}/console/link#${secret}`

export async function isLinkGood(
  { queries }: Pick<Database, 'queries'>,
  secret: string,
  now: number,
): Promise<boolean> {
  const row = await queries
    .selectFrom('links')
    .select('expires_at')
    .where('hash', '=', hashSecret(secret))
    .executeTakeFirst()
  return row !== undefined && now <= row.expires_at
}

/** Of several who try, one is told true. */
export async function useLink(
  { queries }: Pick<Database, 'queries'>,
  secret: string,
  now: number,
): Promise<boolean> {
  const { numDeletedRows } = await queries
    .deleteFrom('links')
    .where('hash', '=', hashSecret(secret))
    .where('expires_at', '>=', now)
    .executeTakeFirst()
  return numDeletedRows > 0n
}
