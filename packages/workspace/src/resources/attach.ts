import { read, readSync } from 'node:fs'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { type OpenFile } from '@cordon/files'
import { below, CordonError, workspaceUri } from '@cordon/policy'
import { setImmediate as breathe } from 'node:timers/promises'
import { type BlobBatch, SMALL } from '../blobs/batch.ts'
import { type Chunks, type HeldFile } from '../blobs/chunks.ts'
import { type BlobStore } from '../blobs/store.ts'
import { reason } from '../small-files.ts'
import { type Workspace } from '../place/workspace.ts'
import { AttachError } from './errors.ts'
import { type ExpandContext, expandPath, type FoundFile } from './expand.ts'
import { externalUri } from './external-uri.ts'
import { contentType, HEAD } from './mime.ts'
import { type Resource } from './resource.ts'

export interface AttachContext {
  readonly workspace: Pick<Workspace, 'root' | 'home' | 'local'>
  /** What a relative path is relative to. */
  readonly cwd: string
  /** The store beside the conversation that will hold the resource. */
  readonly store: BlobStore
  /** Its reason, a CordonError, is thrown once it is aborted; nothing half-kept is left. */
  readonly signal?: AbortSignal | undefined
  /** Where small files are kept together. The caller commits it; without one, each call makes and commits its own. */
  readonly batch?: BlobBatch | undefined
  /** Whether to leave out a file that a directory or a pattern finds (SPEC 4.9). */
  readonly leaveOut?: ExpandContext['leaveOut']
  /** Whether to take what a path leads to (SPEC 4.9). */
  readonly admit?: ExpandContext['admit']
  /** Told after each file. */
  readonly onFile?: (() => void) | undefined
}

/** More than this from one argument is taken for a mistake, such as attaching `/`. */
const MOST_FILES = 10_000

/**
 * SPEC 6.3: the files that `input` names, read and kept now. The resources go into a `request`; a failure keeps none of
 * them (blobs that nobody references are collected).
 */
export async function attachPath(input: string, context: AttachContext): Promise<Resource[]> {
  const { root, home, local } = context.workspace
  const { cwd, leaveOut, admit, signal, onFile } = context
  try {
    return await batched(context, async (batch) => {
      const resources: Resource[] = []
      const wanted = {
        root,
        home,
        local,
        cwd,
        ...(leaveOut ? { leaveOut } : {}),
        ...(admit ? { admit } : {}),
      }
      for await (const found of expandPath(input, wanted)) {
        if (resources.length === MOST_FILES)
          throw new AttachError(input, `it holds more than ${MOST_FILES} files`)
        resources.push(await snapshot(found, context, batch))
        onFile?.()
        if (resources.length % 32 === 0) await breathe() // so that a Ctrl-C is heard
        signal?.throwIfAborted()
      }
      return resources
    })
  } catch (error) {
    throw error instanceof CordonError ? error : new AttachError(input, reason(error))
  }
}

/** In the caller's batch, or in one of its own that is durable when this returns. */
export async function batched<T>(
  { batch, store }: Pick<AttachContext, 'batch' | 'store'>,
  work: (batch: BlobBatch) => Promise<T>,
): Promise<T> {
  if (batch) return work(batch)
  await using own = store.openBatch()
  const result = await work(own)
  await own.commit()
  return result
}

/** One regular file, by its canonical path. */
export async function snapshot(
  found: FoundFile,
  { workspace, store, signal }: AttachContext,
  batch: BlobBatch,
): Promise<Resource> {
  const { path } = found
  const inside = below(workspace.root, path)
  const uri = inside === undefined ? externalUri(path) : workspaceUri(inside)
  const name = basename(path)
  using file = found.open()
  const small = readSmallFile(file)
  if (small) {
    const { mimeType, form } = contentType(small.subarray(0, HEAD), path)
    return { uri, mimeType, [form]: await batch.add(small), name }
  }
  const held: HeldFile = { read: (...at) => readAsync(file.fd, ...at) }
  const { mimeType, form } = contentType(await headOf(held), path)
  return { uri, mimeType, [form]: await store.putFile(held, signal), name }
}

const readAsync = promisify(read)

/** The content of a small file; undefined for a large one. Plain calls: for thousands of files they take a fifth of the time. */
function readSmallFile({ fd, stat: { size } }: OpenFile): Buffer | undefined {
  if (size > SMALL) return undefined
  const buffer = Buffer.allocUnsafe(size + 1)
  let length = 0
  for (let got = -1; got !== 0 && length < buffer.length; length += got)
    got = readSync(fd, buffer, length, buffer.length - length, length)
  return length > size ? undefined : buffer.subarray(0, length) // it grows: as a stream, then
}

async function headOf(file: HeldFile): Promise<Uint8Array> {
  const head = Buffer.alloc(HEAD)
  const { bytesRead } = await file.read(head, 0, HEAD, 0)
  return head.subarray(0, bytesRead)
}

export interface About {
  readonly uri: string
  /** What it is called, where it has a name. */
  readonly name?: string | undefined
  /** Which kind of text its source says it is; counts only for text whose name says nothing. */
  readonly textType?: string | undefined
}

/** Content that is no file, such as an answer or the output of a command, read and kept now. */
export async function attachContent(content: Chunks, about: About, store: BlobStore): Promise<Resource> {
  const { uri, name, textType } = about
  const { head, whole } = await peek(content)
  const { mimeType, form } = contentType(head, name ?? '')
  const shown = form === 'text' && mimeType === 'text/plain' ? (textType ?? mimeType) : mimeType
  return { uri, mimeType: shown, [form]: await store.put(whole), ...(name === undefined ? {} : { name }) }
}

/** The beginning, and all of it. */
async function peek(content: Chunks): Promise<{ readonly head: Uint8Array; readonly whole: Chunks }> {
  const pieces = content[Symbol.asyncIterator]()
  const held: Uint8Array[] = []
  let length = 0
  while (length < HEAD) {
    const { value, done } = await pieces.next()
    if (done) break
    held.push(Uint8Array.from(value)) // a copy: the piece's memory is used again
    length += value.length
  }
  return { head: Buffer.concat(held).subarray(0, HEAD), whole: chained(held, pieces) }
}

async function* chained(
  held: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* held
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
