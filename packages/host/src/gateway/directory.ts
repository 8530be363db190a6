import {
  type CompleteRequest,
  type CompleteResult,
  type GetPromptRequest,
  type GetPromptResult,
  type Prompt,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
} from '@modelcontextprotocol/client'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { CordonError, show } from '@cordon/policy'
import type { McpServer, Question } from '../mcp/server.ts'
import { nameApart } from './names.ts'
import type { GatewaySession } from './session.ts'
import { contentsOfServer, failureOfServer, promptOfServer } from './results.ts'
import { plainText, plainValue, serverValue } from './text.ts'
import { matchesTemplate } from './uri-template.ts'

interface Options {
  readonly signal: AbortSignal
}

/**
 * SPEC 5.5: what the servers of a session offer beside tools, passed through. Prompts are named as tools are. The address of a
 * resource says where it is, and is not changed: it belongs to the first server that lists it, and it is said who else does.
 */
export class Directory {
  readonly #session: GatewaySession

  constructor(session: GatewaySession) {
    this.#session = session
  }

  async resources(options: Options): Promise<Resource[]> {
    const lists = await this.#collect(
      'resources',
      async (server) => (await server.ask((client) => client.listResources(undefined, options))).resources,
    )
    return this.#eachOnce(lists, 'resources', ({ uri }) => uri)
  }

  async templates(options: Options): Promise<ResourceTemplateType[]> {
    const lists = await this.#templates(options)
    return this.#eachOnce(lists, 'templates of resources', ({ uriTemplate }) => uriTemplate)
  }

  async read(uri: string, options: Options): Promise<ReadResourceResult> {
    const server = await this.#ownerOf(uri, options)
    const result = await this.#asked(server, (client) => client.readResource({ uri }, options))
    return {
      ...plainValue({ ...result, contents: [] }),
      contents: [...contentsOfServer(result.contents, this.#most)],
    }
  }

  async subscribe(uri: string, options: Options, how: 'subscribe' | 'unsubscribe'): Promise<void> {
    const server = await this.#ownerOf(uri, options)
    await server.ask((client) =>
      how === 'subscribe'
        ? client.subscribeResource({ uri }, options)
        : client.unsubscribeResource({ uri }, options),
    )
  }

  async prompts(options: Options): Promise<Prompt[]> {
    return (await this.#prompts(options)).map(({ name, prompt }) => ({ ...serverValue(prompt), name }))
  }

  async prompt(params: GetPromptRequest['params'], options: Options): Promise<GetPromptResult> {
    const { server, prompt } = await this.#promptNamed(params.name, options)
    const result = await this.#asked(server, (client) =>
      client.getPrompt({ ...params, name: prompt.name }, options),
    )
    return promptOfServer(result, this.#most)
  }

  async complete(params: CompleteRequest['params'], options: Options): Promise<CompleteResult> {
    const { ref } = params
    if (ref.type === 'ref/prompt') {
      const { server, prompt } = await this.#promptNamed(ref.name, options)
      const named = { ...params, ref: { ...ref, name: prompt.name } }
      return plainValue(await server.ask((client) => client.complete(named, options)))
    }
    const lists = await this.#templates(options)
    const owner = lists.find(({ found }) => found.some(({ uriTemplate }) => uriTemplate === ref.uri))?.server
    const server = owner ?? (await this.#ownerOf(ref.uri, options))
    return plainValue(await server.ask((client) => client.complete(params, options)))
  }

  /** What no tool's own bound says. */
  get #most(): number {
    return this.#session.gateway.config.conversation.defaults.max_output_bytes
  }

  /** What a server answers with an error is text of the server's as well. */
  async #asked<T>(server: McpServer, question: Question<T>): Promise<T> {
    return server.ask(question).catch((error: unknown) => {
      if (!ProtocolError.isInstance(error)) throw error
      throw new ProtocolError(error.code, failureOfServer(error.message, this.#most))
    })
  }

  /** Of those that several servers list, the first one's. */
  #eachOnce<T>(lists: readonly Found<T>[], what: string, key: (one: T) => string): T[] {
    const owners = new Map<string, McpServer>()
    return lists.flatMap(({ server, found }) =>
      found.flatMap((one) => {
        const owner = owners.get(key(one))
        if (owner && owner !== server)
          this.#session.warn(
            `MCP server ${server.name} lists ${what} that ${owner.name} lists as well; ${owner.name} is asked for them`,
          )
        owners.set(key(one), owner ?? server)
        return owner ? [] : [plainValue(one)]
      }),
    )
  }

  #templates(options: Options): Promise<readonly Found<ResourceTemplateType>[]> {
    return this.#collect(
      'resources',
      async (server) =>
        (await server.ask((client) => client.listResourceTemplates(undefined, options))).resourceTemplates,
    )
  }

  /** Asked anew each time: servers make and forget resources as they like. */
  async #ownerOf(uri: string, options: Options): Promise<McpServer> {
    const lists = await this.#collect(
      'resources',
      async (server) => (await server.ask((client) => client.listResources(undefined, options))).resources,
    )
    const listed = lists.find(({ found }) => found.some((each) => each.uri === uri))?.server
    if (listed) return listed
    const templates = await this.#templates(options)
    const matching = templates.find(({ found }) =>
      found.some(({ uriTemplate }) => matchesTemplate(uriTemplate, uri)),
    )
    if (matching) return matching.server
    // Some servers list nothing and read all the same; where there is only one, it is meant.
    const [only, ...others] = await this.#session.serversWith('resources')
    if (only && others.length === 0) return only
    throw new ProtocolError(ProtocolErrorCode.ResourceNotFound, `no server lists the resource ${show(uri)}`)
  }

  async #promptNamed(name: string, options: Options): Promise<NamedPrompt> {
    const found = (await this.#prompts(options)).find((each) => each.name === name)
    if (found) return found
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no prompt ${show(name)}`)
  }

  async #prompts(options: Options): Promise<readonly NamedPrompt[]> {
    const lists = await this.#collect(
      'prompts',
      async (server) => (await server.ask((client) => client.listPrompts(undefined, options))).prompts,
    )
    // A name is used as it is, so one in which something hides is left out, as with tools.
    const all = lists.flatMap(({ server, found }) =>
      found
        .filter(({ name }) => plainText(name) === name)
        .map((prompt) => ({ server: server.name, remote: prompt.name, asked: server, prompt })),
    )
    const { named, nameless } = nameApart(all, {
      servers: this.#session.gateway.servers.map(([name]) => name),
    })
    for (const { server, remote } of nameless)
      this.#session.warn(`prompt ${show(remote)} of MCP server ${server} has no name that is free`)
    return named.map(({ name, asked, prompt }) => ({ name, server: asked, prompt }))
  }

  /** Of every server that can do it. One that fails is left out, and said to be. */
  async #collect<T>(
    capability: 'resources' | 'prompts',
    list: (server: McpServer) => Promise<readonly T[]>,
  ): Promise<readonly Found<T>[]> {
    const servers = await this.#session.serversWith(capability)
    const lists = await Promise.all(
      servers.map(async (server): Promise<Found<T>[]> => {
        try {
          return [{ server, found: await list(server) }]
        } catch (error) {
          if (error instanceof CordonError) this.#session.warn(error.message)
          return []
        }
      }),
    )
    return lists.flat()
  }
}

interface Found<T> {
  readonly server: McpServer
  readonly found: readonly T[]
}

interface NamedPrompt {
  readonly server: McpServer
  readonly name: string
  readonly prompt: Prompt
}
