import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Workspace } from '@cordon/workspace'

/**
 * The secret with which `fs_modify_file` seals its journals (decision 0073), so that nothing in the workspace can make
 * it write. Kept where only the user reads, one for each workspace, made when it is first needed.
 */
export function openJournalKey({ local }: Workspace): string {
  const file = join(local, 'journal.key')
  const known = read(file)
  if (known !== undefined) return known
  mkdirSync(local, { recursive: true, mode: 0o700 })
  const fresh = join(local, `journal.key.${process.pid}.${randomBytes(4).toString('hex')}`)
  writeFileSync(fresh, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' })
  try {
    linkSync(fresh, file) // whole or not at all, and the first of two wins
  } catch (error) {
    if (!isTaken(error)) throw error
  } finally {
    rmSync(fresh)
  }
  return readFileSync(file, 'utf8')
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

const isTaken = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EEXIST'
