import type { CallToolResult, Tool } from '@modelcontextprotocol/client'
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider'
import type { Config, ToolConfig } from '@cordon/config'
import { CordonError, show, suggest } from '@cordon/policy'
import { parseArguments } from '@cordon/tools'
import type { JsonObject, Resource } from '@cordon/workspace'
import { type Answer, type AnswerMemory, isKept, type Respondent } from '../execute/questions.ts'
import type { ToolQuestion } from '../execute/result.ts'
import type { CallPaths } from '../execute/run-mode.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { type OfferedTool, type Offering, openOffering } from './offering.ts'
import { BUILT_IN, type BuiltInName, describePolicy, isBuiltIn } from './built-in.ts'
import { TurnError } from './errors.ts'

/** What a tool gave back, as the log keeps it and the model reads it. */
export interface ToolAnswer {
  readonly outcome: 'success' | 'error' | 'cancelled'
  readonly text: string
  readonly resources: readonly Resource[]
}

/** A tool that can be called now. */
export interface OpenTool extends Omit<OfferedTool, 'perform'> {
  /** A person said that it need not be asked about any more. */
  readonly isAllowed: boolean
  /** What a call touches; undefined: that is not known of this tool. */
  readonly pathsIn: CallPaths
  /** `free`: it changes nothing, so it may run beside others. */
  readonly order: 'free' | 'alone'
  /** The arguments fit, as far as is known before the call. Throws ParseError. */
  readonly run: (args: unknown, how: CallHow) => Promise<ToolAnswer>
}

export interface CallHow {
  readonly signal: AbortSignal
  /** A person was asked something on the way; undefined: they did not answer. */
  readonly inquired: (question: string, answer: Answer | undefined) => Promise<void>
  /** The person wants it to be the answer from now on. */
  readonly keeps: (question: ToolQuestion, answer: Answer) => Promise<void>
}

export interface ToolboxOptions {
  readonly gateway: Gateway
  /** `--tool` and `--no-tool`. */
  readonly wants: (name: string) => boolean
  readonly respondent: Respondent | undefined
  /** Answers to tools' questions that a person wanted to be kept (decision 0294). */
  readonly remembered: AnswerMemory
  /** `refresh_resource`. */
  readonly refresh: (uri: string, signal: AbortSignal) => Promise<Pick<ToolAnswer, 'text' | 'resources'>>
  /** `ask_user`. Undefined: nobody can be asked. */
  readonly askPerson:
    | ((question: string, options: readonly string[]) => Promise<string | undefined>)
    | undefined
  /** Keeps what is no text, and says how it is referred to. */
  readonly keep: (uri: string, mimeType: string, content: Buffer) => Promise<Resource>
}

/** SPEC 6.5: everything that the model is offered: local tools, those of the MCP servers, and our own. */
export class Toolbox implements AsyncDisposable {
  readonly #options: ToolboxOptions
  readonly #offering: Promise<Offering>
  readonly #allowed = new Set<string>()
  #readOnly = new Set<string>()

  constructor(options: ToolboxOptions) {
    this.#options = options
    this.#offering = openOffering(options.gateway)
  }

