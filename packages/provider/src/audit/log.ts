import { CordonError } from '@cordon/policy'
import { type CompiledQuery, sql, type Transaction } from 'kysely'
import { Batcher } from '../storage/batcher.ts'
import { type Database, stepsIn } from '../storage/database.ts'
import { ask, type Steps } from '../storage/engine.ts'
import type { Schema } from '../storage/schema.ts'
import { type ChainedRecord, type ChainHead, chainOn, type Said } from './record.ts'

/** How long a record of what changes nothing may be on its way to the disk. */
const FLUSH_MS = 100
/** How long the outcome of what changed nothing waits for company. */
const LATER_MS = 10
const TRY_MS = 1000

/** SPEC 7.6: nothing more is done once the chain is not what this process, or this host, knows that it was. */
export class AuditBroken extends CordonError {
  readonly code = 'AUDIT_BROKEN'
  /** What was seen of the chain and is not in it any more. */
  readonly lost: ChainHead | undefined
  constructor(problem: string, lost?: ChainHead) {
    super(`${problem}; run \`cordon audit verify\``)
    this.lost = lost
  }

  /** There is no row that says where the chain ends. Who reads what is left is told by `verify`. */
  static headless(seen?: ChainHead): AuditBroken {
    return new AuditBroken('the head of the audit chain is gone', seen)
  }

  /**
   * The head says that this was the last record, and it is not there, or is another one. It is lost only if it was `seen`: a
   * head is what whoever writes the database makes it, and no witness.
   */
  static without(last: ChainHead, seen?: ChainHead): AuditBroken {
    return new AuditBroken(
      `the audit chain is at record ${last.seq}, which is gone or not the one that was written`,
      seen && seen.seq === last.seq && seen.hash === last.hash ? seen : undefined,
    )
  }

  /** `seen` is not in a chain that ends at `found`. */
  static of(seen: ChainHead, found: ChainHead): AuditBroken {
    return new AuditBroken(
      found.seq < seen.seq
        ? `the audit chain ends at record ${found.seq}, but record ${seen.seq} was written before`
        : `record ${seen.seq} of the audit chain is not the one that was written`,
      seen,
    )
  }
}

export interface AuditLogOptions {
  readonly clock?: () => number
  readonly isAlone?: () => boolean
  /** Told once, at the moment it is found. */
  readonly onBroken?: (broken: AuditBroken) => void
}

/**
 * The chain of records that all processes on one database write together. Who appends holds the lock on its head, so
 * there is one order; what waits meanwhile shares the next transaction and its fsync.
 */
export class AuditLog {
  readonly #database: Database
  readonly #batcher: Batcher<Said, undefined>
  readonly #queries: ReturnType<typeof compileQueries>
  readonly #clock: () => number
  readonly #onBroken: (broken: AuditBroken) => void
  #seen: ChainHead | undefined
  #flushing: NodeJS.Timeout | undefined
  #broken: AuditBroken | undefined
  #triedAt = Number.NEGATIVE_INFINITY
  #trying: Promise<boolean> = Promise.resolve(false)

  constructor(
    database: Database,
    { clock = Date.now, isAlone = () => false, onBroken = () => {} }: AuditLogOptions = {},
  ) {
    this.#database = database
    this.#clock = clock
    this.#onBroken = onBroken
    this.#queries = compileQueries(database)
    this.#batcher = new Batcher((said) => this.#append(said), isAlone)
  }

  /** Goes on from what this host saw last (the witness); throws when that is not in the chain, and so does all that follows. */
  async resume(known: ChainHead | undefined): Promise<void> {
    if (known) this.#see(known)
    await this.requireWhole()
  }

  /** Before something is done whose record could not be written. Only looks: whoever reads the trail of a full disk begins here. */
  async requireWhole(): Promise<void> {
    await this.#database.runSteps(() => this.#recordedHead())
  }

