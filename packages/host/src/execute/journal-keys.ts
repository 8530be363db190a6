import { randomBytes } from 'node:crypto'
import { lstatSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createDurably, isAbandoned, newTempName, syncDirectory } from '@cordon/files'
import { CordonError, show } from '@cordon/policy'
import { JOURNAL_NAME } from '@cordon/tools'
import { listIfThere, makePrivateDirectory, readSmall, reason, type Workspace } from '@cordon/workspace'

/** What `fs_modify_file` is told: the keys of all changes that are open, and which of them is its own. */
export interface ToldKeys {
  readonly own?: string
  readonly open: Readonly<Record<string, string>>
  /** Those of them whose hosts are dead. */
  readonly left: readonly string[]
}

/**
 * The keys that seal the journals of `fs_modify_file`, one for each call that may leave one (decision 0446). Kept where only
 * the user reads. A key is there before its call runs, and gone when there is no journal of it: one that somebody
 * kept and puts back later is then believed by nobody. Of a host that was killed it is gone after the next call, which has
 * looked for its journal.
 */
export class JournalKeys {
  readonly #directory: string

  constructor({ local }: Pick<Workspace, 'local'>) {
    this.#directory = join(local, 'journal-keys')
  }

  /** Throws when it cannot be known which are open, or a new one cannot be kept. */
  begin(needs: 'own' | 'none'): ToldKeys {
    const { open, left } = this.#open()
    if (needs === 'none') return { open, left }
    const [oldest] = Object.keys(open)
    if (oldest !== undefined && Object.keys(open).length >= MOST_OPEN) {
      this.forget([oldest])
      throw new JournalKeysError(
        `${MOST_OPEN} changes of several files were interrupted and never completed; the oldest, of ${dateOf(oldest)}, is given up now: if a ${JOURNAL_NAME} of it is still somewhere, it completes nothing any more. Call again`,
      )
    }
    const own = `${Date.now().toString(16).padStart(12, '0')}${randomBytes(8).toString('hex')}`
    const key = randomBytes(32).toString('hex')
    this.#keep(own, key)
    return { own, open: { ...open, [own]: key }, left }
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) if (ID.test(id)) rmSync(join(this.#directory, id), { force: true })
  }

  /** Oldest first. */
  #open(): Pick<ToldKeys, 'open' | 'left'> {
    const open: Record<string, string> = {}
    const left: string[] = []
    for (const id of listIfThere(this.#directory)
      .filter((name) => ID.test(name))
      .toSorted()) {
      const [key, host] = this.#read(id)?.split('\n') ?? []
      // One that is not whole was never used: its call would have begun only after that.
      if (key === undefined || host === undefined || !KEY.test(key)) continue
      open[id] = key
      const stats = lstatSync(join(this.#directory, id), { bigint: true, throwIfNoEntry: false })
      if (stats && isAbandoned(host, stats, Date.now())) left.push(id)
    }
    return { open, left }
  }

  #read(id: string): string | undefined {
    const file = join(this.#directory, id)
    try {
      return readSmall(file, LONGEST)?.bytes.toString('latin1')
    } catch (error) {
      throw new JournalKeysError(`cannot read ${show(file)}: ${reason(error)}`)
    }
  }

  /** On the disk when it returns, as the journal will be. */
  #keep(id: string, key: string): void {
    makePrivateDirectory(this.#directory)
    try {
      createDurably(join(this.#directory, id), `${key}\n${newTempName()}`, 0o600)
      syncDirectory(dirname(this.#directory))
    } catch (error) {
      throw new JournalKeysError(`cannot write in ${show(this.#directory)}: ${reason(error)}`)
    }
  }
}

class JournalKeysError extends CordonError {
  readonly code = 'STORAGE'
}

/** Each was left by a host that was killed, or waits for room on a disk. */
const MOST_OPEN = 64
const ID = /^[0-9a-f]{28}$/
const KEY = /^[0-9a-f]{64}$/
/** A key, and who made it as temporary files say it (decision 0012). */
const LONGEST = 256

const dateOf = (id: string): string => new Date(Number.parseInt(id.slice(0, 12), 16)).toISOString()
