import { existsSync } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type CanonicalPath, CordonError, type RelPath, show } from '@cordon/policy'
import { reason, syncDirectory, tempOf, writeDurable } from '../durable.ts'
import { type Holder, tryLock, withLock } from '../lock.ts'
import { lockFile, prepareLocal, type Workspace } from '../place/workspace.ts'
import { type Approvals, interpret } from './approvals.ts'
import { asApproval, type MountApproval, readDocument } from './document.ts'

export interface ApprovalStoreOptions {
  readonly holder: Holder
  readonly uid: number | undefined
  readonly now: () => Date
}

/**
 * `approvals.json` in the user-local place (SPEC 3.2). Every change is made under a lock on what the file says
 * then, so that processes that approve at the same time lose nothing; readers need no lock.
 */
export class ApprovalStore {
  readonly file: string
  readonly #workspace: Workspace
  readonly #options: ApprovalStoreOptions

  constructor(workspace: Workspace, options: ApprovalStoreOptions) {
    this.file = join(workspace.local, 'approvals.json')
    this.#workspace = workspace
    this.#options = options
  }

  async read(): Promise<Approvals> {
    await this.#sweep()
    return interpret(this.file, await readDocument(this.file, this.#options.uid))
  }

  /** Remembers the binding, in place of any earlier target of the same rule path. */
  async approve(rulePath: RelPath, target: CanonicalPath): Promise<void> {
    const approved_at = this.#options
      .now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z')
    await this.#change((mounts) => {
      const ours = mounts.filter((entry) => asApproval(entry)?.rule_path === rulePath)
      if (ours.length === 1 && asApproval(ours[0])?.canonical_target === target) return mounts
      const others = mounts.filter((entry) => asApproval(entry)?.rule_path !== rulePath)
      return [...others, { rule_path: rulePath, canonical_target: target, approved_at }]
    })
  }

  /** Forgets the rule path. Returns what was approved for it. */
  async revoke(rulePath: RelPath): Promise<readonly MountApproval[]> {
    let revoked: MountApproval[] = []
    await this.#change((mounts) => {
      revoked = mounts.map(asApproval).filter((mount) => mount?.rule_path === rulePath) as MountApproval[]
      return revoked.length === 0
        ? mounts
        : mounts.filter((entry) => asApproval(entry)?.rule_path !== rulePath)
    })
    return revoked
  }

  async #change(edit: (mounts: readonly unknown[]) => readonly unknown[]): Promise<void> {
    const { holder } = this.#options
    await prepareLocal(this.#workspace, holder)
    await withLock(this.#lock, { ...LOCK, holder }, async (lock) => {
      const read = await readDocument(this.file, this.#options.uid)
      if (read.kind === 'unusable') throw new ApprovalsError(this.file, read.problem)
      const document = read.kind === 'usable' ? read.document : { mounts: [] }
      const mounts = edit(document.mounts)
      if (mounts === document.mounts) return
      if (read.kind === 'malformed') await this.#keepAside()
      lock.assertHeld()
      await writeDurable(this.file, `${JSON.stringify({ ...document, mounts }, undefined, 2)}\n`, 0o600)
    }).catch((error: unknown) => {
      throw error instanceof CordonError ? error : new ApprovalsError(this.file, reason(error))
    })
  }

  /** A malformed file gets a second name before it is replaced, so that what it held can be looked up. */
  async #keepAside(): Promise<void> {
    const stamp = this.#options.now().toISOString().replaceAll(':', '-')
    // A link, not a rename: until the new file is complete the old one stays where it is.
    await link(this.file, `${this.file}.bad-${stamp}`)
    await syncDirectory(this.#workspace.local)
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
export class ApprovalsError extends CordonError {
  readonly code = 'APPROVALS'
  readonly file: string
  constructor(file: string, problem: string) {
    super(`cannot change the approvals in ${show(file)}: ${problem}`)
    this.file = file
  }
}
