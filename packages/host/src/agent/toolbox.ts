import type { CallToolResult, Tool } from '@modelcontextprotocol/client'
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider'
import type { Config, ToolConfig } from '@cordon/config'
import { CordonError, show, suggest } from '@cordon/policy'
import { parseArguments, type ShownPath } from '@cordon/tools'
import type { JsonObject, Resource } from '@cordon/workspace'
import { type Answer, type AnswerMemory, isKept, type Respondent } from '../execute/questions.ts'
import type { ToolQuestion } from '../execute/result.ts'
import { toldText } from '../execute/told.ts'
import type { LocalTool } from '../execute/tool.ts'
import type { CallPaths } from '../execute/run-mode.ts'
import type { CallSecrets } from '../execute/secrets.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { identityOf, serverOf, sourceOf } from '../gateway/names.ts'
import { type OfferedTool, type Offering, openOffering } from './offering.ts'
import { BUILT_IN, type BuiltInName, describePolicy, isBuiltIn } from './built-in.ts'
import { READERS } from '../built-in-tools.ts'
import { TurnError } from './errors.ts'
import { foresee, type Foreseen, NOTHING_FORESEEN } from './foresee.ts'
import type { FilesNow } from '../execute/files-now.ts'
import type { JudgedTool } from '../execute/judged.ts'

/** What a tool gave back, as the log keeps it and the model reads it. */
export interface ToolAnswer {
  readonly outcome: 'success' | 'error' | 'cancelled'
  readonly text: string
  readonly resources: readonly Resource[]
}

/** A tool that can be called now. */
export interface OpenTool extends Omit<OfferedTool, 'perform'>, JudgedTool {
  readonly config: OfferedTool['config']
  readonly isAllowed: boolean
  /** What is known of a call before anybody is asked about it. */
  readonly foresee: (args: unknown, files: FilesNow) => Promise<Foreseen>
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
  /** SPEC 4.9: whether the result may hold what may be secret. */
  readonly secrets: 'take' | 'leave out'
  /** What a person said yes to; undefined: nobody was asked. */
  readonly shown: readonly ShownPath[] | undefined
}

/** `--tool` and `--no-tool`, by the names that tools have at the beginning. */
export interface ToolNames {
  /** Only these; none: all. */
  readonly only: readonly string[]
  readonly without: readonly string[] | 'all'
}

export interface ToolboxOptions {
  readonly gateway: Gateway
  readonly choice: ToolNames
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
  // All by identity: a name is another tool's when servers come and go (decision 0381).
  readonly #allowed = new Set<string>()
  readonly #only = new Set<string>()
  readonly #without = new Set<string>()
  #readOnly = new Set<string>()
  /** What the model knows by each name; undefined before it was told. */
  #offered: ReadonlyMap<string, string> | undefined

  constructor(options: ToolboxOptions, offering = openOffering(options.gateway)) {
    this.#options = options
    this.#offering = offering
  }

