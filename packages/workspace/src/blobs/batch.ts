import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { spawn } from 'node:child_process'
import { fileMode } from '../conversation/shelf.ts'
import { writeAll } from '../small-files.ts'
import { type HeldLock } from '../lock.ts'
import { type BlobHash, type BlobRef } from '../resources/resource.ts'
import { refOf } from './compress.ts'
import { guarded } from './errors.ts'
import { type BlobStore } from './store.ts'

/** Content up to this size is held in memory as a whole; larger content has a put of its own. */
export const SMALL = 1024 * 1024

/** Below so many, each is synced by itself; from here on the whole filesystem is, which takes about as long as a few. */
const FEW = 8

/**
 * Many small contents kept at once (decision 0171): all of them are written, then they are made durable together, then
 * they get their names, then those are made durable. Nothing is kept before `commit` returns; a crash leaves each of them
 * whole or not at all.
 */
export class BlobBatch implements AsyncDisposable {
  readonly #store: BlobStore
  /** A directory of temporary files, whose name is that of the lock its writer holds: a sweeper asks for the lock. */
  readonly #room: string
  readonly #lock: () => Promise<HeldLock>
  readonly #waiting = new Map<BlobHash, string>()
  readonly #writing = new Set<Promise<void>>()
  #failure: { readonly error: unknown } | undefined
  #held: HeldLock | undefined

  constructor(store: BlobStore, prefix: string, lock: (name: string) => Promise<HeldLock>) {
    const name = prefix + randomBytes(8).toString('hex')
    this.#store = store
    this.#room = join(store.dir, name)
    this.#lock = () => lock(name)
  }

  /** Returns when there is room for more; the writing goes on meanwhile, and what fails there fails the next call. */
  async add(content: Uint8Array): Promise<BlobRef> {
    const ref = refOf(content)
    return guarded(this.#store.dir, async () => {
      if (this.#waiting.has(ref.$blob) || (await this.#store.keepKnown(ref))) return ref
      await this.#open()
      const temp = join(this.#room, ref.$blob)
      this.#waiting.set(ref.$blob, temp)
      this.#write(temp, gzipSync(content, { level: 1 }))
      while (this.#writing.size >= AT_ONCE) await Promise.race(this.#writing)
      if (this.#failure) throw this.#failure.error
      return ref
    })
  }

  /** On the disk when this returns. */
  async commit(): Promise<void> {
    await guarded(this.#store.dir, async () => {
      await this.#written()
      if (this.#failure) throw this.#failure.error
      const waiting = [...this.#waiting]
      await this.#settle(
        waiting.map(([, temp]) => temp),
        syncOne,
      )
      const places = new Set<string>()
      await inParallel(waiting, ([hash, temp]) => this.#publish(hash, temp, places))
      await this.#settle([...places], syncOne)
      this.#waiting.clear()
    })
  }

  /** What was not committed is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#held) return
    await this.#written()
    await rm(this.#room, { recursive: true, force: true })
    this.#held.retire()
    this.#held = undefined
  }

  async #open(): Promise<void> {
    if (this.#held) return
    this.#held = await this.#lock()
    await this.#store.prepare()
    await mkdir(this.#room, { mode: 0o700 })
  }

  #write(temp: string, packed: Uint8Array): void {
    const writing = writeNew(temp, packed, fileMode(this.#store.keeping))
      .catch((error: unknown) => void (this.#failure ??= { error }))
      .finally(() => this.#writing.delete(writing))
    this.#writing.add(writing)
  }

  async #written(): Promise<void> {
    while (this.#writing.size > 0) await Promise.race(this.#writing)
  }

  /** Collects the directories in which a name is new. */
  async #publish(hash: BlobHash, temp: string, places: Set<string>): Promise<void> {
    const path = this.#store.pathOf(hash)
    const isNew = await this.#store.prepareFor(hash)
    await rename(temp, path)
    this.#store.forgetDamage(hash)
    places.add(dirname(path))
    if (isNew) places.add(dirname(dirname(path))).add(this.#store.dir)
  }

  async #settle(paths: readonly string[], one: (path: string) => Promise<void>): Promise<void> {
    if (paths.length >= FEW && (await syncFilesystem(this.#store.dir))) return
    await inParallel(paths, one)
  }
}

/** The kernel writes its journal once for those that come together, and one that waits does not keep the others. */
const AT_ONCE = 8

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const worker = async (): Promise<void> => {
    for (const item of rest) await work(item)
  }
  // All of them have ended before a failure is reported: nothing goes on behind the caller's back.
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker))
  for (const each of ended) if (each.status === 'rejected') throw each.reason
}

async function writeNew(path: string, content: Uint8Array, mode: number): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  try {
    await writeAll(file, content)
  } finally {
    await file.close()
  }
}

async function syncOne(path: string): Promise<void> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * syncfs(2) of the filesystem a directory is on: everything that was written to it is on the disk. Node has no such call,
 * coreutils and busybox have a program for it. False when it is not there or did not succeed; then each file is synced.
 */
function syncFilesystem(dir: string): Promise<boolean> {
  // On other systems `sync -f` means something else, or sync only begins to write.
  if (process.platform !== 'linux') return Promise.resolve(false)
  return new Promise((resolve) => {
    const child = spawn('sync', ['-f', '--', dir], { stdio: 'ignore', env: { PATH: '/usr/bin:/bin' } })
    child.once('error', () => resolve(false))
    child.once('close', (code) => resolve(code === 0))
  })
}
