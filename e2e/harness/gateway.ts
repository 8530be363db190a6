import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type CallToolResult, Client, type ClientOptions } from '@modelcontextprotocol/client'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Place, PROGRAM } from './place.ts'
import { processesWith, until } from './waiting.ts'

/** `cordon mcp serve …`, of the person whose place it is. */
export function startServe(
  place: Place,
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): ChildProcess {
  const child = spawn(PROGRAM.node, [PROGRAM.cordon, 'mcp', 'serve', ...args], {
    ...(place.person.uid === undefined ? {} : { uid: place.person.uid, gid: place.person.gid! }),
    cwd: place.root,
    env: place.env(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => undefined)
  return child
}

export const UNATTENDED = '[conversation.tools."*"]\nrun = "unattended"\n'

export const SMALL = readFileSync(join(import.meta.dirname, 'small-server.mjs'), 'utf8')

export const small = (more = '', word = ''): string => `
[providers.mcp.small]
command = ${JSON.stringify(PROGRAM.node)}
arguments = ["small.mjs", ${JSON.stringify(word)}]
${more}
`

/** A workspace with the small server in it, configured and trusted. */
export function smallPlace(more = ''): Place {
  const place = new Place()
  place.write('small.mjs', SMALL)
  place.config(UNATTENDED + small(more, place.dir))
  return place
}

/** The processes of the small server of a place: each is told the place's name. */
export const serversOf = ({ dir }: Place): string[] => processesWith(`small.mjs\0${dir}`)

/** A client of `cordon mcp serve`, as an editor or an agent would be one. */
export class GatewayClient implements AsyncDisposable {
  readonly client: Client
  readonly child: ChildProcess
  readonly #stderr: Buffer[] = []

  private constructor(client: Client, child: ChildProcess) {
    this.client = client
    this.child = child
    child.stderr!.on('data', (chunk: Buffer) => this.#stderr.push(chunk))
  }

  static async open(
    place: Place,
    { args = [], options = {}, prepare, env }: OpenOptions = {},
  ): Promise<GatewayClient> {
    const child = startServe(place, args, env)
    const client = new Client({ name: 'test', version: '1' }, options)
    prepare?.(client)
    const gateway = new GatewayClient(client, child)
    // Messages by line on two streams: the SDK's server side reads and writes them as a client's does.
    await client.connect(new StdioServerTransport(child.stdout!, child.stdin!))
    return gateway
  }

  /** What the person is told. */
  get stderr(): string {
    return Buffer.concat(this.#stderr).toString()
  }

  /** It arrives by a stream of its own, and may be later than the answer that it belongs to. */
  async told(words: string): Promise<void> {
    await until(() => this.stderr.includes(words))
  }

  async names(): Promise<string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name)
  }

  call(name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> {
    const params = { name, arguments: args }
    return this.client.request({ method: 'tools/call', params }, { timeout: 120_000 })
  }

  /** All texts of a result, one after the other. */
  async text(name: string, args: Record<string, unknown> = {}): Promise<string> {
    const { content } = await this.call(name, args)
    return content.map((block) => (block.type === 'text' ? block.text : `(${block.type})`)).join('\n')
  }

  /** As a client ends: its end of the pipe is closed, and the gateway ends by itself. */
  async close(): Promise<number | null> {
    const closed = this.child.exitCode === null ? once(this.child, 'close') : undefined
    await this.client.close()
    this.child.stdin!.end()
    await closed
    return this.child.exitCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

export interface OpenOptions {
  readonly args?: readonly string[]
  readonly options?: ClientOptions
  readonly prepare?: (client: Client) => void
  readonly env?: Readonly<Record<string, string>>
}
