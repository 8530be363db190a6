import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateDirectory, type Workspace } from '@cordon/workspace'

/** Kept where only the user reads, one for each workspace, made when it is first needed. */
export function openSecret({ local }: Workspace, name: string): string {
  const file = join(local, name)
  const known = read(file)
  if (known !== undefined) return known
  makePrivateDirectory(local)
  const fresh = join(local, `${name}.${process.pid}.${randomBytes(4).toString('hex')}`)
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
