import { lstatSync, realpathSync, type Stats } from 'node:fs'
import { show } from '@cordon/policy'
import { isCommandScope } from '../commands.ts'
import type { Database } from '../storage/database.ts'
import { raiseGeneration } from '../storage/generation.ts'
import { type Delegation, mintDelegation } from '../tokens/delegation.ts'
import type { SigningKey } from '../tokens/key.ts'
import { parsePrefix } from '../tokens/prefix.ts'
import { type App, AppError } from './app.ts'

export interface MintTerms {
  readonly prefix: string
  readonly command?: string
  readonly ttlSeconds?: number
}

const DEFAULT_TTL_SECONDS = 30 * 24 * 3600

/** The root of a chain: signed by the provider, made out to the app, and remembered so that it can be revoked. */
export async function mintFor(
  database: Database,
  key: SigningKey,
  app: App,
  { prefix: text, command = '/filesystem', ttlSeconds = DEFAULT_TTL_SECONDS }: MintTerms,
  now: number,
): Promise<Delegation> {
  const prefix = parsePrefix(text)
  requireDirectory(prefix)
  if (!isCommandScope(command)) throw new AppError(`there is no command ${show(command)}, nor one below it`)
  if (!(ttlSeconds > 0)) throw new AppError('a delegation must last for some time')
  const expires = Math.floor(now / 1000) + Math.floor(ttlSeconds)
  const delegation = mintDelegation(key, { audience: app.did, prefix, command, expires })
  await database.transaction(async (db) => {
    await db
      .insertInto('delegations')
      .values({
        cid: delegation.cid,
        app: app.id,
        audience: app.did,
        command,
        path_prefix: prefix,
        issued_at: now,
        expires_at: expires * 1000,
      })
      .execute()
    await raiseGeneration(db) // nothing is decided by this list; open pages of the console show it
  })
  return delegation
}

/** SPEC 7.3: a prefix that is a link, or below one, could be led elsewhere later. Checked again at every request. */
function requireDirectory(prefix: string): void {
  const { stat, real } = lookAt(prefix)
  if (real !== prefix)
    throw new AppError(`${show(prefix)} is, or lies below, a symbolic link; mint for ${show(real)}`)
  if (!stat.isDirectory()) throw new AppError(`${show(prefix)} is not a directory`)
}

function lookAt(prefix: string): { readonly stat: Stats; readonly real: string } {
  try {
    return { stat: lstatSync(prefix), real: realpathSync.native(prefix) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new AppError(
      code === 'ENOENT' || code === 'ENOTDIR'
        ? `${show(prefix)} does not exist`
        : code === 'EACCES'
          ? `${show(prefix)} cannot be looked at: this user, who serves it, has no permission`
          : `${show(prefix)} cannot be looked at (${code ?? String(error)})`,
    )
  }
}

export interface Issued {
  readonly cid: string
  readonly app: string
  readonly command: string
  readonly prefix: string
  readonly issuedAt: number
  readonly expiresAt: number | undefined
  readonly revoked: boolean
}

export async function listDelegations(
  { queries }: Pick<Database, 'queries'>,
  app?: string,
): Promise<Issued[]> {
  let query = queries
    .selectFrom('delegations')
    .leftJoin('revocations', 'revocations.cid', 'delegations.cid')
    .selectAll('delegations')
    .select('revocations.revoked_at')
  if (app !== undefined) query = query.where('app', '=', app)
  const rows = await query.orderBy('issued_at').execute()
  return rows.map((row) => ({
    cid: row.cid,
    app: row.app,
    command: row.command,
    prefix: row.path_prefix,
    issuedAt: row.issued_at,
    expiresAt: row.expires_at ?? undefined,
    revoked: row.revoked_at !== null,
  }))
}

/** From the next request on, at every provider of this database, also for what was delegated on from it. */
export async function revoke(database: Database, cid: string, now: number): Promise<void> {
  if (!/^b[a-z2-7]{58}$/.test(cid)) throw new AppError(`${show(cid)} is not the CID of a delegation`)
  await database.transaction(async (db) => {
    await db
      .insertInto('revocations')
      .values({ cid, revoked_at: now })
      .onConflict((row) => row.column('cid').doNothing())
      .execute()
    await raiseGeneration(db)
  })
}

/** Which of these were revoked. */
export async function revokedAmong(
  { queries }: Pick<Database, 'queries'>,
  cids: readonly string[],
): Promise<Set<string>> {
  const rows = await queries.selectFrom('revocations').select('cid').where('cid', 'in', cids).execute()
  return new Set(rows.map(({ cid }) => cid))
}
