import { join } from 'node:path'
import { show } from '@cordon/policy'
import {
  type App,
  AppError,
  createApp,
  findApp,
  listApps,
  type NewApp,
  parseAppId,
  removeApp,
  setEnabled,
  switched,
} from './apps/app.ts'
import { type Issued, listDelegations, mintFor, type MintTerms, revoke } from './apps/delegations.ts'
import { sealDelegations, Wallet } from './apps/wallet.ts'
import { type Change, changeRecorded, type Recording } from './audit/change.ts'
import { requireSound, signChain } from './audit/checkpoint.ts'
import { AuditBroken, AuditLog } from './audit/log.ts'
import type { ChainHead } from './audit/record.ts'
import { type AuditVerdict, verifyAudit } from './audit/verify.ts'
import { readWitness } from './audit/witness.ts'
import type { PolicyRequest } from './cedar/request.ts'
import {
  type KnownKey,
  listKeys,
  currentProviderKey,
  openAmbientProviderKey,
  introduceKey,
  isKnownKey,
  registerKey,
  retireKey,
  rotateKey,
} from './keys/provider-key.ts'
import { listPolicies, type NewPolicy, setPolicy, type StoredPolicy } from './policies/store.ts'
import {
  type Approval,
  decideApproval,
  findApproval,
  listApprovals,
  takeBackNo,
} from './step-up/approvals.ts'
import { type Foreseen, foresee } from './pipeline/foresee.ts'
import { OwnDirectory } from './pipeline/own-directory.ts'
import { linkUrl, makeLink } from './passkeys/links.ts'
import { listPasskeys, type Passkey, removePasskey } from './passkeys/passkeys.ts'
import { parseSite } from './console/site.ts'
import { clockFloor, lowerClockFloor } from './storage/clock-floor.ts'
import { type Database, type DatabaseChoice, openAmbientDatabase } from './storage/database.ts'
import type { Delegation } from './tokens/delegation.ts'
import type { SigningKey } from './tokens/key.ts'

export interface AdminOptions {
  readonly choice: DatabaseChoice
  readonly dir: string
  /** Who sits at the terminal, for the record. */
  readonly by: string
  readonly clock?: () => number
}

/** What a person does to the provider at the host's terminal. Everything that changes something is in the audit. */
export class Admin {
  readonly database: Database
  readonly dir: string
  readonly #by: string
  readonly #clock: () => number
  readonly #audit: AuditLog

  private constructor(database: Database, { dir, by, clock = Date.now }: AdminOptions) {
    this.database = database
    this.dir = dir
    this.#by = by
    this.#clock = clock
    this.#audit = new AuditLog(database, { clock })
  }

