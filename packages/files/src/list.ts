import { type Dirent, readdirSync } from 'node:fs'
import { type RelPath } from '@cordon/policy'
import { type Directory } from './directory.ts'
import { type EntryKind, kindOf } from './entry.ts'

/**
 * One name in a directory. A name that is not UTF-8 has no string form that would find it again, so it
 * has only bytes: it can be reported, and not be mistaken for another.
 */
export type Entry =
  | { readonly name: RelPath; readonly bytes?: undefined; readonly kind: EntryKind }
  | { readonly name?: undefined; readonly bytes: NonSharedBuffer; readonly kind: EntryKind }

/** In the order of the filesystem, which is no order. */
export function listEntries(directory: Directory): Entry[] {
  const entries = directory.at((base) => readdirSync(base === '' ? '/' : base, { withFileTypes: true }))
  if (entries.some(({ name }) => name.includes('\ufffd'))) return listBytes(directory)
  return entries.map(toEntry)
}

const toEntry = (entry: Dirent): Entry => ({ name: entry.name as RelPath, kind: kindOf(entry) })

/** Only when a name may not be UTF-8: decoding has replaced something by U+FFFD, or it was in the name. */
function listBytes(directory: Directory): Entry[] {
  const options = { withFileTypes: true, encoding: 'buffer' } as const
  return directory
    .at((base) => readdirSync(base === '' ? '/' : base, options))
    .map((entry) => {
      const name = entry.name.toString('utf8')
      const kind = kindOf(entry)
      return Buffer.from(name).equals(entry.name)
        ? { name: name as RelPath, kind }
        : { bytes: entry.name, kind }
    })
}
