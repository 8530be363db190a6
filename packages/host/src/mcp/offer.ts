import { SdkError, SdkErrorCode, type ServerCapabilities, type Tool } from '@modelcontextprotocol/client'
import { isDeep } from '@cordon/config'
import { show } from '@cordon/policy'
import { type Connection, milliseconds } from './connection.ts'

/** What a server says it can do. */
export interface Offer {
  readonly capabilities: ServerCapabilities
  readonly tools: readonly Tool[]
  /** Names of tools that nobody can be shown or asked about, in words for people. */
  readonly unusable: readonly string[]
  /** How many more there are of those. */
  readonly omitted: number
}

const MOST_TOOLS = 512
const LARGEST_TOOL = 256 * 1024

/** Asks a server that was initialised. Throws `ServerError` where it does not list its tools. */
export async function askForOffer(connection: Connection, seconds: number): Promise<Offer> {
  const { client } = connection
  const capabilities = client.getServerCapabilities() ?? {}
  if (!capabilities.tools) return { capabilities, tools: [], unusable: [], omitted: 0 }
  const timeout = milliseconds(seconds)
  const listed = client.listTools(undefined, { timeout, cacheMode: 'bypass' })
  const { tools } = await listed.catch((error: unknown) => {
    throw connection.complaint('list', whyNotListed(error, seconds))
  })
  return { capabilities, ...sortTools(tools) }
}

const whyNotListed = (error: unknown, seconds: number): string =>
  SdkError.isInstance(error) && error.code === SdkErrorCode.RequestTimeout
    ? `did not list its tools within ${seconds} s (startup_timeout_secs)`
    : `could not list its tools: ${whyUnreadable(error)}`

/** A message can be nested so deeply that nobody has the stack to look at it (`transport.ts`). */
const whyUnreadable = (error: unknown): string =>
  error instanceof RangeError
    ? 'its answer is nested too deeply'
    : show(error instanceof Error ? error.message : String(error))

/** As other clients accept them: a name in which nothing hides, and nothing looks like something else. */
const NAME = /^[A-Za-z0-9_./-]+$/
const LONGEST_NAME = 128

/** Of a tool or a prompt. */
export const isPlainName = (name: string): boolean => NAME.test(name) && name.length <= LONGEST_NAME

/** Pure. A name with other letters could be taken for another tool's; it is left out rather than changed. */
export function sortTools(all: readonly Tool[]): Omit<Offer, 'capabilities'> {
  const unusable: string[] = []
  const byName = new Map<string, Tool>()
  let omitted = 0
  for (const tool of all) {
    const why = whyUnusable(tool, byName)
    if (why === undefined) byName.set(tool.name, tool)
    else if (unusable.length < MOST_NAMED) unusable.push(`${inAscii(tool.name)} ${why}`)
    else omitted++
  }
  return { tools: [...byName.values()], unusable, omitted }
}

export const MOST_NAMED = 5
const LONGEST_SHOWN = 60

/** A person must see what is odd about a name, also where two letters look the same. */
export const inAscii = (name: string): string =>
  JSON.stringify(name.length > LONGEST_SHOWN ? `${name.slice(0, LONGEST_SHOWN)}…` : name).replaceAll(
    /[^ -~]/gu,
    (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`,
  )

function whyUnusable(tool: Tool, known: ReadonlyMap<string, Tool>): string | undefined {
  if (!isPlainName(tool.name)) return 'is no tool name: letters, digits and _ - . / are'
  if (known.has(tool.name)) return 'is offered twice'
  if (known.size >= MOST_TOOLS) return `is one too many: ${MOST_TOOLS} tools are enough`
  if (isDeep(tool) || JSON.stringify(tool).length > LARGEST_TOOL)
    return 'has a description or schema beyond all measure'
  return undefined
}
