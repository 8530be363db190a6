import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceDurably, tempOf } from '@cordon/files'
import { show } from '@cordon/policy'
import { errorCode, readSmallOr } from '../small-files.ts'
import { type Workspace } from '../place/workspace.ts'
import { type ChainEnd, NO_SEALS, type SealedFor } from './chain.ts'
import { SealError } from './errors.ts'
import { sealsDir } from './key.ts'

/** SPEC 2.1: what the user's place knows of a conversation's sealed events. */
export interface Ledger extends ChainEnd {
  /** An append that has begun: as long as it is not known to have ended, the log may end here or there. */
  readonly next?: ChainEnd
}

const ledgerFile = (workspace: Pick<Workspace, 'local'>, { id, keeping }: SealedFor): string =>
  join(sealsDir(workspace), `${id}.${keeping}.json`)

/** A file that cannot be understood is an error: what it held cannot be guessed. */
export async function readLedger(workspace: Pick<Workspace, 'local'>, owner: SealedFor): Promise<Ledger> {
  const file = ledgerFile(workspace, owner)
  const wrong = (problem: string): SealError =>
    new SealError(file, problem, `remove it, then look at what was sealed: rm ${show(file)} && cordon trust`)
  const found = readSmallOr(file, LARGEST, wrong)
  if (!found) return NO_SEALS
  const ledger = parseLedger(found.bytes.toString('utf8'))
  if (!ledger) throw wrong('it is damaged')
  return ledger
}

const LARGEST = 4096

function parseLedger(text: string): Ledger | undefined {
  try {
    const { count, last, next } = JSON.parse(text) as Partial<Record<keyof Ledger, unknown>>
    const end = asEnd({ count, last })
    if (next === undefined) return end
    const planned = asEnd(next)
    return end && planned && planned.count > end.count ? { ...end, next: planned } : undefined
  } catch {
    return undefined
  }
}

function asEnd(value: unknown): ChainEnd | undefined {
  const { count, last } = value as Partial<Record<keyof ChainEnd, unknown>>
  if (!Number.isSafeInteger(count) || typeof last !== 'string') return undefined
  const fits = count === 0 ? last === '' : (count as number) > 0 && /^[0-9a-f]{64}$/.test(last)
  return fits ? { count: count as number, last } : undefined
}

/** The caller holds the conversation's lock, or is making it, and has made the key: the directory is there. */
export async function writeLedger(
  workspace: Pick<Workspace, 'local'>,
  owner: SealedFor,
  { count, last, next }: Ledger,
): Promise<void> {
  const text = JSON.stringify({ count, last, ...(next ? { next } : {}) })
  replaceDurably(ledgerFile(workspace, owner), `${text}\n`, { mode: 0o600 })
}

/** With the conversation. The caller holds its lock. */
export async function removeLedger(workspace: Pick<Workspace, 'local'>, owner: SealedFor): Promise<void> {
  const file = ledgerFile(workspace, owner)
  for (const each of [file, tempOf(file)])
    await rm(each, { force: true }).catch((error: unknown) => {
      if (errorCode(error) !== 'ENOTDIR') throw error
    })
}
