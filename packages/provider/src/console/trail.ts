import { Hono } from 'hono'
import { sql } from 'kysely'
import { z } from 'zod'
import { appOf, parseBody, readBefore } from '../audit/read.ts'
import type { AuditBody, ChainedRecord } from '../audit/record.ts'
import { type AuditVerdict, verifyAudit } from '../audit/verify.ts'
import { readWitness } from '../audit/witness.ts'
import { statesOf } from '../step-up/approvals.ts'
import type { Database } from '../storage/database.ts'
import type { EntryAnswer, TrailAnswer, VerifiedAnswer } from './answers.ts'
import type { ConsoleContext } from './context.ts'
import { ConsoleRefusal } from './errors.ts'

const PAGE = 50
/** So many records are looked through for one answer; who searches goes on from there. */
const MOST_LOOKED_AT = 20_000
const CHUNK = 1000

/** A path may be as long. */
const MOST_SOUGHT = 4096

const ASKED = z.object({
  before: z.coerce.number().int().positive().optional(),
  after: z.coerce.number().int().nonnegative().optional(),
  kind: z.enum(['intent', 'outcome', 'refused', 'event']).optional(),
  app: z.string().max(64).optional(),
  text: z.string().max(MOST_SOUGHT).optional(),
})
type Asked = z.output<typeof ASKED>

/** The trail, newest first. A page is found by its last number, so the millionth costs what the first does. */
export function trailRoutes(context: ConsoleContext): Hono {
  const { provider } = context
  const app = new Hono()
  let verifying: Promise<AuditVerdict> | undefined

  app.get('/', async (c) => {
    const asked = ASKED.safeParse(c.req.query())
    if (!asked.success)
      throw new ConsoleRefusal(
        'bad_request',
        `this filter does not exist, or is longer than ${MOST_SOUGHT} characters`,
      )
    const page = await readPage(provider.database, asked.data)
    const named = page.records.flatMap(({ body }) => approvalNamed(body))
    const approvals = await statesOf(provider.database, [...new Set(named)], provider.clock())
    return c.json({ ...page, approvals } satisfies TrailAnswer<AuditBody>)
  })

  app.get('/:seq{[0-9]+}', async (c) => {
    const record = await readOne(provider.database, Number(c.req.param('seq')))
    if (!record) throw new ConsoleRefusal('not_found', 'there is no such record')
    return c.json(recordOf(record))
  })

  /** One at a time: it reads everything. */
  app.post('/verify', async (c) => {
    verifying ??= verifyAudit(provider.database, readWitness(provider.dir, provider.database)).finally(() => {
      verifying = undefined
    })
    const { ok, records, checkpoints, problems, unfinished, clockWentBack } = await verifying
    const first = problems.toSorted((a, b) => a.seq - b.seq)[0]
    const broken = first && (await readOne(provider.database, first.seq))
    return c.json({
      ok,
      records,
      checkpoints,
      problems: problems.length,
      first: first ? { ...first, record: broken ? recordOf(broken) : null } : null,
      unfinished: unfinished.length,
      clock_went_back: clockWentBack.length,
    } satisfies VerifiedAnswer<AuditBody>)
  })
  return app
}

/** By a question, its answer, or what was done with it. */
function approvalNamed(body: AuditBody | null): string[] {
  const id =
    body?.kind === 'event'
      ? body.detail['approval']
      : body?.kind === 'refused' || body?.kind === 'intent'
        ? body.approval
        : undefined
  return typeof id === 'string' ? [id] : []
}

type Shown = EntryAnswer<AuditBody>

const recordOf = ({ seq, hash, body }: ChainedRecord): Shown => ({ seq, hash, body: parseBody(body) })

const readOne = ({ queries }: Pick<Database, 'queries'>, seq: number): Promise<ChainedRecord | undefined> =>
  queries.selectFrom('audit_records').selectAll().where('seq', '=', seq).executeTakeFirst()

export async function readPage(
  { queries }: Pick<Database, 'queries'>,
  asked: Asked,
): Promise<Omit<TrailAnswer<AuditBody>, 'approvals'>> {
  const isFiltered = asked.kind !== undefined || asked.app !== undefined || (asked.text ?? '') !== ''
  const { after = 0 } = asked
  const found: Shown[] = []
  let before = asked.before ?? Number.MAX_SAFE_INTEGER
  let lookedAt = 0
  while (found.length < PAGE && lookedAt < MOST_LOOKED_AT) {
    const take = isFiltered ? CHUNK : PAGE
    const rows = await readBefore(queries, before, take, after)
    for (const row of rows) {
      lookedAt++
      before = row.seq
      if (isWanted(row, asked)) found.push(recordOf(row))
      if (found.length === PAGE) break
    }
    if (rows.length < take && found.length < PAGE) return { records: found, next: null, looked_at: lookedAt }
    await new Promise(setImmediate) // others have their turn
  }
  const isMore = await queries
    .selectFrom('audit_records')
    .select(sql<number>`1`.as('one'))
    .where('seq', '<', before)
    .where('seq', '>', after)
    .limit(1)
    .executeTakeFirst()
  return { records: found, next: isMore ? before : null, looked_at: lookedAt }
}

function isWanted({ body, hash }: ChainedRecord, { kind, app, text = '' }: Asked): boolean {
  if (text !== '' && !hasText(body, hash, text.toLowerCase())) return false
  if (kind === undefined && app === undefined) return true
  const read = parseBody(body)
  if (!read || (kind !== undefined && read.kind !== kind)) return false
  return app === undefined || appOf(read) === app
}

/** A record is JSON: a quote in a name has a backslash before it there. */
const hasText = (body: string, hash: string, sought: string): boolean =>
  hash.startsWith(sought) ||
  [sought, JSON.stringify(sought).slice(1, -1)].some((each) => body.toLowerCase().includes(each))
