import { openAmbientProviderKey } from '../keys/provider-key.ts'
import type { Database } from '../storage/database.ts'
import { type Did, isSignedBy, type SigningKey } from '../tokens/key.ts'
import type { ChainHead } from './record.ts'
import { readWitness, writeWitness } from './witness.ts'

/** A provider's word for everything up to a record. */
export interface Checkpoint extends ChainHead {
  readonly at: number
  readonly signer: string
  readonly signature: string
}

const signedText = ({ seq, hash, at }: Pick<Checkpoint, 'seq' | 'hash' | 'at'>): Buffer =>
  Buffer.from(`cordon audit checkpoint 1\n${seq}\n${hash}\n${at}\n`)

/**
 * Signs the present end of the chain; undefined when there is nothing to sign yet. Nothing is signed for a chain that has
 * lost what somebody here saw of it: a signature would be the proof that it is whole.
 */
export async function makeCheckpoint(
  database: Database,
  key: SigningKey,
  at: number,
  ...seen: readonly (ChainHead | undefined)[]
): Promise<Checkpoint | undefined> {
  const head = await database.queries
    .selectFrom('audit_head')
    .select(['seq', 'hash'])
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  if (head.seq === 0) return undefined
  for (const known of [head, ...seen]) if (known && !(await hasRecord(database, known))) return undefined
  const signature = Buffer.from(key.sign(signedText({ ...head, at }))).toString('base64url')
  const checkpoint = { ...head, at, signer: key.did, signature }
  await database.queries
    .insertInto('audit_checkpoints')
    .values(checkpoint)
    .onConflict((row) => row.column('seq').doNothing()) // another process was as quick: as good
    .execute()
  await database.flush()
  return checkpoint
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
  const made = await makeCheckpoint(database, openAmbientProviderKey(dir), at, witness, seen)
  if (made && made.seq > (readWitness(dir, database)?.seq ?? 0)) writeWitness(dir, database, made)
}

async function hasRecord({ queries }: Database, { seq, hash }: ChainHead): Promise<boolean> {
  const query = queries.selectFrom('audit_records').select('hash').where('seq', '=', seq)
  return (await query.executeTakeFirst())?.hash === hash
}

/** `signers`: every key that this provider ever had; a retired one's old word still counts here. */
export const isAuthentic = (checkpoint: Checkpoint, signers: ReadonlySet<string>): boolean =>
  signers.has(checkpoint.signer) &&
  isSignedBy(checkpoint.signer as Did, signedText(checkpoint), Buffer.from(checkpoint.signature, 'base64url'))
