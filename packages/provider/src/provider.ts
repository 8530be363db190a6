import { AuditBroken, AuditLog } from './audit/log.ts'
import { requireSound, signChain, witnessLost } from './audit/checkpoint.ts'
import { readWitness } from './audit/witness.ts'
import { introduceKey, openAmbientProviderKey } from './keys/provider-key.ts'
import { OPERATION_MS, SLOWEST_BYTES_PER_SECOND } from './pipeline/deadline.ts'
import { Limits } from './pipeline/limits.ts'
import { Places } from './pipeline/places.ts'
import { Replay } from './pipeline/replay.ts'
import { Traffic } from './pipeline/traffic.ts'
import { Registry } from './registry.ts'
import { forgetLinks } from './passkeys/links.ts'
import { closeExpired, DEFAULT_APPROVAL_MS } from './step-up/approvals.ts'
import type { Database } from './storage/database.ts'
import { boundedCache, type DelegationCache } from './tokens/verify.ts'

export interface ProviderOptions {
  readonly database: Database
  /** Where the key and the witness of the audit are kept. */
  readonly dir: string
  readonly clock?: () => number
  readonly operationMs?: number
  /** A transfer that is slower than this is cut. */
  readonly slowestBytesPerSecond?: number
  readonly approvalMs?: number
  /** Where a browser finds this provider: the links that it hands out begin with it. */
  readonly origin?: () => string
  /** Told what went wrong where nobody waits for an answer. */
  readonly unexpected?: (error: unknown) => void
}

/** Everything that requests share: one process of a provider. */
export interface Provider {
  readonly database: Database
  readonly audit: AuditLog
  readonly registry: Registry
  readonly replay: Replay
  readonly limits: Limits
  readonly traffic: Traffic
  readonly places: Places
  readonly delegations: DelegationCache
  readonly clock: () => number
  readonly operationMs: number
  readonly slowestBytesPerSecond: number
  readonly approvalMs: number
  readonly dir: string
  readonly origin: () => string
  /** Signs the end of the chain, here and in the witness. */
  checkpoint(): Promise<void>
  /** Until it is closed, every few seconds. */
  everySoOften(act: () => Promise<void>): void
  /** Before the last record is written. */
  atEnd(act: () => Promise<void>): void
  close(): Promise<void>
}

const MOST_DELEGATIONS = 4096
const CHECKPOINT_EVERY_MS = 60_000
/** So soon after its end what has expired stays so, whatever becomes of the clock. */
const OFTEN_MS = 5000

export async function openAmbientProvider(options: ProviderOptions): Promise<Provider> {
  const { database, dir, clock = Date.now, unexpected = () => {} } = options
  const key = openAmbientProviderKey(dir)
  const traffic = new Traffic()
  const isAlone = (): boolean => traffic.isAlone
  const audit = new AuditLog(database, {
    clock,
    isAlone,
    onBroken: ({ lost }) => {
      try {
        if (lost) witnessLost(database, dir, lost, clock())
      } catch (error) {
        unexpected(error)
      }
    },
  })
  const orStop = (error: unknown): never => {
    if (error instanceof AuditBroken) audit.stop(error)
    throw error
  }
  // A chain that was cut while nobody was here is said, and not gone on with: all is refused, and nobody is told "ready".
  const witness = readWitness(dir, database)
  await audit
    .resume(witness)
    .then(() => requireSound(database, witness))
    .catch(orStop)
    .then(() => introduceKey({ database, audit }, key, { by: 'provider serve' }, clock()))
    .catch(orBroken(unexpected))
  const places = new Places(dir)
  const checkpoint = async (): Promise<void> => {
    if (audit.isBroken) return
    await signChain(database, dir, clock(), audit.head).catch(orStop)
  }
  const timer = setInterval(() => {
    checkpoint().catch(unexpected) // tried again a minute later
  }, CHECKPOINT_EVERY_MS)
  timer.unref()
  const often: (() => Promise<void>)[] = [() => closeWhatExpired(database, clock())]
  const atEnd: (() => Promise<void>)[] = []
  const soon = setInterval(() => {
    for (const act of often) act().catch(() => undefined) // tried again a moment later
  }, OFTEN_MS)
  soon.unref()
  return {
    database,
    audit,
    registry: new Registry(database, clock, isAlone),
    replay: new Replay(database, isAlone),
    limits: new Limits(),
    traffic,
    places,
    delegations: boundedCache(MOST_DELEGATIONS),
    clock,
    operationMs: options.operationMs ?? OPERATION_MS,
    slowestBytesPerSecond: options.slowestBytesPerSecond ?? SLOWEST_BYTES_PER_SECOND,
    approvalMs: options.approvalMs ?? DEFAULT_APPROVAL_MS,
    dir,
    origin: options.origin ?? (() => 'http://localhost:7420'),
    checkpoint,
    everySoOften: (act) => void often.push(act),
    atEnd: (act) => void atEnd.push(act),
    close: async () => {
      clearInterval(timer)
      clearInterval(soon)
      for (const act of atEnd) await act().catch(() => undefined)
      await audit.idle().catch(() => undefined) // the database may be gone before us
      await checkpoint().catch(unexpected)
      places.close()
    },
  }
}

const orBroken =
  (tell: (error: unknown) => void) =>
  (error: unknown): void => {
    if (!(error instanceof AuditBroken)) throw error
    tell(error)
  }

export async function closeWhatExpired(database: Database, now: number): Promise<void> {
  await closeExpired(database, now)
  await forgetLinks(database, now)
}
