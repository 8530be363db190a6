import { CordonError, readsAsWritten, show, showSigned, skeletonOf } from '@cordon/policy'
import type { Database } from '../storage/database.ts'
import type { PasskeysTable } from '../storage/schema.ts'

export class PasskeyError extends CordonError {
  readonly code = 'PASSKEY'
}

export interface Passkey {
  readonly id: string
  readonly name: string
  readonly rpId: string
  readonly createdAt: number
  readonly usedAt: number | undefined
}

const NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u

/** In one spelling: nobody sees how `é` is composed, or that there are two blanks. */
export function parsePasskeyName(text: string): string {
  const name = text.normalize('NFC').trim().replace(/\s+/gu, ' ')
  if (!NAME.test(name))
    throw new PasskeyError(
      `${show(text)} is not a name for a passkey: 1 to 64 characters, all of them visible`,
    )
  if (!readsAsWritten(name))
    throw new PasskeyError(
      `${showSigned(name, 'name')} has letters that pass for others, or are drawn in another order than they are written: use usual ones, of one direction`,
    )
  return name
}

/** Who signed is told by the name: one that is read as another one's is that one's. */
export const looksAlike = (one: string, other: string): boolean =>
  one === other || (skeletonOf(one) ?? one) === (skeletonOf(other) ?? other)

export async function listPasskeys({ queries }: Pick<Database, 'queries'>): Promise<Passkey[]> {
  const rows = await queries.selectFrom('passkeys').selectAll().orderBy('created_at').execute()
  return rows.map(passkeyOf)
}

const passkeyOf = ({ id, name, rp_id, created_at, used_at }: PasskeysTable): Passkey => ({
  id,
  name,
  rpId: rp_id,
  createdAt: created_at,
  usedAt: used_at ?? undefined,
})

/** By its id, the beginning of it, or its name; whoever is signed in with it is signed out. */
export async function removePasskey(database: Database, which: string): Promise<Passkey> {
  return database.transaction(async (db) => {
    const all = await listPasskeys({ queries: db })
    const ways: ((each: Passkey) => boolean)[] = [
      ({ id }) => id === which, // alone, so that no name can stand in the way of an id
      ({ name }) => name === which,
      ({ id }) => which.length >= 4 && id.startsWith(which),
    ]
    const found = ways.map((isMeant) => all.filter(isMeant)).find(({ length }) => length > 0) ?? []
    const [only, another] = found
    if (!only)
      throw new PasskeyError(`there is no passkey ${show(which)}; \`cordon provider passkey ls\` lists them`)
    if (another) throw new PasskeyError(`${show(which)} means ${found.length} passkeys; give the id`)
    await db.deleteFrom('sessions').where('passkey', '=', only.id).execute()
    await db.deleteFrom('passkeys').where('id', '=', only.id).execute()
    return only
  })
}
