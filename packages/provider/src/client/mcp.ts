import { isUtf8 } from 'node:buffer'
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from '@hono/zod-openapi'
import { COMMANDS, type Command, toolNameOf } from '../commands.ts'
import { ARGS, type ArgsOf } from '../operations/args.ts'
import { type ProviderClient, ProviderRefusal } from './client.ts'
import { bytesOf } from './post.ts'

/** A model is given so much of a file at once; the rest is there by `start` and `length`. */
const MOST_READ_BYTES = 1024 * 1024

interface ToolResult {
  [key: string]: unknown
  content: { type: 'text'; text: string }[]
  isError?: boolean
}

/** SPEC 7.2 as MCP tools: this process holds the agent's key and signs; the model sees paths and contents only. */
function makeMcpServer(client: ProviderClient, version: string): McpServer {
  const instructions = `Paths are absolute. What was delegated when this started: ${client.held()}. What needs a person is refused with the address where one can approve it; ask for exactly the same again then.`
  const server = new McpServer({ name: 'cordon-provider', version }, { instructions })
  for (const command of COMMANDS) {
    const config = { description: SUMMARIES[command], inputSchema: toolArgs(command) }
    server.registerTool(toolNameOf(command), config, async (args) => {
      try {
        return await callTool(client, command, args as ToolArgs)
      } catch (error) {
        if (!(error instanceof ProviderRefusal)) throw error
        return { content: text(`${error.code}: ${error.message}`), isError: true }
      }
    })
  }
  return server
}

export async function serveMcp(client: ProviderClient, version: string): Promise<void> {
  await makeMcpServer(client, version).connect(new StdioServerTransport())
}

interface Content {
  readonly content?: string | undefined
  readonly content_base64?: string | undefined
}

interface ToolArgs extends Content, Record<string, unknown> {
  readonly path: string
}

/** A model sends the content itself; its hash and size are made here. */
function toolArgs(command: Command): z.ZodObject {
  if (command !== '/filesystem/file/write' && command !== '/filesystem/file/create') return ARGS[command]
  const signed: z.ZodObject = ARGS[command]
  return signed.omit({ sha256: true, size: true }).extend({
    content: z.string().optional().describe('as text'),
    content_base64: z.base64().optional().describe('as bytes'),
  })
}

async function callTool(client: ProviderClient, command: Command, args: ToolArgs): Promise<ToolResult> {
  if (command === '/filesystem/file/read') return readTool(client, args)
  if (command === '/filesystem/file/write' || command === '/filesystem/file/create') {
    const { content, content_base64, ...signed } = args
    return json(await client.store(command, signed, contentOf({ content, content_base64 })))
  }
  return json(await client.call(command, args))
}

/** Exactly one of them: a model that forgot it does not mean to empty the file. */
function contentOf({ content, content_base64 }: Content): string | Uint8Array {
  if (content !== undefined && content_base64 === undefined) return content
  if (content === undefined && content_base64 !== undefined) return Buffer.from(content_base64, 'base64')
  throw new ProviderRefusal('args_invalid', 0, 'give content or content_base64, and not both')
}

async function readTool(client: ProviderClient, args: ArgsOf<'/filesystem/file/read'>): Promise<ToolResult> {
  const { path, ...options } = args
  const { start = 0, length: wanted = Number.MAX_SAFE_INTEGER } = options
  const length = Math.min(wanted, MOST_READ_BYTES)
  const { stream, size } = await client.read(path, { ...options, length })
  const read = await bytesOf(stream)
  const isCut = wanted > length && start + read.length < size
  const bytes = isCut ? wholeCharacters(read) : read
  const content = isUtf8(bytes)
    ? text(bytes.toString('utf8'))
    : text(JSON.stringify({ content_base64: bytes.toString('base64') }))
  if (!isCut) return { content }
  // In a part of its own: the first is the content and nothing else.
  const end = start + bytes.length
  return { content: [...content, ...text(`bytes ${start} to ${end} of ${size}; go on with start: ${end}`)] }
}

/** Without the first bytes of a character whose last ones were not read. */
function wholeCharacters(bytes: Buffer): Buffer {
  let end = bytes.length
  while (end > 0 && bytes.length - end < 3 && (bytes[end - 1]! & 0xc0) === 0x80) end--
  const lead = end > 0 ? bytes[end - 1]! : 0
  const needs = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return bytes.length - (end - 1) < needs ? bytes.subarray(0, end - 1) : bytes
}

const json = (value: unknown): ToolResult => ({ content: text(JSON.stringify(value)) })

const text = (value: string): ToolResult['content'] => [{ type: 'text', text: value }]

const SUMMARIES: Readonly<Record<Command, string>> = {
  '/filesystem/file/read': 'Read a file, whole or from start for length bytes (1 MiB at most at once).',
  '/filesystem/file/write': 'Make a file or replace it whole.',
  '/filesystem/file/create': 'Make a file; fails if it exists.',
  '/filesystem/file/delete': 'Delete a file; of a link, the link.',
  '/filesystem/file/move': 'Move a file.',
  '/filesystem/file/copy': 'Copy a file.',
  '/filesystem/file/edit': 'Replace pieces of a text, all or none; shows the diff.',
  '/filesystem/file/stat': 'Say what is at a path.',
  '/filesystem/file/search': 'Find a text in a file or in all files of a directory.',
  '/filesystem/dir/list': 'List a directory.',
  '/filesystem/dir/tree': 'List everything below a directory.',
  '/filesystem/dir/create': 'Make a directory.',
  '/filesystem/dir/delete': 'Delete an empty directory.',
  '/filesystem/dir/delete_recursive': 'Delete a directory with everything in it; try dry_run first.',
}
