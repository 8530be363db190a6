import { type BigIntStats, rmdirSync, unlinkSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { joinRel, type RelPath } from '@cordon/policy'
import { read } from './bounded.ts'
import { type Directory } from './directory.ts'
import { describeStats, type FileStat } from './entry.ts'
import { errnoOf, FileError, fileError, refuseIfStopped, type Stoppable } from './errors.ts'
import { lookAt } from './publish.ts'

/** When it is stopped, what was already removed stays removed (decision 0166). */
export interface RemoveOptions extends Stoppable {
  /** Counts what would be removed, and removes nothing. */
  readonly dryRun?: boolean
  /**
   * Asked of each entry with what it is at that moment, right before it goes, and of a directory before it is entered. A no
   * ends the removal: what came since somebody looked stays, with all that is above it.
   */
  readonly only?: (path: RelPath, stat: FileStat) => boolean
}

/** What happened, also where it went wrong halfway (SPEC 7.6). */
export interface Removal {
  readonly files: number
  readonly directories: number
  /** Links, FIFOs, sockets, devices: the names, never what they lead to. */
  readonly others: number
  /** Sizes of the files, as `stat` says them. */
  readonly bytes: number
  /** Why it ended before everything was gone. */
  readonly failed: FileError | undefined
}

/** Deeper than this is refused before anything is removed below it; each level holds two handles. */
const MOST_LEVELS = 256
const ENTRIES_A_TURN = 200
const MOST_AGAIN = 8

/** Removes a directory with all it holds: no link is followed, no other filesystem entered. Stops at the first failure. */
export async function removeTree(
  parent: Directory,
  name: string,
  path: RelPath,
  options: RemoveOptions,
): Promise<Removal> {
  const remover = new Remover(options)
  try {
    await remover.directory(parent, name, path, 1)
    return remover.result(undefined)
  } catch (thrown) {
    const error = fileError(thrown, { operation: 'remove', path })
    if (error instanceof FileError) return remover.result(error)
    throw error
  }
}

class Remover {
  #files = 0
  #directories = 0
  #others = 0
  #bytes = 0
  #turn = 0
  #device: bigint | undefined
  readonly #options: RemoveOptions

  constructor(options: RemoveOptions) {
    this.#options = options
  }

  result(failed: FileError | undefined): Removal {
    return {
      files: this.#files,
      directories: this.#directories,
      others: this.#others,
      bytes: this.#bytes,
      failed,
    }
  }

  async directory(above: Directory, name: string, path: RelPath, level: number): Promise<void> {
    const subject = { operation: 'remove', path } as const
    try {
      if (level > MOST_LEVELS)
        throw new FileError('FILE_TOO_DEEP', subject, `is more than ${MOST_LEVELS} levels deep`)
      const directory = above.openDirectory(name)
      try {
        this.#stayOnDevice(directory, path)
        await this.#content(directory, path, level)
        for (let again = 0; !this.#removeEmpty(above, name, again); again++)
          await this.#content(directory, path, level)
      } finally {
        directory.close()
      }
    } catch (error) {
      throw fileError(error, subject)
    }
    this.#directories++
  }

  /** False if there is something in it again: added meanwhile, or passed over by a filesystem that reads on badly. */
  #removeEmpty(above: Directory, name: string, again: number): boolean {
    if (this.#options.dryRun === true) return true
    try {
      above.at((base) => rmdirSync(`${base}/${name}`))
      return true
    } catch (error) {
      if (errnoOf(error) !== 'ENOTEMPTY' || again >= MOST_AGAIN) throw error
      return false
    }
  }

  async #content(directory: Directory, path: RelPath, level: number): Promise<void> {
    for (const entry of read(directory)) {
      await this.#breathe(path)
      const { name } = entry
      if (name === undefined)
        throw new FileError('FILE_INVALID', { operation: 'remove', path }, 'holds a name that is not UTF-8')
      const there = lookAt({ directory, name })
      if (!there) continue // gone meanwhile: as wanted
      const below = joinRel(path, name)
      this.#requireMeant(below, there)
      if (there.isDirectory()) await this.directory(directory, name, below, level + 1)
      else this.#entry(directory, name, below, there)
    }
  }

  #requireMeant(path: RelPath, there: BigIntStats): void {
    const { only } = this.#options
    if (!only || only(path, describeStats(there))) return
    throw new FileError('FILE_CHANGED', { operation: 'remove', path }, 'came, or was changed, meanwhile')
  }

  #entry(directory: Directory, name: string, path: RelPath, stats: BigIntStats): void {
    try {
      if (this.#options.dryRun !== true) directory.at((base) => unlinkSync(`${base}/${name}`))
    } catch (error) {
      throw fileError(error, { operation: 'remove', path })
    }
    if (!stats.isFile()) {
      this.#others++
      return
    }
    this.#files++
    this.#bytes += Number(stats.size)
  }

  #stayOnDevice(directory: Directory, path: RelPath): void {
    const device = lookAt({ directory, name: '.' })?.dev
    this.#device ??= device
    if (device !== this.#device)
      throw new FileError('FILE_CROSS_DEVICE', { operation: 'remove', path }, 'is on another filesystem')
  }

  /** Other requests go on while a large tree is removed. */
  async #breathe(path: RelPath): Promise<void> {
    refuseIfStopped(this.#options, { operation: 'remove', path })
    if (++this.#turn % ENTRIES_A_TURN === 0) await nextTurn()
  }
}
