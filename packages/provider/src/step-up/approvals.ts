import { randomBytes } from 'node:crypto'
import { CordonError, type ErrorCode, show } from '@cordon/policy'
import type { Expression, ExpressionBuilder, SelectQueryBuilder, SqlBool, Transaction } from 'kysely'
import type { AuditLog } from '../audit/log.ts'
import { eventOf } from '../audit/record.ts'
import type { Command } from '../commands.ts'
import { Refusal } from '../errors.ts'
import { listKeys } from '../keys/provider-key.ts'
import type { Database } from '../storage/database.ts'
import type { ApprovalsTable, Schema } from '../storage/schema.ts'
import type { SigningKey } from '../tokens/key.ts'
import { APPROVAL_GIVEN, cosign, isCosigned, readGiven } from './proof.ts'
import type { ApprovalRequest } from './request.ts'

export const DEFAULT_APPROVAL_MS = 60_000
export const MOST_APPROVAL_MS = 300_000
/** So long whatever would come to the same is answered with the no that a person said. */
const NO_HOLDS_MS = 3_600_000
/** What came of a request is in the audit for ever; the request itself, with its paths and its diff, is kept so long. */
const KEPT_MS = 30 * 24 * 3_600_000
/** And of one app no more than this, the newest: questions cost an agent nothing, and a large one may have a megabyte. */
const MOST_KEPT = 1000
const MOST_KEPT_CHARACTERS = 16 * 2 ** 20
/** A person is asked about so many things of one app at once. */
const MOST_OPEN = 16

export interface Approval {
  readonly id: string
  readonly app: string
  readonly agent: string
  readonly command: Command
  readonly binding: string
  readonly request: ApprovalRequest
  readonly state: ApprovalsTable['state']
  readonly openedAt: number
  readonly expiresAt: number
  readonly decidedBy: string | undefined
  /** Until then the no counts; undefined when there is none, or not any more. */
  readonly noUntil: number | undefined
}

class ApprovalError extends CordonError {
  readonly code: ErrorCode = 'APPROVAL'
}

/** Somebody else was quicker, or nobody was quick enough. */
export class ApprovalClosed extends ApprovalError {
  override readonly code = 'APPROVAL_CLOSED'
  readonly approval: Approval
  constructor(approval: Approval) {
    super(`the approval ${approval.id} is ${approval.state} already`)
    this.approval = approval
  }
}

export interface Asked {
  readonly app: string
  readonly agent: string
  readonly command: Command
  readonly binding: string
  readonly meaning: string
  readonly request: ApprovalRequest
}

/**
 * SPEC 7.5: passes once if a person has signed for exactly this; else asks, and refuses. Returns the id of the approval
 * that was used. One transaction under the app's lock, so that of several providers one uses it and one asks.
 */
export async function requireApproval(
  database: Database,
  asked: Asked,
  now: number,
  { lastsMs = DEFAULT_APPROVAL_MS, origin }: { readonly lastsMs?: number; readonly origin: string },
): Promise<string> {
  const found = await database.transaction(async (db) => {
    await database.lock(db, `approvals of ${asked.app}`)
    const rows = await database.lockRow(stillCounting(db, asked, now)).execute()
    const signed = rows.find((row) => row.state === 'approved')
    if (signed) {
      await requireProof(database, db, signed)
      await db.updateTable('approvals').set({ state: 'used' }).where('id', '=', signed.id).execute()
      return { used: signed.id }
    }
    const no = rows.find((row) => row.state === 'denied')
    if (no)
      throw new Refusal('step_up_denied', 'a person said no to this; it holds for an hour', {
        approval: no.id,
      })
    const open = rows.find((row) => row.state === 'open')
    return { open: open ?? (await openApproval(db, asked, now, lastsMs)) }
  })
  if (found.used !== undefined) return found.used
  const { id, expires_at } = found.open
  const url = `${origin}/approvals/${id}`
  throw new Refusal(
    'step_up_required',
    `a person must approve this: at ${url}, or by \`cordon provider approve ${id}\` on the host; then ask again`,
    { approval: id, url, expires_at: new Date(expires_at).toISOString() },
  )
}

type Counting = Pick<ApprovalsTable, 'id' | 'state' | 'binding' | 'expires_at' | 'proof' | 'record'>

