import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { type Anchor } from '@cordon/files'
import { joinRel, type RelPath, ROOT, show, splitEntry } from '@cordon/policy'
import { type Access } from '../access.ts'
import { type Anchors } from '../anchors.ts'
import { ToolError } from '../report.ts'

/** One file of a change: enough to go on with it and to take it back. */
export interface JournalEntry {
  readonly path: string
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
 * tool wrote to borrow this one's rights, must not be believed (decision 0073).
 */
export function serializeJournal(
  { id, writer, direction, entries }: Journal,
  place: JournalPlace,
  key: string,
): string {
  const body = JSON.stringify({
    id,
    writer,
    direction,
    entries: entries.map((entry) => ({
      path: entry.path,
      old: entry.old.toString('base64'),
      new: entry.new.toString('base64'),
    })),
  })
  return JSON.stringify({ seal: sealOf(body, place, key), body })
}

export function parseJournal(text: string, place: JournalPlace, key: string): Journal {
  const outer = parseObject(text)
  const { seal, body } = outer ?? {}
  if (typeof seal !== 'string' || typeof body !== 'string' || !sameText(seal, sealOf(body, place, key)))
    throw new ToolError(
      `${show(place.name)} is not a journal of this tool in this place; look at it and remove it`,
    )
  // Sealed by us, so its shape is ours.
  const { id, writer, direction, entries } = JSON.parse(body) as Omit<Journal, 'entries'> & {
    readonly entries: readonly { readonly path: string; readonly old: string; readonly new: string }[]
  }
  return {
    id,
    writer,
    direction,
    entries: entries.map((e) => ({ path: e.path, old: decode(e.old), new: decode(e.new) })),
  }
}

/** Bound to the directory itself, whose number nobody can know beforehand, and to the host's key if there is one. */
function sealOf(body: string, place: JournalPlace, key: string): string {
  const directory = splitEntry(place.path)?.parent ?? place.path
  const { identity } = place.anchor.stat(directory)
  return createHmac('sha256', key).update(`${identity}\n${body}`).digest('hex')
}

const decode = (data: string): Buffer => Buffer.from(data, 'base64')

const sameText = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

function parseObject(text: string): { readonly seal?: unknown; readonly body?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

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
const JOURNAL_NAME = '.cordon-modify-journal'

export const isJournalName = (name: string): boolean => name === JOURNAL_NAME
