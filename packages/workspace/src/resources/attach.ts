import { constants } from 'node:fs'
import { type FileHandle, open, readdir, realpath } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { below, type CanonicalPath, CordonError } from '@cordon/policy'
import { type BlobStore } from '../blobs/store.ts'
import { errorCode, reason } from '../durable.ts'
import { type Workspace } from '../place/workspace.ts'
import { AttachError } from './errors.ts'
import { externalUri, workspaceUri } from './external-uri.ts'
import { contentType, HEAD } from './mime.ts'
import { type Resource } from './resource.ts'

export interface AttachContext {
  readonly workspace: Pick<Workspace, 'root' | 'home'>
  /** What a relative path is relative to. */
  readonly cwd: string
  /** The store beside the conversation that will hold the resource. */
  readonly store: BlobStore
}

/** More than this from one argument is taken for a mistake, such as attaching `/`. */
const MOST_FILES = 10_000

/**
 * SPEC 6.3: the files that `input` names, read and kept now. A directory is all the files below it, links in it left out.
 * The resources go into a `request`; a failure keeps none of them (blobs nobody references are collected).
 */
export async function attachPath(input: string, context: AttachContext): Promise<Resource[]> {
  try {
    const path = await canonical(input, context)
    const resources: Resource[] = []
    for await (const file of filesAt(path, input)) {
      if (resources.length === MOST_FILES)
        throw new AttachError(input, `it holds more than ${MOST_FILES} files`)
      resources.push(await snapshot(file, input, context))
    }
    if (resources.length === 0) throw new AttachError(input, 'there is no file in it')
    return resources
  } catch (error) {
    throw error instanceof CordonError ? error : new AttachError(input, reason(error))
  }
}

/** `~` expanded, relative to the current directory, every link resolved: also a mount leads outside. */
async function canonical(input: string, { cwd, workspace }: AttachContext): Promise<CanonicalPath> {
  if (input === '') throw new AttachError(input, 'the path is empty')
  if (input.includes('\0')) throw new AttachError(input, 'the path contains a NUL byte')
  const expanded = input === '~' || input.startsWith('~/') ? join(workspace.home, input.slice(1)) : input
  const bytes = await realpath(resolve(cwd, expanded), 'buffer').catch((error: unknown) => {
    throw new AttachError(input, errorCode(error) === 'ELOOP' ? 'its links loop' : reason(error))
  })
  return utf8(bytes, input) as CanonicalPath
}

/** RFD D03, "Filename encoding". Decoding would turn two names into one. */
function utf8(bytes: Buffer, input: string): string {
  const text = bytes.toString('utf8')
  if (!Buffer.from(text).equals(bytes)) throw new AttachError(input, 'its name is not valid UTF-8')
  return text
}

async function* filesAt(path: string, input: string): AsyncGenerator<string> {
  const handle = await open(path, READ)
  try {
    const stat = await handle.stat()
    if (stat.isFile()) {
      yield path
      return
    }
    if (!stat.isDirectory()) throw new AttachError(input, 'it is neither a file nor a directory')
  } finally {
    await handle.close()
  }
  const entries = await readdir(path, { withFileTypes: true, encoding: 'buffer' })
  const named = entries.map((entry) => ({ entry, name: utf8(entry.name, input) }))
  for (const { entry, name } of named.sort((a, b) => (a.name < b.name ? -1 : 1)))
    if (entry.isFile()) yield join(path, name)
    else if (entry.isDirectory() && name !== '.git') yield* filesAt(join(path, name), input)
}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** One regular file, by its canonical path. */
export async function snapshot(
  path: string,
  input: string,
  { workspace, store }: AttachContext,
): Promise<Resource> {
  const file = await open(path, READ)
  try {
    if (!(await file.stat()).isFile()) throw new AttachError(input, 'it is not a regular file')
    const { mimeType, form } = contentType(await headOf(file), path)
    const inside = below(workspace.root, path)
    const uri = inside === undefined ? externalUri(path) : workspaceUri(inside)
    return { uri, mimeType, [form]: await store.putFile(file), name: basename(path) }
  } finally {
    await file.close()
  }
}

async function headOf(file: FileHandle): Promise<Uint8Array> {
  const head = Buffer.alloc(HEAD)
  const { bytesRead } = await file.read(head, 0, HEAD, 0)
  return head.subarray(0, bytesRead)
}