/** A yes to exactly this request, a no to what it would come to; without all that were asked for it ever, and without what a person was shown: that may be megabytes. */
const stillCounting = (
  db: Transaction<Schema>,
  { binding, meaning }: Pick<Asked, 'binding' | 'meaning'>,
  now: number,
): SelectQueryBuilder<Schema, 'approvals', Counting> =>
  db
    .selectFrom('approvals')
    .select(['id', 'state', 'binding', 'expires_at', 'proof', 'record'])
    .where((row) =>
      row.or([
        row.and([
          row('binding', '=', binding),
          row('state', 'in', ['open', 'approved']),
          row('expires_at', '>=', now),
        ]),
        row.and([
          row('meaning', '=', meaning),
          row('state', '=', 'denied'),
          row('decided_at', '>', now - NO_HOLDS_MS),
        ]),
      ]),
    )

async function openApproval(
  db: Transaction<Schema>,
  { app, agent, command, binding, meaning, request }: Asked,
  now: number,
  lastsMs: number,
): Promise<ApprovalsTable> {
  const { count } = await db
    .selectFrom('approvals')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('app', '=', app)
    .where('state', '=', 'open')
    .where('expires_at', '>=', now)
    .executeTakeFirstOrThrow()
  if (count >= MOST_OPEN)
    throw new Refusal('too_many_approvals', `${MOST_OPEN} requests of this app wait for a person already`)
  // Where the next one is put, under the same lock: no process has to be awake for it.
  await forgetOld(db, app, now)
  const text = JSON.stringify(request)
  const made: ApprovalsTable = {
    id: randomBytes(9).toString('hex'), // typed after a command: nothing in it reads as an option
    app,
    agent,
    command,
    binding,
    meaning,
    request: text,
    size: text.length,
    path: request.path,
    state: 'open',
    opened_at: now,
    expires_at: now + Math.min(lastsMs, MOST_APPROVAL_MS),
    decided_at: null,
    decided_by: null,
    proof: null,
    record: null,
  }
  await db.insertInto('approvals').values(made).execute()
  return made
}

/** What is still open, signed for or holds as a no stays, whatever it takes: a person bounds how much that is. */
async function forgetOld(db: Transaction<Schema>, app: string, now: number): Promise<void> {
  const rows = await db
    .selectFrom('approvals')
    .select(['id', 'state', 'size', 'expires_at', 'decided_at'])
    .where('app', '=', app)
    .orderBy('opened_at', 'desc')
    .execute()
  let [kept, characters] = [0, 0]
  const old = rows.filter(({ state, size, expires_at, decided_at }) => {
    characters += size ?? 0
    const counts =
      state === 'denied' ? (decided_at ?? 0) > now - NO_HOLDS_MS : state !== 'used' && expires_at >= now
    const fits = ++kept <= MOST_KEPT && characters <= MOST_KEPT_CHARACTERS && expires_at >= now - KEPT_MS
    return !counts && !fits
  })
  for (let i = 0; i < old.length; i += 500) {
    const ids = old.slice(i, i + 500).map(({ id }) => id)
    await db.deleteFrom('approvals').where('id', 'in', ids).execute()
  }
}

/** Who can write the database is not a person who signed: the signature is checked where it is used, and so is its record. */
async function requireProof(
  database: Database,
  db: Transaction<Schema>,
  { id, binding, proof, record }: Counting,
): Promise<void> {
  const known = await listKeys({ ...database, queries: db })
  const signers = new Set<string>(
    known.flatMap(({ did, retiredAt }) => (retiredAt === undefined ? [did] : [])),
  )
  if (!isCosigned({ id, binding, proof }, signers))
    throw new Refusal('step_up_denied', 'the approval was not signed by a key of this provider', {
      approval: id,
    })
  const given = record === null ? undefined : await readGiven({ queries: db }, record)
  if (given?.approval !== id || given.binding !== binding || given.proof !== proof)
    throw new Refusal('step_up_denied', 'the audit does not say that anybody gave this approval', {
      approval: id,
    })
  if (given.passkey === undefined) return
  const signer = await db
    .selectFrom('passkeys')
    .select('id')
    .where('id', '=', given.passkey)
    .executeTakeFirst()
  if (!signer)
    throw new Refusal('step_up_denied', 'the passkey that gave this approval was removed since', {
      approval: id,
    })
}

/**
 * By whoever can use the provider's key: a person at the host's terminal, or the provider itself once it has verified a
 * passkey's signature. Once, only while it is open, and never without a record of who it was.
 */