  /** It was found by somebody else that a record is gone. */
  stop(broken: AuditBroken): void {
    if (this.#broken) return
    this.#broken = broken
    this.#onBroken(broken)
  }

  /** Resolves when the record is durable; rejects when that cannot be promised. */
  async append(said: Said): Promise<void> {
    await this.#batcher.add(said)
    await this.#database.flush()
  }

  /**
   * Something and the record of it in one transaction: both are there, for good, or neither is. `recorded` is told the
   * record's number in the same transaction.
   */
  async appendWith<T>(
    act: (db: Transaction<Schema>) => Promise<readonly [T, Said]>,
    recorded: (db: Transaction<Schema>, seq: number) => Promise<void> = async () => {},
  ): Promise<T> {
    const { done, head } = await this.#database.transaction(async (db) => {
      const [result, said] = await act(db)
      const made = await stepsIn(db, this.#chain([said]))
      await recorded(db, made.seq)
      return { done: result, head: made }
    })
    this.#see(head)
    await this.#database.flush()
    return done
  }

  /**
   * For what changes nothing (SPEC 7.6, decision 0152): resolves when it is in the chain, which the end of this process
   * does not undo; what a power cut would undo reaches the disk a moment later. Not at once: while the disk is busy
   * with a file, the next record of it waits.
   */
  async note(said: Said): Promise<void> {
    await this.#batcher.add(said)
    this.#flushSoon()
  }

  /** The same for what nobody waits for: in the chain with the next record, or a moment later. */
  async noteLater(said: Said): Promise<void> {
    await this.#batcher.addLater(said, LATER_MS)
    this.#flushSoon()
  }

