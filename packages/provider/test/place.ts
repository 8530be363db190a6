import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../src/apps/app.ts'
import { mintFor, type MintTerms } from '../src/apps/delegations.ts'
import { type Starter, starterPolicies } from '../src/cedar/starters.ts'
import { ProviderClient } from '../src/client/client.ts'
import { type Command } from '../src/commands.ts'
import { jsonLog } from '../src/http/log.ts'
import { serveProvider, type ServeOptions, type Serving } from '../src/http/serve.ts'
import { openAmbientProviderKey, registerKey } from '../src/keys/provider-key.ts'
import { setPolicy } from '../src/policies/store.ts'
import { type Database, type DatabaseChoice, openAmbientDatabase } from '../src/storage/database.ts'
import { type Delegation } from '../src/tokens/delegation.ts'
import { signInvocation } from '../src/tokens/invocation.ts'
import { SigningKey } from '../src/tokens/key.ts'

/** A provider with its own database, key and files, served on loopback; the same clock for everybody. */
export class TestPlace {
  readonly dir: string = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-provider-')))
  /** What delegations are for. */
  readonly files: string = join(this.dir, 'files')
  readonly choice: DatabaseChoice
  readonly logged: string[] = []
  /** Milliseconds added to the clock. */
  shift = 0
  /** Undefined while the clock goes on. */
  #stoppedAt: number | undefined
  database!: Database
  serving!: Serving

  private constructor(choice: DatabaseChoice | undefined) {
    mkdirSync(this.files)
    mkdirSync(join(this.dir, 'data'), { mode: 0o700 })
    this.choice = choice ?? { file: join(this.dir, 'data', 'provider.db') }
  }

  static async start(choice?: DatabaseChoice, options: Partial<ServeOptions> = {}): Promise<TestPlace> {
    const place = new TestPlace(choice)
    place.database = await openAmbientDatabase(place.choice)
    place.serving = await place.serve(options)
    return place
  }

  clock = (): number => (this.#stoppedAt ?? Date.now()) + this.shift

  /** For what depends on how much time has passed: from now on, only `shift` does that. */
  stopClock(): void {
    this.#stoppedAt = Date.now()
  }

  startClock(): void {
    this.#stoppedAt = undefined
  }

  get dataDir(): string {
    return join(this.dir, 'data')
  }

  /** One more process's worth of provider, on the same database. */
  async serve(options: Partial<ServeOptions> = {}): Promise<Serving> {
    return serveProvider({
      database: await openAmbientDatabase(this.choice),
      dir: this.dataDir,
      host: '127.0.0.1',
      port: 0,
      version: '0.0.0',
      log: jsonLog((line) => this.logged.push(line)),
      clock: this.clock,
      ...options,
    })
  }

  async agent(
    id: string,
    policy: readonly Starter[] | string,
    terms: Partial<MintTerms> = {},
  ): Promise<Agent> {
    const key = SigningKey.generate()
    const app = await createApp(this.database, { id, did: key.did }, this.clock())
    const text = typeof policy === 'string' ? policy : starterPolicies(policy)
    await setPolicy(this.database, { scope: id, name: 'main', text }, this.clock())
    const providerKey = openAmbientProviderKey(this.dataDir)
    await registerKey(this.database, providerKey, this.clock())
    const root = await mintFor(
      this.database,
      providerKey,
      app,
      { prefix: this.files, ...terms },
      this.clock(),
    )
    return new Agent(this, id, key, [root])
  }

  async close(): Promise<void> {
    await this.serving.stop()
    await this.database.close()
  }
}

export class Agent {
  readonly place: TestPlace
  readonly id: string
  readonly key: SigningKey
  readonly delegations: Delegation[]

  constructor(place: TestPlace, id: string, key: SigningKey, delegations: Delegation[]) {
    this.place = place
    this.id = id
    this.key = key
    this.delegations = delegations
  }

  client(url: string = this.place.serving.url): ProviderClient {
    return new ProviderClient({
      url,
      key: this.key,
      delegations: () => this.delegations,
      clock: this.place.clock,
    })
  }
}

export interface Sent {
  readonly status: number
  /** `ok`, or the code of the refusal. */
  readonly code: string
  readonly message: string
  readonly body: Buffer
  readonly headers: Headers
  readonly error: Record<string, unknown>
}

export interface Raw {
  readonly url?: string
  /** Another command's route than the signed one. */
  readonly route?: string
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array>
  readonly chain?: readonly Delegation[]
  readonly key?: SigningKey
  readonly token?: string
}

/** One request as it goes over the wire; nothing is checked on the way out. */
export async function send(
  agent: Agent,
  command: Command,
  args: Readonly<Record<string, unknown>>,
  { url = agent.place.serving.url, route = command, body, chain, key, token }: Raw = {},
): Promise<Sent> {
  const now = Math.floor(agent.place.clock() / 1000)
  const signed =
    token ??
    signInvocation({
      key: key ?? agent.key,
      chain: chain ?? agent.delegations,
      command,
      args,
      expires: now + 60,
    })
  const response = await fetch(new URL(route, url), {
    method: 'POST',
    // A kept connection may be closed by the server in the moment in which it is used again, after a test that took its time.
    headers: { authorization: `Bearer ${signed}`, connection: 'close' },
    ...(body === undefined ? {} : { body: body as string, duplex: 'half' as const }),
  })
  return readSent(response)
}

export async function readSent(response: Response): Promise<Sent> {
  const body = Buffer.from(await response.arrayBuffer())
  const error = response.ok ? {} : (JSON.parse(body.toString()) as { error: Record<string, unknown> }).error
  return {
    status: response.status,
    code: response.ok ? 'ok' : String(error['code']),
    message: response.ok ? '' : String(error['message']),
    body,
    headers: response.headers,
    error,
  }
}

/** The signed arguments of a write of this content. */
export const content = (text: string): { sha256: string; size: number } => ({
  sha256: hash('sha256', text),
  size: Buffer.byteLength(text),
})

/** Everything, everywhere: what the tests of other checks use. */
export const ANYTHING = 'permit (principal, action, resource);'
