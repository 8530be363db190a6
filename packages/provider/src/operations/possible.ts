import { posix } from 'node:path'
import { type EntryKind, FileError } from '@cordon/files'
import { type RelPath, ROOT, show, splitEntry } from '@cordon/policy'
import type { Command } from '../commands.ts'
import { Refusal } from '../errors.ts'
import type { AnyArgs } from './args.ts'
import type { Place } from '../pipeline/places.ts'
import type { Work } from './operation.ts'

/** Why a command cannot be done to what was found there. Nothing is touched for it, and nothing read. */
export function requirePossible(
  command: Command,
  { args, place, destination }: Pick<Work<Command>, 'args' | 'place' | 'destination'>,
): void {
  const kind = place.stat?.kind
  switch (command) {
    case '/filesystem/file/create':
    case '/filesystem/dir/create':
      if (kind !== undefined) throw new Refusal('already_exists', 'there is something with that name already')
      return
    case '/filesystem/file/delete':
      requireThere(kind)
      if (kind === 'directory') throw new Refusal('wrong_kind', 'it is a directory: use dir_delete')
      return
    case '/filesystem/dir/delete':
      requireThere(kind)
      if (kind !== 'directory') throw new Refusal('wrong_kind', 'it is not a directory: use file_delete')
      return
    case '/filesystem/dir/delete_recursive':
      requireThere(kind)
      if (kind !== 'directory') throw new Refusal('wrong_kind', 'it is not a directory')
      return
    case '/filesystem/file/move':
    case '/filesystem/file/copy': {
      if (destination?.path === place.path)
        throw new Refusal('bad_request', 'source and destination are the same')
      requireThere(kind)
      const verb = command === '/filesystem/file/move' ? 'move' : 'copy'
      if (kind === 'directory')
        throw new Refusal('wrong_kind', `a directory is not ${verb === 'move' ? 'moved' : 'copied'}`)
      const { overwrite }: AnyArgs = args
      if (destination) requireReplaceable(verb, place, destination, overwrite === true)
      return
    }
    case '/filesystem/file/write':
      if (kind === 'directory') throw new Refusal('wrong_kind', 'it is a directory')
      return
    case '/filesystem/file/edit':
    case '/filesystem/file/read':
    case '/filesystem/file/stat':
    case '/filesystem/file/search':
    case '/filesystem/dir/list':
    case '/filesystem/dir/tree':
      requireThere(kind)
  }
}

/** Of what would be made: there must be a directory to make it in; with `parents`, one in which they can be made. */
export function requireParent({ anchor, inside, path, stat }: Place, { parents = false } = {}): void {
  if (stat) return
  for (let at = splitEntry(inside)?.parent; at !== undefined; at = splitEntry(at)?.parent) {
    const kind = kindAt(anchor, at)
    if (kind === 'directory') return
    if (kind === undefined && parents && at !== ROOT) continue
    if (kind === undefined)
      throw new Refusal('not_found', `there is no directory ${show(posix.dirname(path))}`)
    throw new Refusal('wrong_kind', `${show(posix.dirname(path))} is not a directory`)
  }
}

function kindAt(anchor: Place['anchor'], at: RelPath): EntryKind | undefined {
  try {
    return anchor.stat(at).kind
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

function requireThere(kind: EntryKind | undefined): void {
  if (kind === undefined) throw new Refusal('not_found', 'there is nothing with that name')
}

/** SPEC 7.2: only a file is replaced, and only when that was asked for. Said of the destination, which it is about. */
function requireReplaceable(
  verb: 'move' | 'copy',
  { path }: Place,
  { path: destination, stat }: Place,
  overwrite: boolean,
): void {
  if (!stat || (stat.kind === 'file' && overwrite)) return
  if (stat.kind === 'file') throw destinationExists(verb, path, destination)
  throw new Refusal(
    overwrite ? 'wrong_kind' : 'already_exists',
    `cannot ${verb} ${show(path)}: ${show(destination)} exists already, and is a ${stat.kind}: only a file is replaced`,
    { path: destination },
  )
}

export const destinationExists = (verb: 'move' | 'copy', path: string, destination: string): Refusal =>
  new Refusal(
    'already_exists',
    `cannot ${verb} ${show(path)}: ${show(destination)} exists already, and is replaced only with \`overwrite\``,
    { path: destination },
  )
