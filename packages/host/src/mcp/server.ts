import { isDeepStrictEqual } from 'node:util'
import type { Client } from '@modelcontextprotocol/client'
import type { McpServerConfig } from '@cordon/config'
import { type AccessPolicy, CordonError } from '@cordon/policy'
import type { Surroundings } from '@cordon/workspace'
import { serverValues } from './clients/values.ts'
import { type Connection, connect, type ServerStart, type ServerWorld } from './connection.ts'
import { type Asked, ServerError, type Stage } from './diagnosis.ts'
import { identify, type ServerIdentity } from './identity.ts'
import { askForOffer, type Offer } from './offer.ts'
import { runtimeOf } from './runtime.ts'
import { SchemaCache, schemaKey } from './schema-cache.ts'
import { admitProgram, type TrustDesk } from './server-trust.ts'

/** What is the same for every process of a server. */
export interface ServerSetup {
  readonly name: string
  readonly config: McpServerConfig
  /** Of a stateful server its own policy; of a stateless one the default, for what is not a configured tool. */
  readonly policy: AccessPolicy
  readonly world: ServerWorld
  readonly desk: TrustDesk
  readonly cache: SchemaCache
  /** Asked at every start: by then it is known who is behind us. */
  readonly capabilities?: () => NonNullable<ServerStart['capabilities']>
  /** Called for every process before it is initialised, to hear what it says by itself. */
  readonly prepare: (client: Client) => void
  readonly onWaiting?: (server: string, seconds: number) => void
  readonly onEnd?: NonNullable<ServerStart['onEnd']>
  /** Told of a process that ended when nobody waited for it. */
  readonly onIdleEnd?: (error: ServerError) => void
}

/**
 * The world as this server sees it: with the values that a client's file has for it (decision 0237). What of them reaches the
 * server is its policy's business; what Cordon itself does for it goes by the person's environment (decision 0566).
 */
export function worldFor(
  name: string,
  { command, arguments: words }: McpServerConfig,
  world: ServerWorld,
  surroundings: Surroundings,
): { readonly world: ServerWorld; readonly missing: readonly string[] } {
  const { values, missing } = serverValues(
    { name, line: [command, ...words], root: world.root.path },
    surroundings,
  )
  return { world: { ...world, values }, missing }
}

/** As whom a process of a stateless server is started: a tool, or undefined for everything that is none. */
export interface CallAs {
  readonly tool: string
  readonly policy: AccessPolicy
}

export type Question<T> = (client: Client, connection: Connection) => Promise<T>

/** What a question is, for who fails to answer it; and of a stateless server, as whom it is asked. */
export interface QuestionAbout {
  readonly asked?: Asked
  readonly as?: CallAs | undefined
  readonly signal?: AbortSignal | undefined
}

/** A configured server in one session (SPEC 5.1). Nothing is started before it is asked for something. */
export interface McpServer {
  readonly name: string
  /** What it offers; asks it, unless that is known. Throws `ServerError`. */
  offer(): Promise<Offer>
  /** Throws `ServerError` when the server is the reason, and the SDK's errors for what the server answered. */
  ask<T>(question: Question<T>, about?: QuestionAbout): Promise<T>
  /** Ends every process of it. */
  close(): Promise<void>
}

/** Starts processes of one server, once a person's word covers the program that its command line leads to. */
export class ServerStarter {
  readonly #setup: ServerSetup
  /** The processes that have said what they offer. */
  readonly #asked = new WeakSet<Connection>()
  /** What was admitted last, for exactly that identity. */
  #checked: { readonly identity: ServerIdentity; readonly admitted: Promise<boolean> } | undefined

  constructor(setup: ServerSetup) {
    this.#setup = setup
  }

  get argv(): readonly [string, ...string[]] {
    const { command, arguments: words } = this.#setup.config
    return [command, ...words]
  }

  /** Kept from an earlier session, for exactly this program. */
  async knownOffer(): Promise<Offer | undefined> {
    return this.#setup.cache.find(await this.#schemaKey())
  }

  /** What a process says first is kept. What it says later may be withheld, and is for its session alone (decision 0472). */
  async askOffer(connection: Connection): Promise<Offer> {
    const { config, cache } = this.#setup
    const isFirst = !this.#asked.has(connection)
    this.#asked.add(connection)
    const offer = await askForOffer(connection, config.startup_timeout_secs)
    if (isFirst) cache.keep(await this.#schemaKey(), offer)
    return offer
  }

  async #schemaKey(): Promise<string> {
    const { name, config, capabilities } = this.#setup
    const { stateful } = config
    const asked = { name, stateful, argv: this.argv, capabilities: capabilityNames(capabilities?.()) }
    return schemaKey(asked, await this.identity())
  }

  async start(policy: AccessPolicy, signal?: AbortSignal): Promise<Connection> {
    const { name, config, world, prepare, onWaiting, onEnd, capabilities } = this.#setup
    const identity = await this.identity()
    return connect(
      {
        server: name,
        argv: this.argv,
        policy,
        runtime: runtimeOf(identity.entry, { root: world.root.path, home: world.home }),
        startupSecs: config.startup_timeout_secs,
        signal,
        prepare,
        ...(onEnd ? { onEnd } : {}),
        ...(capabilities ? { capabilities: capabilities() } : {}),
        ...(onWaiting ? { onWaiting: (seconds) => onWaiting(name, seconds) } : {}),
      },
      world,
    )
  }

  /** Looked at again before every start: a server that runs, or another, may have changed the file meanwhile. */
  async identity(): Promise<ServerIdentity> {
    const { name, world, desk } = this.#setup
    const fail = (what: string, stage: Stage = 'start'): ServerError =>
      new ServerError({ server: name, stage, what, refused: [], unreached: [], hints: [], said: [] })
    let identity
    try {
      identity = identify(this.argv, world.root.path, world.env)
    } catch (error) {
      if (error instanceof CordonError) throw fail(`could not be started: ${error.message}`)
      throw error
    }
    if (!isDeepStrictEqual(this.#checked?.identity, identity))
      this.#checked = { identity, admitted: admitProgram(name, this.argv, identity, desk) }
    if (await this.#checked!.admitted) return identity
    throw fail(
      'was not started: its program is not the one that was used before, and nobody has accepted that; `cordon trust` shows the difference',
      'trust',
    )
  }
}

/** What a server may make its offer depend on. */
export const capabilityNames = (capabilities: ServerStart['capabilities'] = {}): readonly string[] =>
  Object.keys(capabilities).toSorted()

/** A protocol error of a server that has meanwhile ended is the end's fault. */
export async function asking<T>(connection: Connection, question: Question<T>, asked?: Asked): Promise<T> {
  try {
    return await question(connection.client, connection)
  } catch (error) {
    await settle()
    throw connection.failure(asked) ?? error
  }
}

/** That a process has ended is known a moment after its streams have. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