  /** In the words of the provider. Servers that are slow to start are waited for. */
  async offered(): Promise<LanguageModelV4FunctionTool[]> {
    const tools = await (await this.#offering).tools()
    this.#readOnly = new Set(
      tools.filter(({ annotations }) => annotations?.readOnlyHint === true).map(({ name }) => name),
    )
    // A server's tool that is named as one of ours would stand there twice, and be mistaken for it.
    const others = tools.filter(({ name }) => !this.#isOwn(name))
    return [...others.map(functionTool), ...this.#builtIns()].filter(({ name }) => this.#options.wants(name))
  }

  /** `--tool` and `--no-tool` name tools that are there, or could be: a mistake would take all of them away, or none. */
  async requireKnown(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    const offered = (await (await this.#offering).tools()).map(({ name }) => name)
    requireTools(names, [...offered, ...namesIn(this.#options.gateway.config)])
  }

  /** Undefined: there is no such tool, or it is not offered here. */
  async find(name: string): Promise<OpenTool | undefined> {
    const { gateway, wants } = this.#options
    if (!wants(name)) return undefined
    if (isBuiltIn(name) && this.#isOwn(name)) {
      const config = configured(gateway, name)
      return config?.enable
        ? {
            name,
            source: 'builtin',
            config,
            isAllowed: this.#allowed.has(name),
            pathsIn: () => undefined,
            order: name === 'ask_user' ? 'alone' : 'free',
            run: (args, how) => this.#runBuiltIn(name, args, how),
          }
        : undefined
    }
    const tool = await (await this.#offering).find(name)
    if (!tool) return undefined
    const isShipped = tool.source === 'local' && gateway.localTools.get(name)?.shipped === true
    const changesNothing = isShipped ? READERS.has(name) : this.#readOnly.has(name)
    return {
      name,
      source: tool.source,
      config: tool.config,
      isAllowed: this.#allowed.has(name),
      pathsIn: (args) => gateway.pathsIn(name, args),
      order: changesNothing ? 'free' : 'alone',
      ...(tool.describe ? { describe: tool.describe } : {}),
      run: async (args, { signal, inquired, keeps }) => {
        const { remembered } = this.#options
        const respondent = this.#respondent(inquired, keeps)
        const result = await tool.perform({ arguments: args, signal, respondent, remembered })
        return this.#answer(name, result, signal)
      },
    }
  }

  /** A person said that it need not be asked about any more. */
  allow(name: string): void {
    this.#allowed.add(name)
  }

  async close(): Promise<void> {
    await (await this.#offering).close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** The name is a built-in tool's, unless a person gave it to another (`source`). */
  #isOwn(name: string): boolean {
    return isBuiltIn(name) && configured(this.#options.gateway, name)?.source.kind === 'builtin'
  }

  /** Whoever is asked, and every question on record. */
  #respondent(inquired: CallHow['inquired'], keeps: CallHow['keeps']): Respondent | undefined {
    const { respondent } = this.#options
    return (
      respondent && {
        answer: async (tool, question, keeping) => {
          const answer = await respondent.answer(tool, question, keeping)
          await inquired(question.text, isKept(answer) ? answer.answer : answer)
          if (isKept(answer)) await keeps(question, answer.answer)
          return answer
        },
      }
    )
  }

  #builtIns(): LanguageModelV4FunctionTool[] {
    return Object.entries(BUILT_IN)
      .filter(([name]) => this.#isOwn(name) && configured(this.#options.gateway, name)?.enable)
      .map(([name, { description, parameters }]) => {
        return { type: 'function', name, description, inputSchema: parameters }
      })
  }

  async #runBuiltIn(name: BuiltInName, given: unknown, { signal, inquired }: CallHow): Promise<ToolAnswer> {
    const args = parseArguments({ ...BUILT_IN[name].parameters }, given, () => false)
    const success = (text: string): ToolAnswer => ({ outcome: 'success', text, resources: [] })
    const failure = (text: string): ToolAnswer => ({ outcome: 'error', text, resources: [] })
    switch (name) {
      case 'describe':
        return success(this.#describe(args['tools'] as string[] | undefined))
      case 'refresh_resource':
        try {
          return { outcome: 'success', ...(await this.#options.refresh(args['uri'] as string, signal)) }
        } catch (error) {
          if (!(error instanceof CordonError)) throw error
          return failure(error.message)
        }
      case 'ask_user': {
        const { askPerson } = this.#options
        if (!askPerson) return failure('nobody can be asked here; decide without, or say what is missing')
        const question = args['question'] as string
        const answer = await askPerson(question, (args['options'] as string[]) ?? [])
        await inquired(question, answer)
        return answer === undefined ? failure('the person did not answer') : success(answer)
      }
    }
  }

  #describe(names: readonly string[] | undefined): string {
    const { gateway } = this.#options
    const wanted = names ?? [...gateway.localTools.keys()]
    return wanted
      .map((name) => {
        const policy = gateway.policyOf('tool', name) ?? gateway.policyOf('server', name)
        if (!policy) return `${show(name)}: no rules of its own are known under this name`
        return `${name}:\n${describePolicy(policy)
          .map((line) => `  ${line}`)
          .join('\n')}`
      })
      .join('\n')
  }

  /** Text as it is; what is no text is kept, and named. */
  async #answer(name: string, result: CallToolResult, signal: AbortSignal): Promise<ToolAnswer> {
    const texts: string[] = []
    const resources: Resource[] = []
    for (const [i, block] of result.content.entries()) {
      if (block.type === 'text') texts.push(block.text)
      else if (block.type === 'resource_link') texts.push(`${block.name}: ${block.uri}`)
      else if (block.type === 'resource' && 'text' in block.resource)
        texts.push(`${block.resource.uri}:\n${block.resource.text}`)
      else {
        const { uri, mimeType, data } = binaryOf(block, `tool:${name}/${i + 1}`)
        resources.push(await this.#options.keep(uri, mimeType, Buffer.from(data, 'base64')))
      }
    }
    if (texts.length === 0 && result.structuredContent !== undefined)
      texts.push(JSON.stringify(result.structuredContent))
    const outcome = result.isError === true ? (signal.aborted ? 'cancelled' : 'error') : 'success'
    return { outcome, text: texts.join('\n'), resources }
  }
}

/** Those that are configured, and our own. */
export const namesIn = ({ conversation }: Config): string[] => [
  ...Object.keys(conversation.tools).filter((name) => name !== '*'),
  ...Object.keys(BUILT_IN),
]

export function requireTools(names: readonly string[], all: readonly string[]): void {
  const known = [...new Set(all)].toSorted()
  for (const name of names) {
    if (known.includes(name)) continue
    const meant = suggest(name, known)
    throw new TurnError(
      `no tool is named ${show(name)}; ${meant === undefined ? `there are: ${known.join(', ')}` : `did you mean ${meant}?`}`,
    )
  }
}

/** The shipped tools that only read (SPEC 1.8). */
const READERS: ReadonlySet<string> = new Set(['fs_read_file', 'fs_list_files', 'fs_grep_files'])

const configured = ({ config }: Gateway, name: string): ToolConfig | undefined =>
  Object.hasOwn(config.conversation.tools, name) ? config.conversation.tools[name] : undefined

const functionTool = ({ name, description, inputSchema }: Tool): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  ...(description === undefined ? {} : { description }),
  inputSchema: inputSchema as JsonObject,
})

type Block = CallToolResult['content'][number]

function binaryOf(
  block: Exclude<Block, { type: 'text' | 'resource_link' }>,
  uri: string,
): { readonly uri: string; readonly mimeType: string; readonly data: string } {
  if (block.type !== 'resource') return { uri, mimeType: block.mimeType, data: block.data }
  const { resource } = block
  const mimeType = resource.mimeType ?? 'application/octet-stream'
  return { uri: resource.uri, mimeType, data: 'blob' in resource ? resource.blob : '' }
}
