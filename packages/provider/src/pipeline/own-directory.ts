import { type BigIntStats, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { coversPath, type PathPrefix } from '../tokens/prefix.ts'

/**
 * Where the provider's key, its database and the keys of agents are. Whoever could read it could sign for anybody, and
 * whoever could write it could approve for himself: no delegation and no policy reaches into it. Held by what its
 * directories are, so that a bind mount of one of them is it, too, wherever it is.
 */
export class OwnDirectory {
  readonly path: PathPrefix
  #identities: ReadonlySet<string> = new Set()
  #asOf = ''
  #isSure = false

  private constructor(path: PathPrefix) {
    this.path = path
  }

  static openAmbient(dir: string): OwnDirectory {
    return new OwnDirectory(realpathSync.native(dir) as PathPrefix)
  }

  /** By `FileStat.identity`: it, or a directory below it. */
  holds(identity: string): boolean {
    if (!this.#isSure) this.#look()
    return this.#identities.has(identity)
  }

  /** Whether a directory is it or lies in it, by its name or by what it is. */
  covers(directory: PathPrefix): boolean {
    if (coversPath(this.path, directory)) return true
    const stat = lstatSync(directory, { bigint: true, throwIfNoEntry: false })
    return stat !== undefined && this.holds(identityOf(stat))
  }

  /**
   * Before every request: an app that was made since has a wallet here. Whoever asks then has it looked at, once; most requests
   * stay in directories that are open, and ask nothing (decision 0620).
   */
  lookAgain(): void {
    this.#isSure = false
  }

  /** All is read again only when something changed. */
  #look(): void {
    const asOf = [this.path, join(this.path, 'agents')].map(changedAt).join(' ')
    if (asOf !== this.#asOf) this.#identities = new Set(directoriesFrom(this.path))
    this.#asOf = asOf
    this.#isSure = true // only now: what could not be read is not known
  }
}

const changedAt = (path: string): string =>
  String(lstatSync(path, { bigint: true, throwIfNoEntry: false })?.mtimeNs)

const identityOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`

function* directoriesFrom(path: string): Generator<string> {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  if (stat?.isDirectory() !== true) return // removed meanwhile
  yield identityOf(stat)
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) yield* directoriesFrom(join(path, entry.name))
}
