import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceDurably, syncDirectory } from '@cordon/files'
import { CordonError, show } from '@cordon/policy'
import { readSmallOr, reason } from '../small-files.ts'
import { type LockHolder, withLock } from '../lock.ts'
import { lockFile, type Workspace } from '../place/workspace.ts'
import { SealError } from './errors.ts'

export const sealsDir = ({ local }: Pick<Workspace, 'local'>): string => join(local, 'seals')

const keyFile = (workspace: Pick<Workspace, 'local'>): string => join(sealsDir(workspace), 'key')

const BYTES = 32

/** The workspace's key in the user's place; undefined when nothing was ever sealed. */
export async function readKey(workspace: Pick<Workspace, 'local'>): Promise<Uint8Array | undefined> {
  const file = keyFile(workspace)
  const found = readSmallOr(file, BYTES, (problem) => new SealError(file, problem, RENEW(file)))
  if (!found) return undefined
  // Who can read it can seal. The place belongs to the user; so must the key.
  const owner = statSync(workspace.local).uid
  if (found.uid !== owner)
    throw new SealError(file, `it belongs to the user with id ${found.uid}`, RENEW(file))
  if ((found.mode & 0o077) !== 0)
    throw new SealError(file, 'other users may read or write it, so they may know it', RENEW(file))
  if (found.bytes.length !== BYTES) throw new SealError(file, `it is not ${BYTES} bytes long`, RENEW(file))
  return found.bytes
}

/** What was sealed with it then counts as files do. */
const RENEW = (file: string): string =>
  `remove it, then look at what was sealed: rm ${show(file)} && cordon trust`

/** Makes it on the first need. The place is prepared already; two processes at once agree on one key. */
export async function requireKey(workspace: Workspace, holder: LockHolder): Promise<Uint8Array> {
  const known = await readKey(workspace)
  if (known) return known
  const options = { what: 'the key for seals', holder, wait: 10_000 }
  return withLock(lockFile(workspace, 'seals'), options, async () => {
    const made = await readKey(workspace) // by another process, meanwhile
    if (made) return made
    const key = randomBytes(BYTES)
    await mkdir(sealsDir(workspace), { recursive: true, mode: 0o700 })
    syncDirectory(workspace.local)
    replaceDurably(keyFile(workspace), key, { mode: 0o600 })
    return key
  }).catch((error: unknown) => {
    if (error instanceof CordonError) throw error
    throw new SealError(keyFile(workspace), reason(error), 'make the place writable, then try again')
  })
}
