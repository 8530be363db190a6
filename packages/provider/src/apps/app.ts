import { CordonError, show } from '@cordon/policy'
import type { Transaction } from 'kysely'
import type { Database } from '../storage/database.ts'
import { raiseGeneration } from '../storage/generation.ts'
import type { AppsTable, Schema } from '../storage/schema.ts'
import { type Did, parseDid } from '../tokens/key.ts'

/** SPEC 7.1: an agent that a person let in. Without a policy and a delegation it can do nothing. */
export interface App {
  readonly id: string
  readonly did: Did
  readonly enabled: boolean
  readonly limits: AppLimits
  readonly createdAt: number
}

/** Of each provider process, for one app. */
export interface AppLimits {
  readonly requestsPerMinute: number
  readonly concurrent: number
  /** Read and written together. */
  readonly bytesPerMinute: number
}

const DEFAULT_LIMITS: AppLimits = {
  requestsPerMinute: 6000,
  concurrent: 64,
  bytesPerMinute: 4 * 1024 ** 3,
}

export class AppError extends CordonError {
  readonly code = 'APP'
}

/** Part of file names and of Cedar's entities. */
const ID = /^[a-z0-9][a-z0-9_-]{0,63}$/

export const parseAppId = (text: string): string => {
  if (ID.test(text)) return text
  throw new AppError(`${show(text)} is not a name for an app: use a-z, 0-9, _ and -, at most 64`)
}

export interface NewApp {
  readonly id: string
  readonly did: string
  readonly limits?: Partial<AppLimits>
}

export async function createApp(database: Database, app: NewApp, now: number): Promise<App> {
  const made: AppsTable = {
    id: parseAppId(app.id),
    did: parseDid(app.did),
    enabled: 1,
    limits: JSON.stringify({ ...DEFAULT_LIMITS, ...app.limits }),
    created_at: now,
  }
  return database.transaction(async (db) => {
    const there = await db
      .selectFrom('apps')
      .select('id')
      .where((row) => row.or([row('id', '=', made.id), row('did', '=', made.did)]))
      .executeTakeFirst()
    if (there) throw new AppError(`there is an app ${there.id} with this name or DID already`)
    await db.insertInto('apps').values(made).execute()
    await raiseGeneration(db)
    return appOf(made)
  })
}

export async function listApps({ queries }: Pick<Database, 'queries'>): Promise<App[]> {
  return (await queries.selectFrom('apps').selectAll().orderBy('id').execute()).map(appOf)
}

export async function findApp({ queries }: Pick<Database, 'queries'>, id: string): Promise<App> {
  const row = await queries.selectFrom('apps').selectAll().where('id', '=', id).executeTakeFirst()
  if (row) return appOf(row)
  throw new AppError(`there is no app ${show(id)}; \`cordon provider app ls\` lists them`)
}

/** By who its delegations are made out to. */
export async function findAppByDid(
  { queries }: Pick<Database, 'queries'>,
  did: Did,
): Promise<App | undefined> {
  const row = await queries.selectFrom('apps').selectAll().where('did', '=', did).executeTakeFirst()
  return row && appOf(row)
}

export async function setEnabled(database: Database, id: string, enabled: boolean): Promise<void> {
  await findApp(database, id)
  await database.transaction(async (db) => {
    await db
      .updateTable('apps')
      .set({ enabled: enabled ? 1 : 0 })
      .where('id', '=', id)
      .execute()
    await raiseGeneration(db)
  })
}

/** How the trail says it. */
export const switched = (
  app: string,
  enabled: boolean,
): { readonly name: string; readonly detail: Readonly<Record<string, string>> } => ({
  name: enabled ? 'app enabled' : 'app disabled',
  detail: { app },
})

/** Its delegations stay known, and revoked: an app of the same name is another one. */
export async function removeApp(database: Database, id: string, now: number): Promise<void> {
  await findApp(database, id)
  await database.transaction(async (db) => {
    const issued = await db.selectFrom('delegations').select('cid').where('app', '=', id).execute()
    for (const { cid } of issued)
      await db
        .insertInto('revocations')
        .values({ cid, revoked_at: now })
        .onConflict((row) => row.column('cid').doNothing())
        .execute()
    await withdrawPolicies(db, id, now)
    await db.deleteFrom('apps').where('id', '=', id).execute()
    await raiseGeneration(db)
  })
}

/** Taken away and not forgotten: a version that the audit names is never another text's. */
async function withdrawPolicies(db: Transaction<Schema>, scope: string, now: number): Promise<void> {
  const rows = await db
    .selectFrom('policies')
    .select(['version', 'scope', 'name'])
    .orderBy('version')
    .execute()
  const newest = rows.at(-1)?.version ?? 0
  const names = new Set(rows.filter((row) => row.scope === scope).map(({ name }) => name))
  for (const [i, name] of [...names].entries())
    await db
      .insertInto('policies')
      .values({ version: newest + 1 + i, scope, name, text: null, cases: '[]', created_at: now })
      .execute()
}

const appOf = (row: AppsTable): App => ({
  id: row.id,
  did: row.did as Did,
  enabled: row.enabled === 1,
  limits: JSON.parse(row.limits) as AppLimits,
  createdAt: row.created_at,
})