export async function decideApproval(
  { database, audit }: { readonly database: Database; readonly audit: AuditLog },
  id: string,
  decision: { readonly approve: SigningKey } | 'deny',
  { by, evidence = {} }: Decider,
  now: number,
): Promise<Approval> {
  const noted = async (db: Transaction<Schema>, record: number): Promise<void> =>
    void (await db.updateTable('approvals').set({ record }).where('id', '=', id).execute())
  return audit.appendWith(async (db) => {
    const query = db.selectFrom('approvals').selectAll().where('id', '=', id)
    const row = await database.lockRow(query).executeTakeFirst()
    if (!row) throw new ApprovalError(`there is no approval ${show(id)}`)
    const before = approvalOf(row, now)
    if (before.state !== 'open') throw new ApprovalClosed(before)
    const change = {
      ...(decision === 'deny'
        ? { state: 'denied' as const, proof: null }
        : {
            state: 'approved' as const,
            proof: cosign(decision.approve, row),
            expires_at: now + row.expires_at - row.opened_at, // who signs at the last moment leaves the agent as much time
          }),
      decided_at: now,
      decided_by: by,
    }
    await db.updateTable('approvals').set(change).where('id', '=', id).execute()
    const proof = change.proof === null ? {} : { proof: change.proof }
    const detail = { ...aboutOf(row), ...proof, ...evidence }
    const name = decision === 'deny' ? 'approval denied' : APPROVAL_GIVEN
    return [approvalOf({ ...row, ...change }, now), eventOf(name, by, detail)] as const
  }, noted)
}

/** Of an approval in the audit: what it was about. */
function aboutOf({ id, app, command, binding, path, request }: ApprovalsTable): Record<string, unknown> {
  const { destination } = JSON.parse(request) as ApprovalRequest
  return { approval: id, app, command, path, ...(destination === undefined ? {} : { destination }), binding }
}

/**
 * A no that was a mistake counts no more, and the same request is asked about again. It gives nothing: without a new
 * signature nothing is done (decision 0324).
 */
export async function takeBackNo(
  { database, audit }: { readonly database: Database; readonly audit: AuditLog },
  id: string,
  { by, evidence = {} }: Decider,
  now: number,
): Promise<Approval> {
  return audit.appendWith(async (db) => {
    const query = db.selectFrom('approvals').selectAll().where('id', '=', id)
    const row = await database.lockRow(query).executeTakeFirst()
    if (!row) throw new ApprovalError(`there is no approval ${show(id)}`)
    const before = approvalOf(row, now)
    if (before.noUntil === undefined) throw new ApprovalClosed(before)
    // A no is for what a request would come to: every no to that, or the agent is refused by another one.
    await db
      .updateTable('approvals')
      .set({ decided_at: null })
      .where('state', '=', 'denied')
      .where((of) => of.or([of('id', '=', id), of('meaning', '=', row.meaning)]))
      .execute()
    const detail = { ...aboutOf(row), ...evidence }
    const event = eventOf('denial taken back', by, detail)
    return [approvalOf({ ...row, decided_at: null }, now), event] as const
  })
}

/** The same app's newer question about the same path, when one waits: an answer to this one was no answer to that. */
export async function findNewer(
  { queries }: Pick<Database, 'queries'>,
  { id, app, command, openedAt, request: { path } }: Approval,
  now: number,
): Promise<string | undefined> {
  const newer = await queries
    .selectFrom('approvals')
    .select('id')
    .where('app', '=', app)
    .where('command', '=', command)
    .where('path', '=', path)
    .where('state', '=', 'open')
    .where('expires_at', '>=', now)
    .where('opened_at', '>=', openedAt)
    .where('id', '!=', id)
    .orderBy('opened_at', 'desc')
    .executeTakeFirst()
  return newer?.id
}

/** Who decides, for the record; with what anybody can check again that a passkey signed. */
export interface Decider {
  readonly by: string
  readonly evidence?: Readonly<Record<string, string>>
}

export async function findApproval(
  { queries }: Pick<Database, 'queries'>,
  id: string,
  now: number,
): Promise<Approval | undefined> {
  const row = await queries.selectFrom('approvals').selectAll().where('id', '=', id).executeTakeFirst()
  return row && approvalOf(row, now)
}

/** So many that do not wait any more are listed. */
const MOST_CLOSED = 200

