import { listKeys, currentProviderKey } from '../keys/provider-key.ts'
import type { Database } from '../storage/database.ts'
import { type Did, isSignedBy, type SigningKey } from '../tokens/key.ts'
import { AuditBroken } from './log.ts'
import { readRecords } from './read.ts'
import { type ChainHead, hashOf } from './record.ts'
import { readWitness, writeWitness } from './witness.ts'

/** A provider's word for everything up to a record. */
export interface Checkpoint extends ChainHead {
  readonly at: number
  readonly signer: string
  readonly signature: string
}

const signedText = ({ seq, hash, at }: Pick<Checkpoint, 'seq' | 'hash' | 'at'>): Buffer =>
  Buffer.from(`cordon audit checkpoint 1\n${seq}\n${hash}\n${at}\n`)

/** Signs the present end of the chain; undefined when there is nothing to sign yet. */
export async function makeCheckpoint(
  database: Database,
  key: SigningKey,
  at: number,
  ...seen: readonly (ChainHead | undefined)[]
): Promise<Checkpoint | undefined> {
  const head = await requireSound(database, ...seen)
  if (head.seq === 0) return undefined
  const checkpoint = signed(key, head, at)
  await database.queries
    .insertInto('audit_checkpoints')
    .values(checkpoint)
    .onConflict((row) => row.column('seq').doNothing()) // another process was as quick: as good
    .execute()
  await database.flush()
  return checkpoint
}

function signed(key: SigningKey, { seq, hash }: ChainHead, at: number): Checkpoint {
  const signature = Buffer.from(key.sign(signedText({ seq, hash, at }))).toString('base64url')
  return { seq, hash, at, signer: key.did, signature }
}

/**
 * The end of the chain. Throws when it has lost what somebody here saw of it, or is not one chain from the last checkpoint
 * on: a signature would be the proof that it is whole.
 */
export async function requireSound(
  database: Database,
  ...seen: readonly (ChainHead | undefined)[]
): Promise<ChainHead> {
  const head = await database.queries
    .selectFrom('audit_head')
    .select(['seq', 'hash'])
    .where('id', '=', 1)
    .executeTakeFirst()
  if (!head) throw AuditBroken.headless()
  for (const known of head.seq === 0 ? seen : [...seen, head])
    if (known && !(await hasRecord(database, known)))
      throw known === head ? AuditBroken.without(head) : AuditBroken.of(known, head)
  await requireUnbroken(database, head)
  return head
}

/**
 * This process saw the chain reach `lost`, and that is not in it any more. The witness says so from now on: nobody of this
 * host goes on from what is left (decision 0385).
 */
export function witnessLost(database: Database, dir: string, lost: ChainHead, at: number): void {
  if (lost.seq > (readWitness(dir, database)?.seq ?? 0))
    writeWitness(dir, database, signed(currentProviderKey(dir), lost, at))
}

/**
 * The end of the chain, whoever wrote it, signed in the database and in the witness of `dir`. `seen` is what this process
 * itself wrote last.
 */
export async function signChain(
  database: Database,
  dir: string,
  at: number,
  seen?: ChainHead,
): Promise<void> {
  const witness = readWitness(dir, database)
  // The key may have been rotated since the last one.
  const made = await makeCheckpoint(database, currentProviderKey(dir), at, witness, seen)
  if (made && made.seq > (readWitness(dir, database)?.seq ?? 0)) writeWitness(dir, database, made)
}

/** Every record since the last checkpoint, whoever wrote it. What is older was looked at when that one was signed. */
async function requireUnbroken(database: Database, head: ChainHead): Promise<void> {
  let last: ChainHead = (await newestCheckpoint(database, head)) ?? { seq: 0, hash: '' }
  for await (const record of readRecords(database.queries, { after: last.seq })) {
    if (record.seq > head.seq) return
    const { seq, prev, body, hash } = record
    if (seq !== last.seq + 1) throw new AuditBroken(`record ${last.seq + 1} of the audit chain is missing`)
    if (prev !== last.hash || hashOf(seq, prev, body) !== hash)
      throw new AuditBroken(`record ${seq} of the audit chain is not the one that was written`)
    last = record
  }
}

async function newestCheckpoint(database: Database, head: ChainHead): Promise<Checkpoint | undefined> {
  const signers = new Set<string>((await listKeys(database)).map(({ did }) => did))
  const newest = await database.queries
    .selectFrom('audit_checkpoints')
    .selectAll()
    .where('seq', '<=', head.seq)
    .orderBy('seq', 'desc')
    .limit(8) // who can write the database may have put others there
    .execute()
  for (const each of newest) if (isAuthentic(each, signers) && (await hasRecord(database, each))) return each
  return undefined
}

async function hasRecord({ queries }: Database, { seq, hash }: ChainHead): Promise<boolean> {
  const query = queries.selectFrom('audit_records').select('hash').where('seq', '=', seq)
  return (await query.executeTakeFirst())?.hash === hash
}

/** `signers`: every key that this provider ever had; a retired one's old word still counts here. */
export const isAuthentic = (checkpoint: Checkpoint, signers: ReadonlySet<string>): boolean =>
  signers.has(checkpoint.signer) &&
  isSignedBy(checkpoint.signer as Did, signedText(checkpoint), Buffer.from(checkpoint.signature, 'base64url'))
