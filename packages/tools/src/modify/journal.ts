import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { type Anchor } from '@cordon/files'
import { joinRel, type Location, type RelPath, ROOT, splitEntry } from '@cordon/policy'
import { type Access } from '../access.ts'
import { type Anchors } from '../anchors.ts'
import { type Keys } from './keys.ts'

/** A path that a call was to change, as the caller wrote it, and where it led then. */
export interface Placed {
  readonly path: string
  /** By a link that was put there since, no other file is changed, and none beside it removed. */
  readonly at: Pick<Location, 'anchor' | 'inside'>
}

/** One file of a change: enough to go on with it and to take it back. */
export interface JournalEntry extends Placed {
  readonly old: Buffer
  readonly new: Buffer
}

/** SPEC 6.4: while it exists, the change it holds is decided; whoever finds it completes it. */
export interface Journal {
  readonly id: string
  readonly writer: { readonly machine: string; readonly pid: number }
  /** `undo` when the writer met an error half-way and is taking back what it had done. */
  readonly direction: 'forward' | 'undo'
  readonly entries: readonly JournalEntry[]
}

/** Where a journal is: a directory that is reachable, and writable for whoever may change files there. */
export interface JournalPlace {
  readonly anchor: Anchor
  readonly path: RelPath
  /** For messages. */
  readonly name: string
}

/**
 * In the directory of the rule that lets a file be changed: confined, we may write nowhere else. Undefined when there is
 * none: of a mount that leads to a file, only that file is ours.
 */
export function journalPlace(access: Access, anchors: Anchors, rulePath: RelPath): JournalPlace | undefined {
  const location = access.place(rulePath, 'update')
  const anchor = anchors.of(location)
  if (location.inside === ROOT && anchor.stat(ROOT).kind === 'file') return undefined
  const isDirectory = anchor.stat(location.inside).kind === 'directory'
  const directory = isDirectory ? location.inside : (splitEntry(location.inside)?.parent ?? location.inside)
  const path = joinRel(directory, JOURNAL_NAME as RelPath)
  return { anchor, path, name: path }
}

export const newJournal = (entries: readonly JournalEntry[]): Journal => ({
  id: randomBytes(16).toString('hex'),
  writer: { machine: machine(), pid: process.pid },
  direction: 'forward',
  entries,
})

/**
 * Sealed, because a journal tells a tool what to write: one that came with a repository, or that another
 * tool wrote to borrow this one's rights, must not be believed (decision 0073). And not to be read by those who may
 * read the directory, but not all the files (decision 0446).
 */
export function sealJournal(
  { id, writer, direction, entries }: Journal,
  place: JournalPlace,
  keys: Keys,
): Buffer {
  const body = JSON.stringify({
    id,
    writer,
    direction,
    entries: entries.map((entry) => ({
      path: entry.path,
      at: entry.at,
      old: entry.old.toString('base64'),
      new: entry.new.toString('base64'),
    })),
  })
  const name = keys.own
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOf(name, keys), nonce)
  cipher.setAAD(boundTo(name, place))
  const sealed = [cipher.update(body, 'utf8'), cipher.final()]
  return Buffer.concat([Buffer.from(`${name}\n`), nonce, cipher.getAuthTag(), ...sealed])
}

/** A journal, and the name of the key that opened it. */
export interface OpenedJournal extends Journal {
  readonly key: string
}

/** Undefined: no key of an open change opens it in this place, so nothing in it is believed. */
export function openJournal(bytes: Buffer, place: JournalPlace, keys: Keys): OpenedJournal | undefined {
  const end = bytes.subarray(0, LONGEST_NAME).indexOf('\n')
  const name = bytes.toString('latin1', 0, Math.max(end, 0))
  const key = keys.find(name)
  const body = key && decrypt(bytes.subarray(end + 1), key, boundTo(name, place))
  if (body === undefined) return undefined
  // Sealed by us, so its shape is ours.
  const { id, writer, direction, entries } = JSON.parse(body) as Omit<Journal, 'entries'> & {
    readonly entries: readonly (Pick<JournalEntry, 'path' | 'at'> & Record<'old' | 'new', string>)[]
  }
  return {
    id,
    writer,
    direction,
    entries: entries.map((each) => ({ ...each, old: decode(each.old), new: decode(each.new) })),
    key: name,
  }
}

function decrypt(sealed: Buffer, key: Buffer, bound: Buffer): string | undefined {
  const [nonce, tag] = [sealed.subarray(0, NONCE_BYTES), sealed.subarray(NONCE_BYTES, HEAD_BYTES)]
  if (nonce.length + tag.length < HEAD_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(bound)
  decipher.setAuthTag(tag)
  const opened = decipher.update(sealed.subarray(HEAD_BYTES))
  try {
    return Buffer.concat([opened, decipher.final()]).toString('utf8')
  } catch {
    return undefined // the tag is not of this content
  }
}

function keyOf(name: string, keys: Keys): Buffer {
  const key = keys.find(name)
  if (!key) throw new Error('a call was given the name of a key, and no key')
  return key
}

/** To the directory itself: a journal is one of the place it was made in. */
function boundTo(name: string, place: JournalPlace): Buffer {
  const directory = splitEntry(place.path)?.parent ?? place.path
  return Buffer.from(`${name}\n${place.anchor.stat(directory).identity}`)
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = NONCE_BYTES + TAG_BYTES
const LONGEST_NAME = 64

const decode = (data: string): Buffer => Buffer.from(data, 'base64')

/** Whether the process that wrote it is gone for certain. Another container's or another boot's is not ours to ask. */
export function isWriterDead({ writer }: Journal): boolean {
  if (writer.machine !== machine()) return false
  try {
    process.kill(writer.pid, 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

/** A pid means something only in one boot and one pid namespace. */
function machine(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return randomBytes(8).toString('hex') // equal to nobody's
  }
}

/** One name for every journal, so that it is found again without a search, and held by only one run at a time. */
export const JOURNAL_NAME = '.cordon-modify-journal'

export const isJournalName = (name: string): boolean => name === JOURNAL_NAME
