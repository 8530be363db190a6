import { hash, randomBytes } from 'node:crypto'
import type { Database } from '../storage/database.ts'

/** 256 bits that only its holder knows; the database keeps `hashSecret` of it. */
export const makeSecret = (): string => randomBytes(32).toString('base64url')

export const hashSecret = (secret: string): string => hash('sha256', secret)

/** What is sealed with it is known to all providers on one database: an answer may reach another one than the question. */
export async function databaseSecret({ queries }: Pick<Database, 'queries'>): Promise<string> {
  const { value } = await queries
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', 'challenges')
    .executeTakeFirstOrThrow()
  return value
}
