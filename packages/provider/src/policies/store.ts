import { CordonError, show } from '@cordon/policy'
import { parseCases, type PolicyCase } from '../cedar/cases.ts'
import { type LoadedPolicies, loadPolicies, type RefusedPolicies } from '../cedar/load.ts'
import type { Database } from '../storage/database.ts'
import { raiseGeneration } from '../storage/generation.ts'

/** Whose requests a policy is about: one app's, or everybody's. */
export type Scope = string

const EVERYBODY: Scope = '*'

export interface StoredPolicy {
  readonly scope: Scope
  readonly name: string
  readonly version: number
  readonly text: string
  readonly cases: readonly PolicyCase[]
  readonly createdAt: number
}

/** SPEC 7.4: refused at load, with the corrected text. */
export class PolicyRefused extends CordonError {
  readonly code = 'POLICY_REFUSED'
  readonly refused: RefusedPolicies
  constructor(name: string, refused: RefusedPolicies) {
    const problems = refused.problems.map(({ line, message }) => `\n  line ${line}: ${message}`).join('')
    const fix =
      refused.corrected === undefined ? '' : `\nto have what was meant, write:\n${refused.corrected}`
    super(`the policy ${show(name)} is refused:${problems}${fix}`)
    this.refused = refused
  }
}

/** The newest version of every name; what was taken away is not there. */
export async function listPolicies(
  { queries }: Pick<Database, 'queries'>,
  scopes?: readonly Scope[],
): Promise<StoredPolicy[]> {
  let query = queries
    .selectFrom('policies as p')
    .selectAll()
    .where((row) =>
      row(
        'p.version',
        '=',
        row
          .selectFrom('policies as q')
          .select((q) => q.fn.max('q.version').as('newest'))
          .whereRef('q.scope', '=', 'p.scope')
          .whereRef('q.name', '=', 'p.name'),
      ),
    )
    .where('text', 'is not', null)
  if (scopes) query = query.where('scope', 'in', scopes)
  const rows = await query.orderBy('scope').orderBy('name').execute()
  return rows.map((row) => ({
    scope: row.scope,
    name: row.name,
    version: row.version,
    text: row.text ?? '',
    cases: parseCases(JSON.parse(row.cases)),
    createdAt: row.created_at,
  }))
}

export interface NewPolicy {
  readonly scope: Scope
  readonly name: string
  /** Null takes it away; its versions are kept. */
  readonly text: string | null
  readonly cases?: readonly PolicyCase[]
}

/** Nothing is stored that would not load, alone and together with what it will be loaded with. */
export async function setPolicy(
  database: Database,
  { scope, name, text, cases }: NewPolicy,
  now: number,
): Promise<number> {
  if (text !== null) requireLoaded(name, loadPolicies(text))
  return database.transaction(async (db) => {
    const newest = await db
      .selectFrom('policies')
      .select((row) => row.fn.max('version').as('version'))
      .executeTakeFirst()
    const version = (newest?.version ?? 0) + 1
    const before = (await listPolicies({ queries: db }, [scope])).find((each) => each.name === name)
    const kept = JSON.stringify(cases ?? before?.cases ?? [])
    await db
      .insertInto('policies')
      .values({ version, scope, name, text, cases: kept, created_at: now })
      .execute()
    const scopes = scope === EVERYBODY ? [EVERYBODY] : [EVERYBODY, scope]
    requireLoaded(name, loadPolicies(joined(await listPolicies({ queries: db }, scopes))))
    await raiseGeneration(db)
    return version
  })
}

/** What decides about an app: everybody's policies and its own. With none at all, nothing is permitted. */
export async function policiesOf(
  database: Pick<Database, 'queries'>,
  app: string,
): Promise<LoadedPolicies | RefusedPolicies> {
  return loadPolicies(joined(await listPolicies(database, [EVERYBODY, app])))
}

const joined = (policies: readonly StoredPolicy[]): string => policies.map(({ text }) => text).join('\n')

function requireLoaded(name: string, loaded: LoadedPolicies | RefusedPolicies): void {
  if (loaded.kind === 'refused') throw new PolicyRefused(name, loaded)
}
