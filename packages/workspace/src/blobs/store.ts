import { randomBytes } from 'node:crypto'
import { constants, lstatSync, rmSync } from 'node:fs'
import { mkdir, open, rename, rm, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Readable } from 'node:stream'
import { syncDirectory } from '@cordon/files'
import { dirMode, fileMode, type Keeping, type Shelf } from '../conversation/shelf.ts'
import { acquireLock, type HeldLock, withLock } from '../lock.ts'
import { lockFile, prepareLocal } from '../place/workspace.ts'
import { type BlobHash, type BlobRef } from '../resources/resource.ts'
import { BlobBatch } from './batch.ts'
import { type Chunks, chunksOf, type HeldFile } from './chunks.ts'
import { compress, hashOf } from './compress.ts'
import { isDamaged, markDamaged, noteOf } from './damage.ts'
import { BlobPutError, guarded } from './errors.ts'
import { openVerified, readVerified } from './verified.ts'

/** What was touched less than this ago is not collected: a put may still be on its way into an event. */
export const RECENT = 24 * 60 * 60 * 1000

/** The temporary name of a blob that is being put; the random part names the lock its writer holds. */
export const PUTTING = '.put-'

/** Content by its SHA-256 (SPEC 6.2): `ab/cd/<rest>.blob.gz` under one directory. */
export class BlobStore {
  readonly dir: string
  readonly keeping: Keeping
  readonly #shelf: Shelf

  constructor(shelf: Shelf, keeping: Keeping) {
    this.dir = join(shelf.workspace[keeping], 'blobs')
    this.keeping = keeping
    this.#shelf = shelf
  }

  pathOf(hash: BlobHash): string {
    return join(this.dir, hash.slice(0, 2), hash.slice(2, 4), `${hash.slice(4)}.blob.gz`)
  }

  has(hash: BlobHash): boolean {
    return lstatSync(this.pathOf(hash), { throwIfNoEntry: false })?.isFile() ?? false
  }

  /** Hashes first: content that is there already costs one reading and no writing. */
  async putFile(file: HeldFile, signal?: AbortSignal): Promise<BlobRef> {
    return this.#guard(async () => {
      const known = await hashOf(chunksOf(file, signal))
      if (await this.keepKnown(known)) return known
      return this.put(chunksOf(file, signal)) // hashed again: it may have changed between the two readings
    })
  }

  /** On the disk when this returns. A crash at any point leaves all of it or none. */
  async put(content: Chunks): Promise<BlobRef> {
    return this.#guard(async () => {
      const name = PUTTING + randomBytes(8).toString('hex')
      const lock = await this.#lockTemp(name)
      const temp = join(this.dir, name)
      try {
        return await this.#putThrough(temp, content)
      } finally {
        await rm(temp, { force: true })
        lock.retire()
      }
    })
  }

  /** For many small files. */
  openBatch(): BlobBatch {
    return new BlobBatch(this, PUTTING, (name) => this.#lockTemp(name))
  }

  /** Held while the temporary file of that name is in use, so that a sweeper can tell it from one that a crash left. */
  async #lockTemp(name: string): Promise<HeldLock> {
    await prepareLocal(this.#shelf.workspace, this.#shelf.holder)
    const options = { what: 'a blob being put', holder: this.#shelf.holder, wait: 0 }
    return acquireLock(lockFile(this.#shelf.workspace, name.slice(1)), options)
  }

  /** The content, verified: the stream fails at its end if it was not what the reference says. */
  get(ref: BlobRef): Readable {
    const path = this.pathOf(ref.$blob)
    return openVerified(path, ref, () => markDamaged(path))
  }

  /** As a whole, at most `limit` bytes of it. */
  read(ref: BlobRef, limit: number): Promise<Buffer> {
    const path = this.pathOf(ref.$blob)
    return readVerified(path, ref, limit, () => markDamaged(path))
  }

  /** Makes its directory. */
  async prepare(): Promise<void> {
    await mkdir(this.dir, { recursive: true, mode: dirMode(this.keeping) })
    refuseLink(this.dir)
  }

  /** Makes the two directories of a blob, which a clone may have brought as links to elsewhere. True: one of them is new. */
  async prepareFor(hash: BlobHash): Promise<boolean> {
    const inner = dirname(this.pathOf(hash))
    let isNew = false
    for (const dir of [dirname(inner), inner]) {
      const made = await mkdir(dir, { recursive: true, mode: dirMode(this.keeping) })
      isNew ||= made !== undefined
      refuseLink(dir)
    }
    return isNew
  }

  async #putThrough(temp: string, content: Chunks): Promise<BlobRef> {
    await this.prepare()
    const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
    const file = await open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, fileMode(this.keeping))
    let ref: BlobRef
    try {
      ref = await compress(content, file)
      if (await this.keepKnown(ref)) return ref
      await file.sync()
    } finally {
      await file.close()
    }
    const path = this.pathOf(ref.$blob)
    const isNew = await this.prepareFor(ref.$blob)
    await rename(temp, path)
    this.forgetDamage(ref.$blob)
    syncDirectory(dirname(path))
    if (isNew) for (const dir of [dirname(dirname(path)), this.dir]) syncDirectory(dir)
    return ref
  }

  /** The blob was written anew, so a note that it is damaged is no longer true. */
  forgetDamage(hash: BlobHash): void {
    rmSync(noteOf(this.pathOf(hash)), { force: true })
  }

  /**
   * False when the blob is not there, or damaged: then it is written again. When it is there, it must also stay: one that
   * nothing references may be about to be collected, so its time is renewed, under the lock that the collector holds
   * while it deletes.
   */
  async keepKnown(ref: BlobRef): Promise<boolean> {
    const hash = ref.$blob
    const now = this.#shelf.now()
    const age = this.#ageOf(hash, now)
    if (age === undefined || isDamaged(this.pathOf(hash), ref)) return false
    if (age < RECENT / 2) return true
    await prepareLocal(this.#shelf.workspace, this.#shelf.holder)
    return withLock(this.collectorLock, { ...COLLECTOR, holder: this.#shelf.holder }, async () => {
      if (this.#ageOf(hash, now) === undefined) return false
      await utimes(this.pathOf(hash), now, now)
      return true
    })
  }

  #ageOf(hash: BlobHash, now: Date): number | undefined {
    const stat = lstatSync(this.pathOf(hash), { throwIfNoEntry: false })
    return stat?.isFile() ? now.getTime() - stat.mtimeMs : undefined
  }

  get collectorLock(): string {
    return lockFile(this.#shelf.workspace, `blobs-${this.keeping}`)
  }

  #guard<T>(work: () => Promise<T>): Promise<T> {
    return guarded(this.dir, work)
  }
}

function refuseLink(dir: string): void {
  if (lstatSync(dir).isSymbolicLink()) throw new BlobPutError(dir, 'it is a symbolic link')
}

export const COLLECTOR = { what: 'the collection of blobs', wait: 60_000 }
