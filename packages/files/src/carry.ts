import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  futimesSync,
  linkSync,
  readlinkSync,
  readSync,
  renameSync,
  symlinkSync,
  writeSync,
} from 'node:fs'
import { kindOf, sameFile, versionOf } from './entry.ts'
import { errnoOf, FileError, type Subject, WrongKind } from './errors.ts'
import { both, durably, lookAt, orTakeBack, type Slot, publish, removeEntry, setMode } from './publish.ts'
import { newTempName } from './temp-name.ts'

/** An entry with the path to name it by. */
export type Named = Slot & { readonly path: string }

export const movingOf = ({ path }: Named): Subject => ({ operation: 'move', path })

/**
 * SPEC 4.12: a file or a link moves to where rename(2) does not reach (another filesystem, another mount) by copy, publish,
 * remove. An error in between leaves the source, the target as it was and nothing else; killed in between, the file has
 * both names. What the target replaces is kept beside it under a second name until the source is gone.
 */
export function carryEntry(
  from: Named,
  to: Named,
  source: BigIntStats,
  replaced: BigIntStats | undefined,
): void {
  const copy: Slot = { directory: to.directory, name: newTempName() }
  const kept = replaced && keepAside(to)
  try {
    orTakeBack(
      () => {
        copyEntry(from, copy, source)
        if (replaced) publishOver(copy, to, replaced)
        else publish(copy, to, 'missing')
      },
      () => removeEntry(copy),
    )
    orTakeBack(
      () => removeSource(from, source),
      () => (kept ? durably([to.directory], () => both(kept, to, renameSync)) : removeEntry(to)),
    )
  } finally {
    if (kept) removeIfThere(kept)
  }
}

/** A hard link to what will be replaced. Without one it could not be put back, so then nothing is begun. */
function keepAside(to: Named): Slot {
  const kept: Slot = { directory: to.directory, name: newTempName() }
  try {
    both(to, kept, linkSync)
    return kept
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    const why =
      'would be replaced from another filesystem and cannot be kept aside meanwhile; remove it first'
    throw new FileError('FILE_CROSS_DEVICE', movingOf(to), why, errnoOf(error))
  }
}

function publishOver(copy: Slot, to: Named, replaced: BigIntStats): void {
  const there = lookAt(to)
  if (!there || !sameFile(there, replaced)) throw changed(to)
  publish(copy, to, undefined)
}

function copyEntry(from: Named, copy: Slot, source: BigIntStats): void {
  if (source.isSymbolicLink()) return copyLink(from, copy)
  if (!source.isFile()) throw new WrongKind(kindOf(source), 'file')
  const input = from.directory.openRegular(from.name, constants.O_RDONLY)
  try {
    if (!sameFile(input.stats, source)) throw changed(from)
    const output = copy.directory.createRegular(copy.name, constants.O_WRONLY, 0o600)
    try {
      copyBytes(input.fd, output)
      setMode(output, source, undefined)
      futimesSync(output, Number(source.atimeNs) / 1e9, Number(source.mtimeNs) / 1e9)
      fsyncSync(output)
    } finally {
      closeSync(output)
    }
    if (versionOf(fstatSync(input.fd, { bigint: true })) !== versionOf(source)) throw changed(from)
  } finally {
    closeSync(input.fd)
  }
}

function copyLink(from: Slot, copy: Slot): void {
  const text = from.directory.at((base) => readlinkSync(`${base}/${from.name}`, 'buffer'))
  copy.directory.at((base) => symlinkSync(text, `${base}/${copy.name}`))
}

const CHUNK = 1024 * 1024

function copyBytes(input: number, output: number): void {
  const buffer = Buffer.allocUnsafe(CHUNK)
  for (let got = readSync(input, buffer); got > 0; got = readSync(input, buffer))
    for (let done = 0; done < got;) done += writeSync(output, buffer, done, got - done)
}

/** Only what was copied: who wrote to it or put another in its place meanwhile keeps that. */
function removeSource(from: Named, source: BigIntStats): void {
  const there = lookAt(from)
  if (!there || versionOf(there) !== versionOf(source)) throw changed(from)
  durably([from.directory], () => removeEntry(from))
}

function removeIfThere(slot: Slot): void {
  try {
    removeEntry(slot)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error // the next sweep takes it
  }
}

const changed = (entry: Named): FileError =>
  new FileError('FILE_CHANGED', movingOf(entry), 'was moved or replaced meanwhile')
