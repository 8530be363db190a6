import { randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { basename, join } from 'node:path'
import { errorCode, reason } from '../small-files.ts'
import { MARKER, WorkspaceError } from './find-root.ts'

/** Checked text: it becomes part of a directory's name. */
export type WorkspaceId = string & { readonly __brand: 'WorkspaceId' }

const ID = /^[a-z0-9]{5,10}$/
const isId = (text: string): text is WorkspaceId => ID.test(text)

export const idFile = (root: string): string => join(root, MARKER, 'id')

/**
 * `.cordon/id`, made by `cordon init`. A directory marked by hand has none: then the id follows from its path,
 * so that nothing has to be written to look at a workspace; it does not survive a rename.
 */
export function readId(root: string): WorkspaceId {
  return readIdFile(root) ?? idOfPath(root)
}

export const idOfPath = (root: string): WorkspaceId => base32(spread(root)) as WorkspaceId

/**
 * Eight bytes that follow from a text, by FNV-1a. Not a hash that keeps anybody from finding another text: an id proves
 * nothing (docs/decisions/0061), and `node:crypto` would be a tenth of the start of `cordon run`.
 */
function spread(text: string): Uint8Array {
  let hash = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  const bytes = new DataView(new ArrayBuffer(8))
  bytes.setBigUint64(0, hash)
  return new Uint8Array(bytes.buffer)
}

export function readIdFile(root: string): WorkspaceId | undefined {
  const text = readLine(root)
  if (text === undefined || isId(text)) return text
  throw new WorkspaceError(
    root,
    '.cordon/id is not an id (5 to 10 of a-z and 0-9); run `cordon init` to renew it',
  )
}

export const randomId = (): WorkspaceId => base32(randomBytes(8)) as WorkspaceId

/** The directory's name in what is safe and readable in another directory's name. */
export function slugOf(root: string): string {
  const plain = basename(root).normalize('NFKD').toLowerCase()
  const unmarked = /^[ -~]*$/.test(plain) ? plain : plain.replace(/\p{M}/gu, '')
  const slug = unmarked
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 32)
    .replace(/^-|-$/g, '')
  return slug === '' ? 'workspace' : slug
}

/** One character a byte, without the letters that are taken for digits. */
export const base32 = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => '0123456789abcdefghjkmnpqrstvwxyz'[byte & 31]).join('')

/** The file came with the workspace, so it can be anything: no link, no FIFO, never more than a line. */
function readLine(root: string): string | undefined {
  let fd: number | undefined
  try {
    fd = openSync(idFile(root), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if (!fstatSync(fd).isFile()) throw new WorkspaceError(root, '.cordon/id is not a regular file')
    const buffer = Buffer.alloc(64)
    return buffer.toString('latin1', 0, readSync(fd, buffer)).trimEnd()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error instanceof WorkspaceError ? error : new WorkspaceError(root, `.cordon/id: ${reason(error)}`)
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
