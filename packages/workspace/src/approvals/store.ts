import { existsSync } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { replaceDurably, syncDirectory, tempOf } from '@cordon/files'
import { type CanonicalPath, CordonError, type RelPath, show } from '@cordon/policy'
import { reason } from '../small-files.ts'
import { type LockHolder, tryLock, withLock } from '../lock.ts'
import { lockFile, prepareLocal, type Workspace } from '../place/workspace.ts'
import { type Approvals, interpret } from './approvals.ts'
import { sha256 } from './digest.ts'
import {
  asApproval,
  asServer,
  asTrust,
  type Category,
  LARGEST,
  type MountApproval,
  readDocument,
  type ServerSeen,
  writing,
} from './document.ts'

/** What is trusted, and where it stands. */
export interface TrustedText {
  readonly path: string
  readonly text: string
}

/** A longer text is trusted as well; only the difference to what follows it cannot be shown. */
const LONGEST_KEPT = 64 * 1024

export interface ApprovalStoreOptions {
  readonly holder: LockHolder
  readonly uid: number | undefined
  readonly now: () => Date
}

const fileIn = (local: string): string => join(local, 'approvals.json')

/** What another workspace of this user knows of MCP servers, by where its approvals are kept; read, and never changed. */
export function serversSeenIn(local: string, uid: number | undefined): readonly ServerSeen[] {
  const file = fileIn(local)
  return interpret(file, readDocument(file, uid)).servers
}

/**
 * `approvals.json` in the user-local place (SPEC 3.2). Every change is made under a lock on what the file says
 * then, so that processes that approve at the same time lose nothing; readers need no lock (decision 0062).
 */
export class ApprovalStore {
  readonly file: string
  readonly #workspace: Workspace
  readonly #options: ApprovalStoreOptions

  constructor(workspace: Workspace, options: ApprovalStoreOptions) {
    this.file = fileIn(workspace.local)
    this.#workspace = workspace
    this.#options = options
  }

  async read(): Promise<Approvals> {
    await this.#sweep()
    return interpret(this.file, readDocument(this.file, this.#options.uid))
  }

  /** Remembers the binding, in place of any earlier target of the same rule path. */
  async approve(rulePath: RelPath, target: CanonicalPath): Promise<void> {
    const approved_at = this.#stamp()
    await this.#change('mounts', (mounts) => {
      const ours = mounts.filter((entry) => asApproval(entry)?.rule_path === rulePath)
      if (ours.length === 1 && asApproval(ours[0])?.canonical_target === target) return mounts
      const others = mounts.filter((entry) => asApproval(entry)?.rule_path !== rulePath)
      return [...others, { rule_path: rulePath, canonical_target: target, approved_at }]
    })
  }

