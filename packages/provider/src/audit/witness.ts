import { join } from 'node:path'
import { CordonError, show } from '@cordon/policy'
import { z } from 'zod'
import type { Database } from '../storage/database.ts'
import type { Checkpoint } from './checkpoint.ts'
import { readPrivate, replacePrivate } from '../keys/private-file.ts'

/**
 * The last checkpoint once more, in a file of the host's own: who can write the database can cut the chain and its
 * checkpoints off together, but not this (decision 0157).
 */
const fileIn = (dir: string, { witness }: Pick<Database, 'witness'>): string => join(dir, witness)

export const writeWitness = (
  dir: string,
  database: Pick<Database, 'witness'>,
  checkpoint: Checkpoint,
): void => replacePrivate(fileIn(dir, database), `${JSON.stringify(checkpoint)}\n`)

/** Undefined: nothing was witnessed yet. What is there and is none is no answer: somebody may have emptied it. */
export function readWitness(dir: string, database: Pick<Database, 'witness'>): Checkpoint | undefined {
  const text = readPrivate(fileIn(dir, database))
  if (text === undefined) return undefined
  const read = CHECKPOINT.safeParse(parsed(text))
  if (read.success) return read.data
  throw new WitnessError(
    `${show(fileIn(dir, database))} is not the witness of an audit chain any more, so nothing is recorded or signed\n  fix: put back a copy of it; or move it away, and what it had seen is proven by nobody`,
  )
}

class WitnessError extends CordonError {
  readonly code = 'AUDIT_BROKEN'
}

const CHECKPOINT = z.strictObject({
  seq: z.int().positive(),
  hash: z.string(),
  at: z.number(),
  signer: z.string(),
  signature: z.string(),
})

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