  static async open(options: AdminOptions): Promise<Admin> {
    const key = openAmbientProviderKey(options.dir) // makes the directory that the database file lies in
    const database = await openAmbientDatabase(options.choice)
    const admin = new Admin(database, options)
    try {
      const witness = readWitness(options.dir, database) // before anything is done that could not be witnessed
      await admin.#begin(key, witness).catch((error: unknown) => {
        if (!(error instanceof AuditBroken)) throw error // what is only looked at may still be
      })
    } catch (error) {
      await database.close()
      throw error
    }
    return admin
  }

  close(): Promise<void> {
    return this.database.close()
  }

  /** Without a DID the agent is on this host: its key is made here, in its wallet. */
  createApp({ id, did, limits }: Omit<NewApp, 'did'> & { readonly did?: string }): Promise<App> {
    return this.#change(async (database, now) => {
      const agent = did ?? Wallet.create(this.walletOf(parseAppId(id))).key.did
      const app = await createApp(database, { id, did: agent, ...(limits ? { limits } : {}) }, now)
      return { result: app, name: 'app created', detail: { app: id, did: agent } }
    })
  }

  apps(): Promise<App[]> {
    return listApps(this.database)
  }

  app(id: string): Promise<App> {
    return findApp(this.database, id)
  }

  setEnabled(id: string, enabled: boolean): Promise<void> {
    return this.#change(async (database) => {
      await setEnabled(database, id, enabled)
      return { result: undefined, ...switched(id, enabled) }
    })
  }

  removeApp(id: string): Promise<void> {
    return this.#change(async (database, now) => {
      await removeApp(database, id, now)
      return { result: undefined, name: 'app removed', detail: { app: id } }
    })
  }

  /** The delegation as text; one for an agent on this host is in its wallet, too. */
  async mint(
    id: string,
    terms: MintTerms,
  ): Promise<{ readonly delegation: Delegation; readonly token: string }> {
    const app = await findApp(this.database, id)
    const delegation = await this.#change(async (database, now) => {
      const made = await mintFor(database, currentProviderKey(this.dir), app, terms, now)
      const { cid, prefix, command, expires } = made
      if (OwnDirectory.openAmbient(this.dir).covers(prefix))
        throw new AppError(
          `${show(prefix)} is the provider’s own directory, or in it: nothing of it is served`,
        )
      return { result: made, name: 'delegation minted', detail: { app: id, cid, prefix, command, expires } }
    })
    const token = sealDelegations([delegation])
    const dir = this.walletOf(id)
    if (Wallet.exists(dir) && Wallet.open(dir).key.did === app.did) Wallet.open(dir).add(token)
    return { delegation, token }
  }

  delegations(app?: string): Promise<Issued[]> {
    return listDelegations(this.database, app)
  }

  revoke(cid: string): Promise<void> {
    return this.#change(async (database, now) => {
      await revoke(database, cid, now)
      return { result: undefined, name: 'delegation revoked', detail: { cid } }
    })
  }

  async keys(): Promise<{ readonly current: string; readonly known: readonly KnownKey[] }> {
    return { current: currentProviderKey(this.dir).did, known: await listKeys(this.database) }
  }

  async rotateKey(): Promise<string> {
    const { did } = await rotateKey(this.dir, (key) =>
      this.#change(async (database, now) => {
        await registerKey(database, key, now)
        return { result: undefined, name: 'key rotated', detail: { did: key.did } }
      }),
    )
    return did
  }

  /** Says whether there was such a key in use. */
  async retireKey(did: string): Promise<boolean> {
    const isUsed = (each: KnownKey): boolean => each.did === did && each.retiredAt === undefined
    if (!(await listKeys(this.database)).some(isUsed)) return false
    return this.#change(async (database, now) => ({
      result: await retireKey(database, did, now),
      name: 'key retired',
      detail: { did },
    }))
  }

  policies(): Promise<StoredPolicy[]> {
    return listPolicies(this.database)
  }

  setPolicy(policy: NewPolicy): Promise<number> {
    const { scope, name, text } = policy
    return this.#change(async (database, now) => {
      if (scope !== '*') await findApp(database, scope)
      const version = await setPolicy(database, policy, now)
      const event = text === null ? 'policy removed' : 'policy set'
      return { result: version, name: event, detail: { scope, name, version } }
    })
  }

  explain(request: PolicyRequest): Promise<Foreseen> {
    return foresee(this.database, request, this.#clock())
  }

  approvals(): Promise<Approval[]> {
    return listApprovals(this.database, this.#clock())
  }

  approval(id: string): Promise<Approval | undefined> {
    return findApproval(this.database, id, this.#clock())
  }

  /** SPEC 7.5 at the terminal: the cosigner is whoever can use the provider's key. */
  async decide(id: string, decision: 'approve' | 'deny'): Promise<Approval> {
    await this.#requireSound()
    const how = decision === 'deny' ? 'deny' : { approve: currentProviderKey(this.dir) }
    const decided = await decideApproval(this.#recording, id, how, { by: this.#by }, this.#clock())
    await this.#sign()
    return decided
  }

  async takeBackNo(id: string): Promise<Approval> {
    await this.#requireSound()
    const taken = await takeBackNo(this.#recording, id, { by: this.#by }, this.#clock())
    await this.#sign()
    return taken
  }

  /** SPEC 7.7: a link that makes one passkey, within ten minutes, in whichever browser opens it. */
  async addPasskey(origin: string): Promise<string> {
    const site = parseSite(origin)
    const secret = await this.#change(async (database, now) => ({
      result: await makeLink(database, now),
      name: 'passkey link made',
      detail: { origin: site.origin },
    }))
    return linkUrl(site.origin, secret)
  }

  passkeys(): Promise<Passkey[]> {
    return listPasskeys(this.database)
  }

  removePasskey(which: string): Promise<Passkey> {
    return this.#change(async (database) => {
      const removed = await removePasskey(database, which)
      const { id: passkey, name } = removed
      return { result: removed, name: 'passkey removed', detail: { passkey, name } }
    })
  }

  /** How far this clock is behind its floor (`clock-floor.ts`). While it is, every request is refused. */
  async clockBehind(): Promise<number> {
    return Math.max(0, (await clockFloor(this.database)) - this.#clock())
  }

  /** The clock is right now, and was ahead before. Returns for how long still nobody is let in. */
  async acceptClock(): Promise<number> {
    const to = await this.#change(async (database, now) => {
      const from = await clockFloor(database)
      const lowered = await database.transaction((db) => lowerClockFloor(db, now))
      return { result: lowered, name: 'clock accepted', detail: { from, to: lowered } }
    })
    return Math.max(0, to - this.#clock())
  }

  verify(): Promise<AuditVerdict> {
    return verifyAudit(this.database, readWitness(this.dir, this.database))
  }

  /** Where an agent of this host keeps its key and delegations. */
  walletOf(id: string): string {
    return join(this.dir, 'agents', id)
  }

  /** Everything that is changed here: with its record, and signed for at once. On a chain that is not whole nothing is. */
  async #change<T>(act: (database: Database, now: number) => Promise<Change<T>>): Promise<T> {
    await this.#requireSound()
    const now = this.#clock()
    const result = await changeRecorded(this.#recording, { by: this.#by }, (inside) => act(inside, now))
    await this.#sign()
    return result
  }

  /** Goes on from what this host saw last; whose key is new here is made known, and signed for as any change is. */
  async #begin(key: SigningKey, witness: ChainHead | undefined): Promise<void> {
    await this.#audit.resume(witness)
    if (await isKnownKey(this.database, key.did)) return
    await this.#requireSound()
    await introduceKey(this.#recording, key, { by: this.#by }, this.#clock())
    await this.#sign()
  }

  get #recording(): Recording {
    return { database: this.database, audit: this.#audit }
  }

  /** Before: afterwards it could only be said that it was done and cannot be signed for. */
  async #requireSound(): Promise<void> {
    await this.#audit.requireWhole()
    await requireSound(this.database, readWitness(this.dir, this.database), this.#audit.head)
  }

  #sign(): Promise<void> {
    return signChain(this.database, this.dir, this.#clock(), this.#audit.head)
  }
}
