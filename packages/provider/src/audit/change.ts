import { type Database, within } from '../storage/database.ts'
import type { AuditLog } from './log.ts'
import { eventOf } from './record.ts'

export interface Recording {
  readonly database: Database
  readonly audit: AuditLog
}

/** Who changes something, for the record. */
export interface Author {
  readonly by: string
  /** With what anybody can tell again who it was. */
  readonly evidence?: Readonly<Record<string, unknown>>
}

export interface Change<T> {
  readonly result: T
  /** Of the event in the trail. */
  readonly name: string
  readonly detail: Readonly<Record<string, unknown>>
}

/**
 * SPEC 7.6: what a person changes, and the record of it. One transaction, so that where the record cannot be written
 * nothing is changed (decision 0385). `act` works with the database that it is given.
 */
export function changeRecorded<T>(
  { database, audit }: Recording,
  { by, evidence = {} }: Author,
  act: (database: Database) => Promise<Change<T>>,
): Promise<T> {
  return audit.appendWith(async (db) => {
    const { result, name, detail } = await act(within(database, db))
    return [result, eventOf(name, by, { ...evidence, ...detail })] as const
  })
}
