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
import { inAscii, isPlainName, MOST_NAMED } from '../mcp/offer.ts'
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
    // An address is used as it is: only what is read is marked.
    return this.#eachOnce(lists, 'resources', ({ uri }) => uri).map((one) => ({
      ...serverValue(one),
      uri: plainText(one.uri),
    }))
  }

  async templates(options: Options): Promise<ResourceTemplateType[]> {
    const lists = await this.#templates(options)
    return this.#eachOnce(lists, 'templates of resources', ({ uriTemplate }) => uriTemplate).map((one) => ({
      ...serverValue(one),
      uriTemplate: plainText(one.uriTemplate),
    }))
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
    await this.#asked(server, (client) =>
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
      return this.#completed(server, named, options)
    }
    const lists = await this.#templates(options)
    const owner = lists.find(({ found }) => found.some(({ uriTemplate }) => uriTemplate === ref.uri))?.server
    const server = owner ?? (await this.#ownerOf(ref.uri, options))
    return this.#completed(server, params, options)
  }

  /** What is offered as a value is used as it is, so it is not marked; one in which something hides is left out. */
  async #completed(
    server: McpServer,
    params: CompleteRequest['params'],
    options: Options,
  ): Promise<CompleteResult> {
    const { completion } = await this.#asked(server, (client) => client.complete(params, options))
    let room = this.#most
    const values = completion.values.filter(
      (value) => plainText(value) === value && (room -= Buffer.byteLength(value)) >= 0,
    )
    return { completion: { ...plainValue(completion), values } }
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
        return owner ? [] : [one]
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
    const matching = this.#matching(templates, uri)
    if (matching) return matching
    // Some servers list nothing and read all the same; where there is only one, it is meant.
    const [only, ...others] = await this.#session.serversWith('resources')
    if (only && others.length === 0) return only
    throw new ProtocolError(ProtocolErrorCode.ResourceNotFound, `no server lists the resource ${show(uri)}`)
  }

  /**
   * A template says what a server would answer for, and any server can say so of what is another's. One that names no scheme
   * answers for what nobody names; of several that do nobody is asked.
   */
  #matching(templates: readonly Found<ResourceTemplateType>[], uri: string): McpServer | undefined {
    const matching = (isNamed: boolean): McpServer[] =>
      templates
        .filter(({ found }) =>
          found.some(
            ({ uriTemplate }) =>
              /^[a-z][a-z0-9+.-]*:/i.test(uriTemplate) === isNamed && matchesTemplate(uriTemplate, uri),
          ),
        )
        .map(({ server }) => server)
    const named = matching(true)
    const [only, ...others] = named.length > 0 ? named : matching(false)
    if (!only || others.length === 0) return only
    const names = [only, ...others].map(({ name }) => name).join(', ')
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `several servers have a template for the resource ${show(uri)}: ${names}; none is asked, since nobody said which is meant`,
    )
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
    // A name is used as it is, so one in which something hides, or that looks like another, is left out, as with tools.
    const all = lists.flatMap(({ server, found }) => {
      const odd = found.filter(({ name }) => !isPlainName(name))
      for (const { name } of odd.slice(0, MOST_NAMED))
        this.#session.warn(
          `MCP server ${show(server.name)}: the prompt ${inAscii(name)} is no prompt name: letters, digits and _ - . / are; it is left out`,
        )
      if (odd.length > MOST_NAMED)
        this.#session.warn(
          `MCP server ${show(server.name)}: ${odd.length - MOST_NAMED} more prompts are left out`,
        )
      return found
        .filter(({ name }) => isPlainName(name))
        .map((prompt) => ({ server: server.name, remote: prompt.name, asked: server, prompt }))
    })
    const { named, nameless } = nameApart(all, {
      servers: this.#session.gateway.servers.map(([name]) => name),
    })
    for (const { server, remote } of nameless)
      this.#session.warn(`prompt ${show(remote)} of MCP server ${server} has no name that is free`)
    return named.map(({ name, asked, prompt }) => ({ name, server: asked, prompt }))
  }

  #bounded<T>(server: McpServer, what: string, all: readonly T[]): readonly T[] {
    let room = LARGEST_LIST
    const kept = all
      .slice(0, MOST_LISTED)
      .filter((one) => (room -= Buffer.byteLength(JSON.stringify(one))) >= 0)
    if (kept.length < all.length)
      this.#session.warn(
        `MCP server ${show(server.name)} lists ${all.length} ${what}; ${all.length - kept.length} of them are left out: ${MOST_LISTED}, and 2 MiB, are enough`,
      )
    return kept
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
          return [{ server, found: this.#bounded(server, capability, await list(server)) }]
        } catch (error) {
          if (error instanceof CordonError) this.#session.warn(error.message)
          return []
        }
      }),
    )
    return lists.flat()
  }
}

/** A server's pages are put together, so the bound on a message is none on a list (decision 0231). */
const MOST_LISTED = 2048
const LARGEST_LIST = 2 * 1024 * 1024

interface Found<T> {
  readonly server: McpServer
  readonly found: readonly T[]
}

interface NamedPrompt {
  readonly server: McpServer
  readonly name: string
  readonly prompt: Prompt
}
