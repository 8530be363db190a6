import {
  type LoggingLevel,
  type LoggingMessageNotification,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server'
import { show } from '@cordon/policy'
import { callTool } from './call.ts'
import { Directory } from './directory.ts'
import { personBehind } from './elicit.ts'
import type { Gateway } from './gateway.ts'
import { News } from './news.ts'
import { GatewaySession } from './session.ts'
import { plainText, serverValue } from './text.ts'

/** One client, and everything that runs for it. */
export interface ServedClient {
  readonly server: Server
  /** Resolves when the client is gone, or its transport was closed. */
  readonly gone: Promise<void>
  /** Ends the session: no process of it is left when this resolves. */
  readonly close: () => Promise<void>
}

/** SPEC 5.5: the gateway as a server of the SDK, not yet connected to anybody. */
export function serveClient(gateway: Gateway): ServedClient {
  const hasServers = gateway.servers.length > 0
  const server = new Server(
    { name: 'cordon', title: 'Cordon', version: gateway.options.version },
    {
      capabilities: {
        tools: { listChanged: true },
        logging: {},
        ...(hasServers
          ? {
              resources: { subscribe: true, listChanged: true },
              prompts: { listChanged: true },
              completions: {},
            }
          : {}),
      },
      instructions: `${gateway.config.sandbox.mode === 'off' ? UNCONFINED : CONFINED} ${INSTRUCTIONS}`,
    },
  )
  const log = new Log(server)
  const quietly = (sent: Promise<unknown>): void => void sent.catch(() => undefined) // who is gone need not be told
  const lossy = new Lossy()
  const news = new News()
  const session = new GatewaySession(gateway, {
    toolsChanged: () => news.tell('tools', () => server.sendToolListChanged()),
    promptsChanged: () => news.tell('prompts', () => server.sendPromptListChanged()),
    resourcesChanged: () => news.tell('resources', () => server.sendResourceListChanged()),
    resourceUpdated: (uri) =>
      news.tell(`updated ${uri}`, () => server.sendResourceUpdated({ uri: plainText(uri) })),
    capabilities: () => server.getClientCapabilities(),
    logged: (name, params) => lossy.send(() => log.pass(name, params)),
  })
  server.oninitialized = () => quietly(session.start())
  handleTools(server, session)
  if (hasServers) handleRest(server, session)
  server.setRequestHandler('logging/setLevel', async ({ params: { level } }) => {
    log.level = level
    const servers = await session.serversWith('logging')
    await Promise.allSettled(servers.map((each) => each.ask((client) => client.setLoggingLevel(level))))
    return {}
  })
  const close = async (): Promise<void> => {
    await server.close() // stops the calls that are running, whose ends the session waits for
    await session.close()
  }
  const gone = new Promise<void>((resolve) => {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way
    server.onclose = resolve
  })
  return { server, gone, close }
}

const CONFINED = 'Every tool runs confined to what a person granted.'
const UNCONFINED = 'The sandbox is off: servers run with all rights of the person.'
const INSTRUCTIONS =
  'An error that says "access denied" or "refused" names the rule; ' +
  'do not look for a way around it, but tell the person what it says would allow it.'

function handleTools(server: Server, session: GatewaySession): void {
  server.setRequestHandler('tools/list', async () => ({ tools: [...(await session.tools())] }))
  server.setRequestHandler('tools/call', async (request, context) => {
    const route = await session.route(request.params.name)
    if (!route)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `there is no tool ${show(request.params.name)}, or it is not offered here${whyFew(session)}`,
      )
    const person = personBehind(server.getClientCapabilities(), context)
    const lossy = new Lossy()
    const progress = ({ progressToken, ...made }: Record<string, unknown>): void =>
      lossy.send(() =>
        context.mcpReq.notify({
          method: 'notifications/progress',
          params: { ...serverValue(made), progressToken },
        }),
      )
    return callTool(route, { session, person, request, context, progress })
  })
}

/** SPEC 5.4: that a server failed is for the model, which may tell the person. Why it did tells of the host, and is not. */
function whyFew({ notStarted }: GatewaySession): string {
  if (notStarted.length === 0) return ''
  const servers = `server${notStarted.length === 1 ? '' : 's'} ${notStarted.map(show).join(', ')}`
  return `; ${servers} did not start: the person finds the reason in Cordon's error output, which clients keep in their logs`
}

function handleRest(server: Server, session: GatewaySession): void {
  const directory = new Directory(session)
  server.setRequestHandler('resources/list', async (_, { mcpReq: { signal } }) => ({
    resources: await directory.resources({ signal }),
  }))
  server.setRequestHandler('resources/templates/list', async (_, { mcpReq: { signal } }) => ({
    resourceTemplates: await directory.templates({ signal }),
  }))
  server.setRequestHandler('resources/read', ({ params }, { mcpReq: { signal } }) =>
    directory.read(params.uri, { signal }),
  )
  for (const how of ['subscribe', 'unsubscribe'] as const)
    server.setRequestHandler(`resources/${how}`, async ({ params }, { mcpReq: { signal } }) => {
      await directory.subscribe(params.uri, { signal }, how)
      return {}
    })
  server.setRequestHandler('prompts/list', async (_, { mcpReq: { signal } }) => ({
    prompts: await directory.prompts({ signal }),
  }))
  server.setRequestHandler('prompts/get', ({ params }, { mcpReq: { signal } }) =>
    directory.prompt(params, { signal }),
  )
  server.setRequestHandler('completion/complete', ({ params }, { mcpReq: { signal } }) =>
    directory.complete(params, { signal }),
  )
}

/** What a client may miss, such as logs: while so many wait for a client that reads slowly, the next one is dropped. */
class Lossy {
  #waiting = 0

  send(send: () => Promise<void>): void {
    if (this.#waiting >= MOST_WAITING) return
    this.#waiting++
    const sent = (): void => void this.#waiting--
    send().then(sent, sent)
  }
}

const MOST_WAITING = 8

/** Least important first. */
const LEVELS: readonly LoggingLevel[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

/** What servers log, under their own names, from the level on that the client asked for. */
class Log {
  level: LoggingLevel = 'info'
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  async pass(name: string, { level, logger, data }: LoggingMessageNotification['params']): Promise<void> {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(this.level)) return
    const from = logger === undefined ? name : `${name}/${plainText(logger)}`
    const params = { level, logger: from, data: serverValue(data) }
    await this.#server.notification({ method: 'notifications/message', params })
  }
}