  #flushSoon(): void {
    this.#flushing ??= setTimeout(() => {
      this.#flushing = undefined
      this.#database.flush().catch(() => undefined) // whoever needs the disk will find it failing
    }, FLUSH_MS)
  }

  /** The last record that this process knows of. */
  get head(): ChainHead | undefined {
    return this.#seen
  }

  get isBroken(): boolean {
    return this.#broken !== undefined
  }

  /** What was found, once something was. */
  get broken(): AuditBroken | undefined {
    return this.#broken
  }

  /** Whether a record could be written now: found out by writing, at most once a second for all who ask. */
  canRecord(): Promise<boolean> {
    if (this.isBroken) return Promise.resolve(false)
    if (performance.now() - this.#triedAt > TRY_MS) {
      this.#triedAt = performance.now()
      this.#trying = this.#try()
    }
    return this.#trying
  }

  async #try(): Promise<boolean> {
    try {
      await this.#database.runSteps(() => this.#tryWrite())
      await this.#database.flush()
      return true
    } catch {
      return false
    }
  }

  /** Everything that was recorded is on the disk. */
  async idle(): Promise<void> {
    await this.#batcher.idle()
    clearTimeout(this.#flushing)
    this.#flushing = undefined
    await this.#database.flush()
  }

  async #append(said: readonly Said[]): Promise<undefined[]> {
    this.#see(await this.#database.runSteps(() => this.#chain(said)))
    return said.map(() => undefined)
  }

  *#chain(said: readonly Said[]): Steps<ChainHead> {
    const head = yield* this.#wholeHead()
    const records = chainOn(head, this.#clock(), said)
    const { seq, hash } = records.at(-1)!
    yield* this.#moveHead(head, { seq, hash })
    yield* ask(this.#queries.insert(records))
    return { seq, hash }
  }

  /** Locked, and of a chain that has not lost what is known here. */
  *#wholeHead(): Steps<ChainHead> {
    if (this.#broken) throw this.#broken
    const [found] = yield* ask(this.#queries.lockHead)
    if (!found) throw this.#stopped(AuditBroken.headless(this.#seen))
    yield* this.#requireProgress(found)
    return found
  }

  /** The same, with the record that it is at. */
  *#recordedHead(): Steps<ChainHead> {
    const head = yield* this.#wholeHead()
    if (head.seq === 0) return head
    const [record] = yield* ask(this.#queries.hashAt(head.seq))
    if (record?.hash !== head.hash) throw this.#stopped(AuditBroken.without(head, this.#seen))
    return head
  }

  /** Changes a number of its own: of a row that stays as it is SQLite writes nothing, and a full disk would not be found. */
  *#tryWrite(): Steps<void> {
    const head = yield* this.#wholeHead()
    yield* this.#moveHead(head, head)
    yield* ask(this.#queries.countTry)
  }

  /** From a head whose record is there, as it says: who only cuts records off leaves a head that fits (decision 0480). */
  *#moveHead(from: ChainHead, { seq, hash }: ChainHead): Steps<void> {
    const [moved] = yield* ask({ ...this.#queries.moveHead, parameters: [seq, hash, 1, 0] })
    if (!moved) throw this.#stopped(AuditBroken.without(from, this.#seen))
  }

  /** Once it is committed. Of two transactions, the later one may be told first. */
  #see(head: ChainHead): void {
    if (head.seq > (this.#seen?.seq ?? 0)) this.#seen = head
  }

  /** Somebody else's records may have come meanwhile; ours cannot have gone. */
  *#requireProgress(found: ChainHead): Steps<void> {
    const seen = this.#seen
    if (!seen || (found.seq === seen.seq && found.hash === seen.hash)) return
    // A longer chain is not yet a continued one.
    const [ours] = yield* ask(this.#queries.hashAt(seen.seq))
    if (found.seq > seen.seq && ours?.hash === seen.hash) return
    throw this.#stopped(AuditBroken.of(seen, found))
  }

  #stopped(broken: AuditBroken): AuditBroken {
    this.stop(broken)
    return broken
  }
}

/** Written once: making the text of a query costs more than running it, and this runs for every request. */
function compileQueries({ queries, lockRow }: Database): {
  readonly lockHead: CompiledQuery<ChainHead>
  /** No row: the record that the head is at is not there. In the statement that moves it, so that it costs no other. */
  readonly moveHead: CompiledQuery<Pick<ChainHead, 'seq'>>
  readonly countTry: CompiledQuery
  readonly hashAt: (seq: number) => CompiledQuery<Pick<ChainHead, 'hash'>>
  readonly insert: (records: readonly ChainedRecord[]) => CompiledQuery
} {
  const head = queries.selectFrom('audit_head').select(['seq', 'hash']).where('id', '=', 1)
  const one = queries.selectFrom('audit_records').select('hash').where('seq', '=', 0).compile()
  const inserts = new Map<number, CompiledQuery>()
  return {
    lockHead: lockRow(head).compile(),
    moveHead: queries
      .updateTable('audit_head')
      .set({ seq: 0, hash: '' })
      .where('id', '=', 1)
      .where((row) =>
        row.or([
          row('audit_head.seq', '=', 0), // of a chain that has no record yet
          row.exists(
            row
              .selectFrom('audit_records')
              .select('audit_records.seq')
              .whereRef('audit_records.seq', '=', 'audit_head.seq')
              .whereRef('audit_records.hash', '=', 'audit_head.hash'),
          ),
        ]),
      )
      .returning('seq')
      .compile(),
    countTry: queries
      .insertInto('meta')
      .values({ name: 'tries', value: 1 })
      .onConflict((row) => row.column('name').doUpdateSet({ value: sql`meta.value + 1` }))
      .compile(),
    hashAt: (seq) => ({ ...one, parameters: [seq] }),
    insert: (records) => {
      let known = inserts.get(records.length)
      if (!known) {
        known = queries
          .insertInto('audit_records')
          .values([...records])
          .compile()
        inserts.set(records.length, known)
      }
      const parameters = records.flatMap(({ seq, op, body, prev, hash }) => [seq, op, body, prev, hash])
      return { ...known, parameters }
    },
  }
}
