import { lstatSync, rmSync, unlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'
import { type Shelf } from '../conversation/shelf.ts'
import { listIfThere, listOwn } from '../directories.ts'
import { tryLock, withLock } from '../lock.ts'
import { lockFile, prepareLocal } from '../place/workspace.ts'
import { type BlobHash, isBlobHash } from '../resources/resource.ts'
import { noteOf } from './damage.ts'
import { markReferenced } from './mark.ts'
import { BlobStore, COLLECTOR, PUTTING, RECENT } from './store.ts'

export interface CollectOptions {
  readonly action: 'delete' | 'dry-run'
  /** Milliseconds; what is younger stays. Never less than an hour in production use; tests need less. */
  readonly recent?: number
}

export interface Collected {
  readonly referenced: number
  readonly recent: number
  /** Deleted, or with `dry-run` to be deleted. */
  readonly garbage: readonly BlobHash[]
  /** Compressed size of the garbage. */
  readonly bytes: number
}

/**
 * SPEC 6.2: deletes the blobs that no event of any conversation references. Linear: every event is read once,
 * every blob's name once. Marks everything before it deletes anything, and a failure to mark deletes nothing (decision 0064).
 */
export async function collectBlobs(shelf: Shelf, options: CollectOptions): Promise<Collected> {
  await prepareLocal(shelf.workspace, shelf.holder)
  const lockOptions = { what: 'garbage collection', holder: shelf.holder, wait: 0 }
  return withLock(lockFile(shelf.workspace, 'gc'), lockOptions, async () => {
    const marked = await markReferenced(shelf)
    const oldest = shelf.now().getTime() - (options.recent ?? RECENT)
    const tally = { referenced: 0, recent: 0, garbage: [] as BlobHash[], bytes: 0 }
    for (const keeping of ['shared', 'local'] as const) {
      const store = new BlobStore(shelf, keeping)
      for (const candidates of blobsOf(store)) {
        const unmarked = candidates.filter((hash) => !marked.has(hash))
        tally.referenced += candidates.length - unmarked.length
        await breathe() // a background collection must not stall a conversation
        if (unmarked.length === 0) continue
        const examine = (): void => {
          for (const hash of unmarked) examineOne(store.pathOf(hash), hash, oldest, options.action, tally)
        }
        // A put that finds its content here renews its time under this lock; so it is looked at again under it.
        if (options.action === 'dry-run') examine()
        else await withLock(store.collectorLock, { ...COLLECTOR, holder: shelf.holder }, examine)
      }
    }
    return tally
  })
}

function examineOne(
  path: string,
  hash: BlobHash,
  oldest: number,
  action: CollectOptions['action'],
  tally: { recent: number; garbage: BlobHash[]; bytes: number },
): void {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile()) return
  if (stat.mtimeMs > oldest) {
    tally.recent++
    return
  }
  if (action === 'delete') {
    unlinkSync(path)
    rmSync(noteOf(path), { force: true })
  }
  tally.garbage.push(hash)
  tally.bytes += stat.size
}

/** By first two digits, so that a lock is held for one part at a time. Names that are not ours are left alone. */
function* blobsOf(store: BlobStore): Generator<BlobHash[]> {
  for (const first of listOwn(store.dir).filter(isPair)) {
    const part: BlobHash[] = []
    for (const second of listOwn(join(store.dir, first)).filter(isPair))
      for (const name of listOwn(join(store.dir, first, second))) {
        const hash = first + second + name.slice(0, -'.blob.gz'.length)
        if (name.endsWith('.blob.gz') && isBlobHash(hash)) part.push(hash)
      }
    yield part
  }
}

const isPair = (name: string): boolean => /^[0-9a-f]{2}$/.test(name)

/** Removes what puts that were killed left: whoever still puts holds the lock of that name. */
export async function sweepBlobs(shelf: Shelf): Promise<void> {
  const locks = dirname(lockFile(shelf.workspace, 'any'))
  const dirs = [new BlobStore(shelf, 'shared').dir, new BlobStore(shelf, 'local').dir]
  const temps = dirs.flatMap((dir) =>
    listOwn(dir).flatMap((name) => (name.startsWith(PUTTING) ? [{ dir, name }] : [])),
  )
  const held = listIfThere(locks).filter((name) => `.${name}`.startsWith(PUTTING) && name.endsWith('.lock'))
  const names = new Set([
    ...temps.map(({ name }) => name),
    ...held.map((name) => `.${name.slice(0, -'.lock'.length)}`),
  ])
  if (names.size > 0) await prepareLocal(shelf.workspace, shelf.holder)
  for (const name of names) {
    const lock = tryLock(lockFile(shelf.workspace, name.slice(1)), { what: 'a blob', holder: shelf.holder })
    if (!lock) continue
    for (const temp of temps.filter((each) => each.name === name))
      await rm(join(temp.dir, name), { recursive: true, force: true })
    lock.retire()
  }
}
