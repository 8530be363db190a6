import type { Generated } from 'kysely'

/** One schema for both engines. Times are milliseconds since 1970; JSON is kept as text. */
export interface Schema {
  meta: MetaTable
  apps: AppsTable
  policies: PoliciesTable
  delegations: DelegationsTable
  revocations: RevocationsTable
  nonces: NoncesTable
  approvals: ApprovalsTable
  provider_keys: ProviderKeysTable
  audit_head: AuditHeadTable
  audit_records: AuditRecordsTable
  audit_checkpoints: AuditCheckpointsTable
  passkeys: PasskeysTable
  links: LinksTable
  used_challenges: UsedChallengesTable
  secrets: SecretsTable
  sessions: SessionsTable
}

/** Single numbers: the schema's version, the generation of what is cached, the floor under the clock, tries to write. */
interface MetaTable {
  name: string
  value: number
}

export interface AppsTable {
  id: string
  did: string
  enabled: number
  limits: string
  created_at: number
}

/** Every version that ever was; the newest of a name counts. `text` null: it was taken away. */
interface PoliciesTable {
  version: Generated<number>
  /** An app's id, or `*` for what holds for all. */
  scope: string
  name: string
  text: string | null
  /** The cases that `policy test` runs, as JSON. */
  cases: string
  created_at: number
}

interface DelegationsTable {
  cid: string
  app: string
  audience: string
  command: string
  path_prefix: string
  issued_at: number
  expires_at: number | null
}

/** Any delegation may be revoked by its CID, also one that the provider did not issue itself. */
interface RevocationsTable {
  cid: string
  revoked_at: number
}

interface NoncesTable {
  nonce: string
  expires_at: number
}

export interface ApprovalsTable {
  id: string
  app: string
  agent: string
  command: string
  /** What is asked for, bound by hashes; see `step-up/binding.ts`. */
  binding: string
  /** What it would come to, however it is spelled and by whichever agent of the app; null in what was asked before. */
  meaning: string | null
  /** What a person is shown, as JSON. */
  request: string
  /** Characters of it; null in what was asked before they were counted. */
  size: number | null
  /** The path in it, for lists; null in what was asked before there was a console. */
  path: string | null
  state: 'open' | 'approved' | 'denied' | 'used' | 'expired'
  opened_at: number
  expires_at: number
  decided_at: number | null
  decided_by: string | null
  /** The cosigner's signature over the binding. */
  proof: string | null
  /** The number of the record that says who gave it. */
  record: number | null
}

interface ProviderKeysTable {
  did: string
  created_at: number
  /** From then on nothing it signed counts any more. */
  retired_at: number | null
}

/** One row: whoever appends holds its lock, so there is one chain however many processes write. */
interface AuditHeadTable {
  id: number
  seq: number
  hash: string
}

interface AuditRecordsTable {
  seq: number
  /** The operation that intent and outcome share. */
  op: string
  body: string
  prev: string
  hash: string
}

interface AuditCheckpointsTable {
  seq: number
  hash: string
  at: number
  signer: string
  signature: string
}

/** SPEC 7.5: who may sign as a person. */
export interface PasskeysTable {
  /** The credential's id, as base64url. */
  id: string
  name: string
  /** COSE, as base64url. */
  public_key: string
  counter: number
  /** How a browser reaches it, as JSON. */
  transports: string
  /** The host name that it was made for; it signs for no other. */
  rp_id: string
  created_at: number
  used_at: number | null
}

/** One-time links of the command line. The secret itself is not here. */
interface LinksTable {
  hash: string
  expires_at: number
}

/** Questions that a passkey has answered. Of the others nothing is kept. */
interface UsedChallengesTable {
  hash: string
  expires_at: number
}

/** What the providers on this database share, and nobody else knows. */
interface SecretsTable {
  name: 'challenges'
  value: string
}

/** Who is signed in. Neither secret is here, only their hashes. */
interface SessionsTable {
  /** Of the cookie. */
  hash: string
  /** Of the cookie before, which counts a moment longer, or until the new one has come. */
  previous: string | null
  /** Since when nobody has come with the new cookie: the answer that brought it may be lost. Null: somebody has. */
  given_at: number | null
  /** The public half of the key that signs every request of the page. */
  key: string
  passkey: string
  created_at: number
  rotated_at: number
  seen_at: number
}
