import { createHash, hash } from 'node:crypto'
import { FileError, type FileVersion } from '@cordon/files'
import type { State } from '../audit/record.ts'
import type { Command } from '../commands.ts'
import { Refusal } from '../errors.ts'
import { interruptible } from './interruptible.ts'
import type { Work } from './operation.ts'
import type { Deadline } from '../pipeline/deadline.ts'
import type { Place } from '../pipeline/places.ts'

/** Read at once; larger files go piece by piece. */
export const SMALL_BYTES: number = 256 * 1024

/** More than this is not hashed where nobody asked for the hash: the record then has its size alone. */
export const MOST_HASHED_BYTES: number = 1024 ** 3

/** What is there before it is changed, for the record and for `If-Match`. */
export async function stateOf(
  { anchor, inside, stat }: Place,
  deadline: Deadline,
  wanted: 'if small enough' | 'always' = 'if small enough',
): Promise<State | undefined> {
  if (stat?.kind !== 'file') return undefined
  if (stat.size > MOST_HASHED_BYTES && wanted !== 'always') return { bytes: stat.size }
  try {
    const { sha256, size } = await anchor.hash(inside, { signal: deadline.signal })
    return { sha256, bytes: size }
  } catch (error) {
    // Somebody else replaces it meanwhile. Who did not ask for a certain content takes whichever there is.
    if (wanted === 'always' || !isReplaced(error)) throw error
    return { bytes: stat.size }
  }
}

const REPLACED: ReadonlySet<string> = new Set(['FILE_CHANGED', 'FILE_NOT_FOUND', 'FILE_IS_LINK'])

/** Somebody else put something in its place, or took it away, while it was read. */
export const isReplaced = (error: unknown): boolean => error instanceof FileError && REPLACED.has(error.code)

/**
 * Whether the agent may read what is there. Who may not is told neither a diff nor the hash of content that it did not
 * send: a short secret is guessed from its hash, by itself and unseen.
 */
export const mayKnowContent = ({ may, place }: Pick<Work<Command>, 'may' | 'place'>): boolean =>
  may('/filesystem/file/read', place)

/** SPEC 7.2 `If-Match`. */
export function requireMatch(
  wanted: string | undefined,
  found: State | undefined,
  work: Pick<Work<Command>, 'may' | 'place'>,
): void {
  if (wanted === undefined || wanted === found?.sha256) return
  throw new Refusal(
    'changed',
    found === undefined
      ? 'there is no file with that content any more'
      : 'the content is not what it was: read it again',
    mayKnowContent(work) ? { sha256: found?.sha256 ?? null } : {},
  )
}

/** SPEC 7.5: a person signed for what was there when it was found, and not for what came since. */
export const signedVersion = ({
  cosigned,
  place,
}: Pick<Work<Command>, 'cosigned' | 'place'>): FileVersion | undefined =>
  cosigned ? place.stat?.version : undefined

export function requireSignedVersion(
  work: Pick<Work<Command>, 'cosigned' | 'place'>,
  found: FileVersion,
): void {
  const signed = signedVersion(work)
  if (signed !== undefined && signed !== found) throw changedSinceFound()
}

/** SPEC 7.5: of an answer that a person signed for, as the same directory told it when it was looked at for that. */
export const digestTold = (value: unknown): string => hash('sha256', JSON.stringify(value))

export function requireSignedAnswer({ signedFor }: Pick<Work<Command>, 'signedFor'>, value: unknown): void {
  if (signedFor !== undefined && signedFor !== digestTold(value)) throw changedSinceFound()
}

export const changedSinceFound = (): Refusal =>
  new Refusal('changed', 'it was changed since it was looked at for the approval; ask again')

/** Passes content on only while it is what was signed: not a byte more, and at the end exactly that hash. */
export async function* signedContent(
  body: AsyncIterable<Uint8Array>,
  { size, sha256 }: { readonly size: number; readonly sha256: string },
  deadline: Deadline,
): AsyncGenerator<Uint8Array> {
  const digest = createHash('sha256')
  let received = 0
  for await (const piece of interruptible(body, deadline.signal)) {
    deadline.check()
    received += piece.length
    if (received > size) break
    digest.update(piece)
    yield piece
  }
  if (received === size && digest.digest('hex') === sha256) return
  throw new Refusal(
    'content_mismatch',
    received === size
      ? 'the content has another hash than the invocation says; nothing was changed'
      : `the invocation says ${size} bytes, and ${received > size ? 'more' : `${received}`} came; nothing was changed`,
  )
}