/** What waits for a person first, all of it, however much was asked since; then the rest, each the newest first. */
export async function listApprovals(
  { queries }: Pick<Database, 'queries'>,
  now: number,
): Promise<Approval[]> {
  const all = queries.selectFrom('approvals').selectAll().orderBy('opened_at', 'desc')
  const open = await all.where(waits(now)).execute()
  const closed = await all
    .where((row) => row.not(waits(now)(row)))
    .limit(MOST_CLOSED)
    .execute()
  return [...open, ...closed].map((row) => approvalOf(row, now))
}

export type ApprovalSummary = Omit<Approval, 'request'> & {
  readonly path: string
  /** Of what waits, and not kept apart for the rest. */
  readonly request: Pick<ApprovalRequest, 'destination' | 'replaces'>
}

/** The same, without everything that each would touch. */
export async function listSummaries(
  { queries }: Pick<Database, 'queries'>,
  now: number,
): Promise<ApprovalSummary[]> {
  const all = queries
    .selectFrom('approvals')
    .select(['id', 'app', 'agent', 'command', 'binding', 'path', 'state'])
    .select(['opened_at', 'expires_at', 'decided_at', 'decided_by'])
    .orderBy('opened_at', 'desc')
  const open = await all.select('request').where(waits(now)).execute()
  const closed = await all
    .where((row) => row.not(waits(now)(row)))
    .limit(MOST_CLOSED)
    .execute()
  const listed = (row: (typeof closed)[number], request: ApprovalSummary['request']): ApprovalSummary => ({
    ...summaryOf(row, now),
    path: row.path ?? '',
    request,
  })
  return [
    ...open.map((row) => listed(row, JSON.parse(row.request) as ApprovalRequest)),
    ...closed.map((row) => listed(row, {})),
  ]
}

const waits =
  (now: number) =>
  (row: ExpressionBuilder<Schema, 'approvals'>): Expression<SqlBool> =>
    row.and([row('state', '=', 'open'), row('expires_at', '>=', now)])

/** For good: a clock that is set back afterwards brings none of them back. */
export async function closeExpired({ queries }: Pick<Database, 'queries'>, now: number): Promise<void> {
  await queries
    .updateTable('approvals')
    .set({ state: 'expired' })
    .where('state', 'in', ['open', 'approved'])
    .where('expires_at', '<', now)
    .execute()
}

/** Those that are still kept. */
export async function statesOf(
  { queries }: Pick<Database, 'queries'>,
  ids: readonly string[],
  now: number,
): Promise<Record<string, Approval['state']>> {
  if (ids.length === 0) return {}
  const rows = await queries
    .selectFrom('approvals')
    .select(['id', 'state', 'expires_at'])
    .where('id', 'in', ids)
    .execute()
  return Object.fromEntries(rows.map((row) => [row.id, stateOf(row, now)]))
}

const stateOf = (
  { state, expires_at }: Pick<ApprovalsTable, 'state' | 'expires_at'>,
  now: number,
): Approval['state'] => ((state === 'open' || state === 'approved') && now > expires_at ? 'expired' : state)

/** What waits for a person or for its agent now, without what it is about: asked for every second. */
export async function listLive(
  { queries }: Pick<Database, 'queries'>,
  now: number,
): Promise<Pick<ApprovalsTable, 'id' | 'state'>[]> {
  return queries
    .selectFrom('approvals')
    .select(['id', 'state'])
    .where('state', 'in', ['open', 'approved'])
    .where('expires_at', '>=', now)
    .orderBy('opened_at')
    .execute()
}

const approvalOf = (row: ApprovalsTable, now: number): Approval => ({
  ...summaryOf(row, now),
  request: JSON.parse(row.request) as ApprovalRequest,
})

const summaryOf = (
  row: Omit<ApprovalsTable, 'request' | 'size' | 'meaning' | 'proof' | 'record'>,
  now: number,
): Omit<Approval, 'request'> => ({
  id: row.id,
  app: row.app,
  agent: row.agent,
  command: row.command as Command,
  binding: row.binding,
  state: stateOf(row, now),
  openedAt: row.opened_at,
  expiresAt: row.expires_at,
  decidedBy: row.decided_by ?? undefined,
  noUntil:
    row.state === 'denied' && row.decided_at !== null && row.decided_at > now - NO_HOLDS_MS
      ? row.decided_at + NO_HOLDS_MS
      : undefined,
})