  /** In the words of the provider. Servers that are slow to start are waited for. */
  async offered(): Promise<LanguageModelV4FunctionTool[]> {
    // A server's tool that is named as one of ours would stand there twice, and be mistaken for it.
    const others = (await (await this.#offering).tools()).filter(({ tool }) => !this.#isOwn(tool.name))
    this.#readOnly = new Set(
      others.flatMap(({ tool: { name, annotations }, source }) =>
        annotations?.readOnlyHint === true ? [identityOf({ name, source })] : [],
      ),
    )
    const wanted = [
      ...others.map(({ tool, source }) => ({ tool: functionTool(tool), source })),
      ...this.#builtIns().map((tool) => ({ tool, source: 'builtin' })),
    ].filter(({ tool: { name }, source }) => this.#isWanted({ name, source }))
    this.#offered = new Map(
      wanted.map(({ tool: { name }, source }) => [name, identityOf({ name, source })] as const),
    )
    return wanted.map(({ tool }) => tool)
  }

  /** `--tool` and `--no-tool` name tools that are there, or could be: a mistake would take all of them away, or none. */
  async settleChoice(): Promise<void> {
    const { only, without } = this.#options.choice
    const names = namedIn(this.#options.choice)
    if (names.length === 0) return
    const known = new Map<string, string>()
    for (const name of Object.keys(BUILT_IN)) known.set(name, identityOf({ name, source: 'builtin' }))
    for (const [name, { source }] of Object.entries(this.#options.gateway.config.conversation.tools))
      known.set(name, identityOf({ name, source: configuredSource(name, source) }))
    for (const { tool, source } of await (await this.#offering).tools())
      if (!this.#isOwn(tool.name)) known.set(tool.name, identityOf({ name: tool.name, source }))
    known.delete('*')
    for (const name of names) {
      const identity = known.get(name)
      if (identity === undefined) throw unknownTool(name, [...known.keys()].toSorted())
      if (only.includes(name)) this.#only.add(identity)
      if (without.includes(name)) this.#without.add(identity)
    }
  }

  /** Undefined: there is no such tool, or it is not offered here. */
  async find(name: string): Promise<OpenTool | undefined> {
    const tool = await this.#find(name)
    if (!tool || !this.#isWanted(tool)) return undefined
    // Called is what was offered: the name may be another's by now.
    return !this.#offered || this.#offered.get(name) === identityOf(tool) ? tool : undefined
  }

  async #find(name: string): Promise<OpenTool | undefined> {
    const { gateway } = this.#options
    if (isBuiltIn(name) && this.#isOwn(name)) {
      const config = configured(gateway, name)
      return config?.enable
        ? {
            name,
            source: 'builtin',
            config,
            isAllowed: this.#allowed.has(identityOf({ name, source: 'builtin' })),
            // The other two read nothing.
            secretIn: (args) =>
              name === 'refresh_resource'
                ? gateway.secrets.forCall().namedIn(name, args, 'others')
                : undefined,
            pathsIn: () => undefined,
            filesNow: gateway.leading(name, false).filesNow,
            foresee: (args, files) =>
              this.#foresee({ name, shipped: false, parameters: BUILT_IN[name].parameters }, args, files),
            shownPaths: () => [],
            placesOf: () => undefined,
            secretAmong: () => undefined,
            order: name === 'ask_user' ? 'alone' : 'free',
            run: (args, how) => this.#runBuiltIn(name, args, how),
          }
        : undefined
    }
    const tool = await (await this.#offering).find(name)
    if (!tool) return undefined
    let secrets: CallSecrets | undefined
    const isShipped = tool.source === 'local' && gateway.localTools.get(name)?.shipped === true
    const { isHeld, ...leading } = gateway.leading(name, isShipped)
    const changesNothing = isShipped ? READERS.has(name) : this.#readOnly.has(identityOf(tool))
    return {
      name,
      source: tool.source,
      config: tool.config,
      isAllowed: this.#allowed.has(identityOf(tool)),
      secretIn: (args) => {
        secrets = gateway.secrets.forCall() // what was looked up for one question is not true for the next
        return secrets.namedIn(name, args, isShipped ? 'ours' : 'others')
      },
      pathsIn: (args) => gateway.pathsIn(name, args),
      ...leading,
      foresee: async (args, files) => {
        const local = tool.source === 'local' ? gateway.localTools.get(name) : undefined
        return local ? this.#foreseeLocal(local, args, files) : NOTHING_FORESEEN
      },
      secretAmong: (paths) => (secrets ?? gateway.secrets.forCall()).among(paths),
      order: changesNothing ? 'free' : 'alone',
      ...(tool.describe ? { describe: tool.describe } : {}),
      run: async (args, { signal, inquired, keeps, secrets: wanted, shown }) => {
        const { remembered } = this.#options
        const respondent = this.#respondent(inquired, keeps)
        const leaveOut = wanted === 'take' ? undefined : (secrets ?? gateway.secrets.forCall())
        const how = { signal, respondent, remembered, leaveOut, ...(isHeld ? { shown } : {}) }
        const result = await tool.perform({ arguments: args, ...how })
        return this.#answer(name, result, signal)
      },
    }
  }

  /** A person said that it need not be asked about any more. */
  allow(tool: Pick<OpenTool, 'name' | 'source'>): void {
    this.#allowed.add(identityOf(tool))
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

  /** What a person took away stays away under every name; what they alone wanted is that one tool. */
  #isWanted(tool: Pick<OpenTool, 'name' | 'source'>): boolean {
    const { only, without } = this.#options.choice
    const identity = identityOf(tool)
    if (without === 'all' || this.#without.has(identity)) return false
    // A server that comes later may have one of the same name, which is called otherwise then.
    if (
      [tool.name, serverOf(tool.source)?.remote].some((name) => name !== undefined && without.includes(name))
    )
      return false
    return only.length === 0 || this.#only.has(identity)
  }

  #foresee(tool: Parameters<typeof foresee>[0], args: unknown, files: FilesNow): Promise<Foreseen> {
    const { gateway } = this.#options
    const policy = gateway.policyOf('tool', tool.name)
    return foresee(tool, args, { root: gateway.options.project.root.path, policy, files })
  }

  /** Whose a mount is that the call names is told as it is after a call that failed. */
  async #foreseeLocal(tool: LocalTool, args: unknown, files: FilesNow): Promise<Foreseen> {
    const foreseen = await this.#foresee(tool, args, files)
    if (foreseen.refusal === undefined) return foreseen
    const { project, compiler, surroundings, audience } = this.#options.gateway.options
    const { adviceOn } = await import('../execute/advice.ts')
    const { refusal, notes, forPerson } = await adviceOn({
      tool,
      arguments: args,
      policy: this.#options.gateway.policyOf('tool', tool.name),
      outcome: { end: undefined, guesses: [] },
      denied: foreseen.denied,
      project,
      compiler,
      env: surroundings.env,
    })
    for (const told of forPerson) audience.warn(`tool ${tool.name}: ${toldText(told)}`)
    return { ...foreseen, refusal: [refusal ?? foreseen.refusal, ...notes].join('\n') }
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
    // Each once: a model that asks for one a thousand times gets it once.
    const wanted = new Set(names ?? gateway.localTools.keys())
    return [...wanted]
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
export const namesIn = ({ conversation }: Config): string[] => {
  const all = new Set([...Object.keys(conversation.tools), ...Object.keys(BUILT_IN)])
  all.delete('*')
  return [...all]
}

export function requireTools(choice: ToolNames, known: readonly string[]): void {
  for (const name of namedIn(choice)) if (!known.includes(name)) throw unknownTool(name, known.toSorted())
}

const namedIn = ({ only, without }: ToolNames): string[] => [...only, ...(without === 'all' ? [] : without)]

const configured = ({ config }: Gateway, name: string): ToolConfig | undefined =>
  Object.hasOwn(config.conversation.tools, name) ? config.conversation.tools[name] : undefined

const configuredSource = (name: string, source: ToolConfig['source']): string =>
  source.kind === 'mcp' ? sourceOf(source.server, source.tool ?? name) : source.kind

function unknownTool(name: string, known: readonly string[]): TurnError {
  const meant = suggest(name, known)
  const hint = meant === undefined ? `there are: ${known.join(', ')}` : `did you mean ${meant}?`
  return new TurnError(`no tool is named ${show(name)}; ${hint}`)
}

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
