import type { Database } from '../storage/database.ts'
import type { Checkpoint } from './checkpoint.ts'
import { readPrivate, replacePrivate } from '../keys/private-file.ts'
import { join } from 'node:path'

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

export function readWitness(dir: string, database: Pick<Database, 'witness'>): Checkpoint | undefined {
  const text = readPrivate(fileIn(dir, database))
  return text === undefined ? undefined : (JSON.parse(text) as Checkpoint)
}
