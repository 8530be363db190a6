import type { Database } from '../storage/database.ts'
import { listKeys } from '../keys/provider-key.ts'
import { type Checkpoint, isAuthentic } from './checkpoint.ts'
import { readRecords } from './read.ts'
import { givenIn, isCosigned } from '../step-up/proof.ts'
import { type AuditBody, type ChainedRecord, type ChainHead, hashOf } from './record.ts'

/** One thing that is not as it was written, and the first record where it shows. */
interface AuditProblem {
  readonly seq: number
  readonly kind: 'edited' | 'missing' | 'reordered' | 'truncated' | 'forked' | 'checkpoint' | 'unapproved'
  readonly detail: string
}

export interface AuditVerdict {
  readonly ok: boolean
  readonly records: number
  readonly checkpoints: number
  readonly problems: readonly AuditProblem[]
  /** Operations with an intent and no outcome: they were interrupted, and nobody knows how far they came. */
  readonly unfinished: readonly string[]
  /** Records whose clock was behind the one before: the clock was set back, or hosts disagree. Not a problem of the chain. */
  readonly clockWentBack: readonly number[]
}

/** Most of a kind that are told; one edit breaks one record, a cut chain thousands. */
const MOST_PROBLEMS = 100

/** SPEC 7.6: reads everything, believes nothing. `witness` is what this host itself saw last. */
export async function verifyAudit(
  database: Database,
  witness: Checkpoint | undefined,
): Promise<AuditVerdict> {
  const problems: AuditProblem[] = []
  const report = (problem: AuditProblem): void => {
    if (problems.length < MOST_PROBLEMS) problems.push(problem)
  }
  const signers = new Set<string>((await listKeys(database)).map(({ did }) => did))
  const checkpoints = await readCheckpoints(database)
  const kept = new Set(checkpoints.map(({ seq }) => seq))
  const expected = new Map(checkpoints.map((each) => [each.seq, each]))
  for (const each of checkpoints)
    if (!isAuthentic(each, signers))
      report({ seq: each.seq, kind: 'checkpoint', detail: 'its signature is not by a key of this provider' })
  if (witness && !isAuthentic(witness, signers))
    report({
      seq: witness.seq,
      kind: 'checkpoint',
      detail: 'the signature of this host’s witness is not by a key of this provider',
    })
  if (witness) expected.set(witness.seq, witness)

  const open = new Set<string>()
  const approvals = new Approvals(signers, report)
  const clockWentBack: number[] = []
  let last: ChainHead = { seq: 0, hash: '' }
  let lastAt = 0
  for await (const record of readRecords(database.queries)) {
    checkRecord(record, last, report)
    const signed = expected.get(record.seq)
    if (signed && signed.hash !== record.hash)
      report({
        seq: record.seq,
        kind: 'forked',
        detail: `a checkpoint of ${new Date(signed.at).toISOString()} signed another record here`,
      })
    // It is in the database before it is in the witness, so somebody took it out.
    if (signed && signed === witness && signed.hash === record.hash && !kept.has(record.seq))
      report({
        seq: record.seq,
        kind: 'checkpoint',
        detail: 'this host’s witness has a checkpoint here, and the database has it no more',
      })
    const body = parseBody(record.body)
    if (body) {
      // What `audit show OPERATION` finds it by is not in the hash itself.
      if (body.op !== record.op)
        report({
          seq: record.seq,
          kind: 'edited',
          detail: 'it is filed under another operation than it says',
        })
      approvals.look(record.seq, body)
      if (body.kind === 'intent') open.add(body.op)
      if (body.kind === 'outcome') open.delete(body.op)
      if (body.at < lastAt) clockWentBack.push(record.seq)
      lastAt = body.at
    }
    last = record
  }
  await checkEnd(database, last, expected, report)
  return {
    ok: problems.length === 0,
    records: last.seq,
    checkpoints: checkpoints.length,
    problems,
    unfinished: [...open],
    clockWentBack,
  }
}

type Report = (problem: AuditProblem) => void

/** SPEC 7.5: what was done with an approval had one, given before, by a key of this provider, and used once. */
class Approvals {
  readonly #signers: ReadonlySet<string>
  readonly #report: Report
  readonly #given = new Set<string>()

  constructor(signers: ReadonlySet<string>, report: Report) {
    this.#signers = signers
    this.#report = report
  }

  look(seq: number, body: AuditBody): void {
    const given = givenIn(body)
    if (given) {
      const { approval: id, binding, proof } = given
      this.#given.add(id)
      // One without a proof is none: no version that was released has written such a record.
      if (!isCosigned({ id, binding, proof: proof ?? null }, this.#signers))
        this.#report({ seq, kind: 'unapproved', detail: `no key of this provider signed the approval ${id}` })
    }
    if (body.kind !== 'intent' || body.approval === undefined || this.#given.delete(body.approval)) return
    this.#report({
      seq,
      kind: 'unapproved',
      detail: `it was done with the approval ${body.approval}, which nobody gave, or which was used before`,
    })
  }
}

function checkRecord(record: ChainedRecord, last: ChainHead, report: Report): void {
  const { seq, prev, body, hash } = record
  if (seq !== last.seq + 1)
    report({ seq: last.seq + 1, kind: 'missing', detail: `the next record there is has number ${seq}` })
  else if (prev !== last.hash)
    report({ seq, kind: 'reordered', detail: 'it does not continue the record before it' })
  if (hashOf(seq, prev, body) !== hash)
    report({ seq, kind: 'edited', detail: 'its content is not what was hashed' })
}

async function checkEnd(
  database: Database,
  last: ChainHead,
  expected: ReadonlyMap<number, Checkpoint>,
  report: Report,
): Promise<void> {
  const newest = Math.max(0, ...expected.keys())
  if (newest > last.seq)
    report({
      seq: last.seq + 1,
      kind: 'truncated',
      detail: `a checkpoint signed record ${newest}, and the chain ends at ${last.seq}`,
    })
  const head = await database.queries
    .selectFrom('audit_head')
    .select(['seq', 'hash'])
    .where('id', '=', 1)
    .executeTakeFirst()
  // Records may have been appended while we read; the head never lies behind what was read.
  if (!head)
    report({ seq: last.seq + 1, kind: 'truncated', detail: 'where the chain ends is not said any more' })
  else if (head.seq < last.seq || (head.seq === last.seq && head.hash !== last.hash))
    report({ seq: last.seq, kind: 'forked', detail: 'the head of the chain is not its last record' })
  else if (head.seq > last.seq && !(await hasRecord(database, last.seq + 1)))
    report({
      seq: last.seq + 1,
      kind: 'truncated',
      detail: `the head is at ${head.seq}, and the chain ends at ${last.seq}`,
    })
}

const hasRecord = async ({ queries }: Database, seq: number): Promise<boolean> =>
  (await queries.selectFrom('audit_records').select('seq').where('seq', '=', seq).executeTakeFirst()) !==
  undefined

const readCheckpoints = ({ queries }: Database): Promise<Checkpoint[]> =>
  queries.selectFrom('audit_checkpoints').selectAll().orderBy('seq').execute()

function parseBody(body: string): AuditBody | undefined {
  try {
    return JSON.parse(body) as AuditBody
  } catch {
    return undefined // its hash already told
  }
}
