import type {
  Client,
  ClientCapabilities,
  LoggingMessageNotification,
  Tool,
} from '@modelcontextprotocol/client'
import type { ServerContext } from '@modelcontextprotocol/server'
import { CordonError, show } from '@cordon/policy'
import type { Exit } from '@cordon/sandbox'
import type { ToolSession } from '../execute/session.ts'
import { isGranted } from '../compile/server-code.ts'
import { importsHere } from '../mcp/code-files.ts'
import { ServerError } from '../mcp/diagnosis.ts'
import type { Offer } from '../mcp/offer.ts'
import { capabilityNames, type CallAs, type McpServer, type ServerSetup, worldFor } from '../mcp/server.ts'
import type { ServerStart } from '../mcp/connection.ts'
import { admitTools, withheldText } from '../mcp/server-trust.ts'
import { StatefulServer } from '../mcp/stateful.ts'
import { StatelessServer } from '../mcp/stateless.ts'
import { leftBehind } from '../run/left.ts'
import { askClient } from './ask-client.ts'
import { type Gateway, localOffer } from './gateway.ts'
import { type NamedTool, nameTools, sourceOf } from './names.ts'
import { Said } from './said.ts'
import { serverSchema } from './text.ts'

/** What a session tells its client by itself. */
export interface Listener {
  readonly toolsChanged: () => void
  readonly promptsChanged: () => void
  readonly resourcesChanged: () => void
  readonly resourceUpdated: (uri: string) => void
  /** What the client can be asked for. */
  readonly capabilities: () => ClientCapabilities | undefined
  readonly logged: (server: string, params: LoggingMessageNotification['params']) => void
}

/** A tool under the name that a client has for it, and where it comes from. */
export interface OfferedAs {
  readonly tool: Tool
  readonly source: string
}

/** Who answers a call: one of the workspace's tools, or a server's. */
export type Route =
  | { readonly kind: 'local'; readonly name: string }
  | {
      readonly kind: 'server'
      readonly tool: NamedTool
      readonly server: McpServer
      readonly as: CallAs | undefined
    }

/** How long a client waits for a list because a server is slow to start; what comes later is told as a change. */
const LIST_WAIT_MS = 15_000

interface Member {
  readonly server: StatefulServer | StatelessServer
  /** Undefined: nothing is known, or it does not start. */
  offer: Offer | undefined
  tools: readonly Tool[]
  /** Resolves when there is something to list, or the reason why not was said. */
  settled: Promise<void>
  isOptional: boolean
  /** Why it has no tools, if it has none, was said to the person. */
  hasFailed: boolean
}

/**
 * One client's servers (SPEC 5.1: one process of each stateful one for the session) and the names it knows their tools by.
 * All servers start at once when the client has said hello; what an earlier session learned of them is offered without waiting
 * (decision 0233).
 */
export class GatewaySession {
  readonly gateway: Gateway
  /** Calls of the workspace's own tools. */
  readonly local: ToolSession
  readonly #listener: Listener
  readonly #members: ReadonlyMap<string, Member>
  readonly #said = new Said()
  readonly #looking = new Set<string>()
  readonly #calls = new Map<string, Set<ServerContext>>()
  #isClosed = false
  #named: readonly NamedTool[] | undefined
  #started: Promise<void> | undefined