  /** Forgets the rule path. Returns what was approved for it. */
  async revoke(rulePath: RelPath): Promise<readonly MountApproval[]> {
    let revoked: MountApproval[] = []
    await this.#change('mounts', (mounts) => {
      revoked = mounts.map(asApproval).filter((mount) => mount?.rule_path === rulePath) as MountApproval[]
      return revoked.length === 0
        ? mounts
        : mounts.filter((entry) => asApproval(entry)?.rule_path !== rulePath)
    })
    return revoked
  }

  /** SPEC 2.1: trusts exactly these texts under these paths, in place of what was trusted there; all, or none. */
  async trust(texts: readonly TrustedText[]): Promise<void> {
    const trusted_at = this.#stamp()
    const entries = texts.map(({ path, text }) => ({
      path,
      sha256: sha256(text),
      trusted_at,
      ...(text.length > LONGEST_KEPT ? {} : { text }),
    }))
    const paths = new Set(texts.map(({ path }) => path))
    await this.#change('configs', (configs) => {
      const ours = configs.map(asTrust).filter((entry) => entry && paths.has(entry.path))
      const isSame =
        ours.length === entries.length &&
        entries.every((entry) =>
          ours.some((known) => known?.path === entry.path && known.sha256 === entry.sha256),
        )
      if (isSame) return configs
      return [...configs.filter((entry) => !paths.has(asTrust(entry)?.path ?? '')), ...entries]
    })
  }

  /** Forgets these paths, or all of them. Returns the paths that were trusted. */
  async distrust(which: readonly string[] | 'all'): Promise<readonly string[]> {
    let forgotten: string[] = []
    const isMeant = (path: string): boolean => which === 'all' || which.includes(path)
    await this.#change('configs', (configs) => {
      forgotten = configs.flatMap((entry) => asTrust(entry)?.path ?? []).filter(isMeant)
      // An entry that trusts nothing is somebody's note; only its path could say that it is meant.
      return forgotten.length === 0
        ? configs
        : configs.filter((entry) => !forgotten.includes(asTrust(entry)?.path ?? ''))
    })
    return [...new Set(forgotten)]
  }

  /**
   * Sets what is known of an MCP server, by what is known of it at that moment. Undefined: as it was. What only waits was
   * accepted by nobody, so the time stays.
   */
  async changeServer(
    server: string,
    edit: (known: ServerSeen | undefined) => Omit<ServerSeen, 'server' | 'seen_at'> | undefined,
  ): Promise<void> {
    const now = this.#stamp()
    await this.#change('servers', (servers) => {
      const known = servers.map(asServer).findLast((entry) => entry?.server === server)
      const edited = edit(known)
      if (!edited) return servers
      const { seen_at = now } = known && isSameButWaiting(known, edited) ? known : {}
      return [
        ...servers.filter((entry) => asServer(entry)?.server !== server),
        { ...edited, server, seen_at },
      ]
    })
  }

  /** Forgets these servers, or all of them: each is seen for the first time again. Returns the ones that were known. */
  async forgetServers(which: readonly string[] | 'all'): Promise<readonly string[]> {
    let forgotten: string[] = []
    await this.#change('servers', (servers) => {
      forgotten = servers
        .flatMap((entry) => asServer(entry)?.server ?? [])
        .filter((server) => which === 'all' || which.includes(server))
      return forgotten.length === 0
        ? servers
        : servers.filter((entry) => !forgotten.includes(asServer(entry)?.server ?? ''))
    })
    return [...new Set(forgotten)]
  }

  #stamp(): string {
    return this.#options
      .now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z')
  }

  async #change(
    category: Category,
    edit: (entries: readonly unknown[]) => readonly unknown[],
  ): Promise<void> {
    const { holder } = this.#options
    await prepareLocal(this.#workspace, holder)
    await withLock(this.#lock, { ...LOCK, holder }, async (lock) => {
      const read = readDocument(this.file, this.#options.uid)
      if (read.kind === 'unusable') throw new ApprovalsError(this.file, read.problem)
      const document = read.kind === 'usable' ? read.document : {}
      const entries = document[category] ?? []
      const edited = edit(entries)
      if (edited === entries) return
      const { text, modifiedAt } = writing({ ...document, [category]: edited }, this.#options.now())
      // A file that is too large to be read would approve nothing, and could not be changed any more.
      if (Buffer.byteLength(text) > LARGEST)
        throw new ApprovalsError(this.file, 'it would become too large; `cordon trust revoke` makes room')
      if (read.kind === 'malformed') await this.#keepAside()
      lock.assertHeld()
      replaceDurably(this.file, text, { mode: 0o600, modifiedAt })
    }).catch((error: unknown) => {
      throw error instanceof CordonError ? error : new ApprovalsError(this.file, reason(error))
    })
  }

  /** A malformed file gets a second name before it is replaced, so that what it held can be looked up. */
  async #keepAside(): Promise<void> {
    const stamp = this.#options.now().toISOString().replaceAll(':', '-')
    // A link, not a rename: until the new file is complete the old one stays where it is.
    await link(this.file, `${this.file}.bad-${stamp}`)
    syncDirectory(this.#workspace.local)
  }

  /** A killed writer leaves its temp file. Whoever starts next removes it, unless a writer is at work. */
  async #sweep(): Promise<void> {
    const temp = tempOf(this.file)
    if (!existsSync(temp)) return
    const lock = tryLock(this.#lock, { ...LOCK, holder: this.#options.holder })
    if (!lock) return
    try {
      await rm(temp, { force: true, recursive: true })
    } finally {
      lock.release()
    }
  }

  get #lock(): string {
    return lockFile(this.#workspace, 'approvals')
  }
}

const LOCK = { what: 'the approval store', wait: 10_000 }

/** The store could not be changed; what it held is still there. */
class ApprovalsError extends CordonError {
  readonly code = 'APPROVALS'
  readonly file: string
  constructor(file: string, problem: string) {
    super(`cannot change the approvals in ${show(file)}: ${problem}`)
    this.file = file
  }
}

const isSameButWaiting = (known: ServerSeen, edited: Omit<ServerSeen, 'server' | 'seen_at'>): boolean => {
  const { server, seen_at } = known
  return isDeepStrictEqual(
    { ...known, waiting: undefined },
    { ...edited, server, seen_at, waiting: undefined },
  )
}
