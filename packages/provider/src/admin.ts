import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import {
  type App,
  createApp,
  findApp,
  listApps,
  type NewApp,
  parseAppId,
  removeApp,
  setEnabled,
} from './apps/app.ts'
import { type Issued, listDelegations, mintFor, type MintTerms, revoke } from './apps/delegations.ts'
import { sealDelegations, Wallet } from './apps/wallet.ts'
import { signChain } from './audit/checkpoint.ts'
import { AuditBroken, AuditLog } from './audit/log.ts'
import { type AuditVerdict, verifyAudit } from './audit/verify.ts'
import { readWitness } from './audit/witness.ts'
import type { PolicyRequest } from './cedar/request.ts'
import {
  type KnownKey,
  listKeys,
  openAmbientProviderKey,
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
import { linkUrl, makeLink } from './passkeys/links.ts'
import { listPasskeys, type Passkey, removePasskey } from './passkeys/passkeys.ts'
import { parseSite } from './console/site.ts'
import { clockFloor, lowerClockFloor } from './storage/clock-floor.ts'
import { type Database, type DatabaseChoice, openAmbientDatabase } from './storage/database.ts'
import type { Delegation } from './tokens/delegation.ts'

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
    this.#audit = new AuditLog(database)
  }

  static async open(options: AdminOptions): Promise<Admin> {
    const key = openAmbientProviderKey(options.dir) // makes the directory that the database file lies in
    const database = await openAmbientDatabase(options.choice)
    const admin = new Admin(database, options)
    try {
      const witness = readWitness(options.dir, database) // before anything is done that could not be witnessed
      await admin.#audit.resume(witness).catch((error: unknown) => {
        if (!(error instanceof AuditBroken)) throw error // what is only looked at may still be
      })
    } catch (error) {
      await database.close()
      throw error
    }
    await registerKey(database, key, admin.#clock())
    return admin
  }

  close(): Promise<void> {
    return this.database.close()
  }

  /** Without a DID the agent is on this host: its key is made here, in its wallet. */
  async createApp({ id, did, limits }: Omit<NewApp, 'did'> & { readonly did?: string }): Promise<App> {
    await this.#audit.requireWhole()
    const agent = did ?? Wallet.create(this.walletOf(parseAppId(id))).key.did
    const app = await createApp(
      this.database,
      { id, did: agent, ...(limits ? { limits } : {}) },
      this.#clock(),
    )
    await this.#record('app created', { app: id, did: agent })
    return app
  }

  apps(): Promise<App[]> {
    return listApps(this.database)
  }

  app(id: string): Promise<App> {
    return findApp(this.database, id)
  }

  async setEnabled(id: string, enabled: boolean): Promise<void> {
    await this.#audit.requireWhole()
    await setEnabled(this.database, id, enabled)
    await this.#record(enabled ? 'app enabled' : 'app disabled', { app: id })
  }

  async removeApp(id: string): Promise<void> {
    await this.#audit.requireWhole()
    await removeApp(this.database, id, this.#clock())
    await this.#record('app removed', { app: id })
  }

  /** The delegation as text; one for an agent on this host is in its wallet, too. */
  async mint(
    id: string,
    terms: MintTerms,
  ): Promise<{ readonly delegation: Delegation; readonly token: string }> {
    await this.#audit.requireWhole()
    const app = await findApp(this.database, id)
    const key = openAmbientProviderKey(this.dir)
    const delegation = await mintFor(this.database, key, app, terms, this.#clock())
    const { cid, prefix, command, expires } = delegation
    await this.#record('delegation minted', { app: id, cid, prefix, command, expires })
    const token = sealDelegations([delegation])
    const dir = this.walletOf(id)
    if (Wallet.exists(dir) && Wallet.open(dir).key.did === app.did) Wallet.open(dir).add(token)
    return { delegation, token }
  }

  delegations(app?: string): Promise<Issued[]> {
    return listDelegations(this.database, app)
  }

  async revoke(cid: string): Promise<void> {
    await this.#audit.requireWhole()
    await revoke(this.database, cid, this.#clock())
    await this.#record('delegation revoked', { cid })
  }

  async keys(): Promise<{ readonly current: string; readonly known: readonly KnownKey[] }> {
    return { current: openAmbientProviderKey(this.dir).did, known: await listKeys(this.database) }
  }

  async rotateKey(): Promise<string> {
    await this.#audit.requireWhole()
    const { did } = await rotateKey(this.dir, this.database, this.#clock())
    await this.#record('key rotated', { did })
    return did
  }

  async retireKey(did: string): Promise<boolean> {
    await this.#audit.requireWhole()
    const retired = await retireKey(this.database, did, this.#clock())
    if (retired) await this.#record('key retired', { did })
    return retired
  }

  policies(): Promise<StoredPolicy[]> {
    return listPolicies(this.database)
  }

  async setPolicy(policy: NewPolicy): Promise<number> {
    await this.#audit.requireWhole()
    if (policy.scope !== '*') await findApp(this.database, policy.scope)
    const version = await setPolicy(this.database, policy, this.#clock())
    const { scope, name, text } = policy
    await this.#record(text === null ? 'policy removed' : 'policy set', { scope, name, version })
    return version
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
    const how = decision === 'deny' ? 'deny' : { approve: openAmbientProviderKey(this.dir) }
    const kept = { database: this.database, audit: this.#audit }
    const decided = await decideApproval(kept, id, how, { by: this.#by }, this.#clock())
    await this.#sign()
    return decided
  }

  async takeBackNo(id: string): Promise<Approval> {
    const kept = { database: this.database, audit: this.#audit }
    const taken = await takeBackNo(kept, id, { by: this.#by }, this.#clock())
    await this.#sign()
    return taken
  }

  /** SPEC 7.7: a link that makes one passkey, within ten minutes, in whichever browser opens it. */
  async addPasskey(origin: string): Promise<string> {
    const site = parseSite(origin)
    await this.#audit.requireWhole()
    const secret = await makeLink(this.database, this.#clock())
    await this.#record('passkey link made', { origin: site.origin })
    return linkUrl(site.origin, secret)
  }

  passkeys(): Promise<Passkey[]> {
    return listPasskeys(this.database)
  }

  async removePasskey(which: string): Promise<Passkey> {
    await this.#audit.requireWhole()
    const removed = await removePasskey(this.database, which)
    await this.#record('passkey removed', { passkey: removed.id, name: removed.name })
    return removed
  }

  /** How far this clock is behind its floor (`clock-floor.ts`). While it is, every request is refused. */
  async clockBehind(): Promise<number> {
    return Math.max(0, (await clockFloor(this.database)) - this.#clock())
  }

  /** The clock is right now, and was ahead before. Returns for how long still nobody is let in. */
  async acceptClock(): Promise<number> {
    await this.#audit.requireWhole()
    const now = this.#clock()
    const from = await clockFloor(this.database)
    const to = await this.#audit.appendWith(async (db) => {
      const lowered = await lowerClockFloor(db, now)
      const detail = { from, to: lowered }
      const event = {
        kind: 'event' as const,
        op: randomUUID(),
        at: now,
        name: 'clock accepted',
        by: this.#by,
        detail,
      }
      return [lowered, event] as const
    })
    await this.#sign()
    return Math.max(0, to - now)
  }

  verify(): Promise<AuditVerdict> {
    return verifyAudit(this.database, readWitness(this.dir, this.database))
  }

  /** Where an agent of this host keeps its key and delegations. */
  walletOf(id: string): string {
    return join(this.dir, 'agents', id)
  }

  async #record(name: string, detail: Readonly<Record<string, unknown>>): Promise<void> {
    const op = randomUUID()
    await this.#audit.append({ kind: 'event', op, at: this.#clock(), name, by: this.#by, detail })
    await this.#sign()
  }

  #sign(): Promise<void> {
    return signChain(this.database, this.dir, this.#clock(), this.#audit.head)
  }
}