  constructor(gateway: Gateway, listener: Listener) {
    this.gateway = gateway
    this.local = gateway.openTools()
    this.#listener = listener
    this.#members = new Map(
      gateway.servers.map(([name, config]) => {
        const setup = this.#setup(name)
        const server = config.stateful ? new StatefulServer(setup) : new StatelessServer(setup)
        const isOptional = config.optional
        const settled = Promise.resolve()
        return [name, { server, offer: undefined, tools: [], settled, isOptional, hasFailed: false }]
      }),
    )
  }

  /** Starts everything at once; the slowest decides how long it takes. */
  start(): Promise<void> {
    return (this.#started ??= this.#startAll())
  }

  async tools(): Promise<readonly Tool[]> {
    return (await this.offers()).map(({ tool }) => tool)
  }

  /** With whose each is now: a name may be another's when a server comes or goes. */
  async offers(): Promise<readonly OfferedAs[]> {
    await this.start()
    const local = localOffer(this.gateway).map((tool) => ({ tool, source: 'local' }))
    const theirs = this.#naming().map(({ name, server, remote, config }): OfferedAs => {
      const tool = this.#members.get(server)!.tools.find((each) => each.name === remote)!
      const description = config?.description
      return {
        tool: { ...serverSchema(tool), ...(description === undefined ? {} : { description }), name },
        source: sourceOf(server, remote),
      }
    })
    return [...local, ...theirs]
  }

  /** Undefined: no tool has this name. */
  async route(name: string): Promise<Route | undefined> {
    if (this.gateway.localTools.has(name)) return { kind: 'local', name }
    await this.start()
    const tool = this.#naming().find((each) => each.name === name)
    if (!tool) return undefined
    const { server } = this.#members.get(tool.server)!
    // SPEC 5.2: of a stateless server each tool has its own policy; one that nobody configured has the default.
    if (server instanceof StatefulServer) return { kind: 'server', tool, server, as: undefined }
    const policy = this.gateway.policyOf('tool', name) ?? this.gateway.policyOf('server', tool.server)!
    return { kind: 'server', tool, server, as: { tool: name, policy } }
  }

  /** The servers whose tools nobody knows, because they failed. */
  get notStarted(): readonly string[] {
    return [...this.#members].flatMap(([name, { offer, hasFailed }]) => (hasFailed && !offer ? name : []))
  }

  /** While a call is answered, its server may ask the client something; at no other time. */
  async during<T>(server: string, call: ServerContext, work: () => Promise<T>): Promise<T> {
    const calls = this.#calls.get(server) ?? new Set()
    this.#calls.set(server, calls.add(call))
    try {
      return await work()
    } finally {
      calls.delete(call)
    }
  }

  /** The servers that say they can do this, in the order of the configuration. */
  async serversWith(
    capability: 'resources' | 'prompts' | 'completions' | 'logging',
  ): Promise<readonly McpServer[]> {
    await this.start()
    return [...this.#members.values()]
      .filter(({ offer }) => offer?.capabilities[capability] !== undefined)
      .map(({ server }) => server)
  }

  /** Ends every process of this session. */
  async close(): Promise<void> {
    this.#isClosed = true
    const servers = [...this.#members.values()].map(({ server }) => server.close())
    await Promise.allSettled([this.local.close(), ...servers])
  }

  /** Once, whoever comes to the same conclusion. */
  warn(text: string, server?: string): void {
    if (!this.#isClosed && this.#said.isNew(text)) this.gateway.options.audience.warn(text, server)
  }

  async #startAll(): Promise<void> {
    for (const [name, member] of this.#members) member.settled = this.#startOne(name, member)
    const all = Promise.all([...this.#members.values()].map(({ settled }) => settled))
    await Promise.race([all, new Promise<void>((resolve) => setTimeout(resolve, LIST_WAIT_MS).unref())])
  }

  /** What is known is listed at once; a stateful server is started all the same, because it will be needed. */
  async #startOne(name: string, member: Member): Promise<void> {
    try {
      const known = await member.server.knownOffer()
      if (known) await this.#adopt(name, member, known)
      if (known && member.server instanceof StatefulServer) void this.#refresh(name, member)
      if (!known) await this.#adopt(name, member, await member.server.offer())
    } catch (error) {
      this.#report(name, member, error)
    }
  }

  async #refresh(name: string, member: Member): Promise<void> {
    try {
      await this.#adopt(name, member, await member.server.offer())
    } catch (error) {
      this.#report(name, member, error)
    }
  }

  /** SPEC 5, trust: what is new or changed is not shown before a person has seen it. */
  async #adopt(name: string, member: Member, offer: Offer): Promise<void> {
    if (this.#isClosed) return
    const { command, arguments: words } = this.gateway.config.providers.mcp[name]!
    const { tools, withheld } = await admitTools(
      { name, argv: [command, ...words], capabilities: capabilityNames(this.#capabilities()) },
      offer.tools,
      this.gateway.desk,
    )
    for (const what of offer.unusable)
      this.warn(`MCP server ${show(name)}: the tool ${what}, and is left out`, name)
    if (offer.omitted > 0)
      this.warn(`MCP server ${show(name)}: ${offer.omitted} more tools are left out`, name)
    if (withheld.length > 0)
      this.warn(
        `MCP server ${show(name)} ${withheldText(withheld)} since it was first used; withheld until \`cordon trust\` has shown the difference`,
        name,
      )
    const before = JSON.stringify(member.tools)
    const isFirst = member.offer === undefined
    member.offer = offer
    member.tools = tools
    this.#named = undefined
    if (!isFirst && JSON.stringify(tools) !== before) this.#listener.toolsChanged()
  }

  /** SPEC 5.1: of an optional server one line; of any other all that is known. */
  #report(name: string, member: Member, error: unknown): void {
    member.hasFailed = true
    if (!(error instanceof CordonError)) {
      const message = error instanceof Error ? error.message : String(error)
      return this.warn(`MCP server ${show(name)} is left out: ${show(message)}`, name)
    }
    const text = error.message
    this.warn(
      member.isOptional
        ? `${text.split('\n', 1)[0]}; it is optional, and left out`
        : error instanceof ServerError
          ? text
          : `MCP server ${show(name)} is left out: ${text}`,
      name,
    )
  }

  /** Kept until a server's tools change: every call asks for it. */
  #naming(): readonly NamedTool[] {
    if (this.#named) return this.#named
    const offers = [...this.#members].map(([server, { tools }]) => ({
      server,
      tools: tools.map((tool) => tool.name),
    }))
    const { tools, problems } = nameTools(this.gateway.config, offers)
    for (const { server, text } of problems) this.warn(text, server)
    return (this.#named = tools)
  }

  #setup(name: string): ServerSetup {
    const { gateway } = this
    const { audience } = gateway.options
    const policy = gateway.policyOf('server', name)
    if (!policy) throw new Error('a server did not compile')
    const config = gateway.config.providers.mcp[name]!
    const { world, missing } = worldFor(name, config, gateway.serverWorld, gateway.options.surroundings)
    for (const what of missing) this.warn(`MCP server ${show(name)}: ${what}`)
    for (const dir of gateway.writableCode(name))
      this.warn(
        `MCP server ${show(name)} may write ${show(dir)}, where its own program is: its next start runs what it changes there, unless rules for files name what it has to write`,
      )
    if (isGranted(name, gateway.config))
      for (const what of importsHere([config.command, ...config.arguments]))
        this.warn(`MCP server ${show(name)}: ${what}`)
    return {
      name,
      config,
      policy,
      world,
      desk: gateway.desk,
      cache: gateway.cache,
      capabilities: () => this.#capabilities(),
      prepare: (client) => this.#listen(name, client),
      onEnd: (end) => {
        this.#tellLost(name, end.exit.left)
        gateway.tellNoticed(`MCP server ${show(name)}`, end)
      },
      onIdleEnd: (error) => this.warn(error.message, name),
      ...(audience.waiting ? { onWaiting: audience.waiting } : {}),
    }
  }

  /** What servers are told that the client can be asked for. */
  #capabilities(): NonNullable<ServerStart['capabilities']> {
    const { sampling, elicitation } = this.#listener.capabilities() ?? {}
    return {
      ...(sampling ? { sampling: {} } : {}),
      ...(elicitation ? { elicitation: { form: {} } } : {}),
    }
  }

  /** SPEC 4.3: what it wrote to its private home is gone with it; that is said also when the session is over. */
  #tellLost(name: string, left: Exit['left']): void {
    const lost = leftBehind(left, this.gateway.serverWorld.home)
    if (!lost) return
    const text = `MCP server ${show(name)} wrote ${lost.names.map(show).join(', ')} into a private home, which is gone with it; \`cordon mcp doctor ${name}\` says how it gets a place to keep`
    if (this.#said.isNew(text)) this.gateway.options.audience.warn(text, name)
  }

  #listen(name: string, client: Client): void {
    const listener = this.#listener
    client.setNotificationHandler('notifications/tools/list_changed', () => this.#toolsChanged(name))
    client.setNotificationHandler('notifications/prompts/list_changed', () => listener.promptsChanged())
    client.setNotificationHandler('notifications/resources/list_changed', () => listener.resourcesChanged())
    client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
      listener.resourceUpdated(params.uri),
    )
    askClient(name, client, listener.capabilities() ?? {}, () => [...(this.#calls.get(name) ?? [])].at(-1))
    client.setNotificationHandler('notifications/message', ({ params }) => listener.logged(name, params))
  }

  /** One look at a time: a server that says so without end gets no more than the last answer. */
  #toolsChanged(name: string): void {
    const member = this.#members.get(name)
    const server = member?.server
    if (!(server instanceof StatefulServer) || this.#looking.has(name)) return
    this.#looking.add(name)
    setTimeout(() => {
      this.#looking.delete(name)
      server.forgetOffer()
      void this.#refresh(name, member!)
    }, LOOK_AGAIN_MS).unref()
  }
}

const LOOK_AGAIN_MS = 200
