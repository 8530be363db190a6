/**
 * An MCP server whose first call costs what its later ones do: lines of JSON, no schema, no SDK, nothing that is compiled when
 * it is first used. What a spare process takes more with it is not the server's (decision 0502). For `mcp.ts`.
 */
const say = (id: unknown, result: unknown): boolean =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)

interface Request {
  readonly id?: number
  readonly method: string
  readonly params: { readonly protocolVersion: string; readonly arguments: { readonly message: string } }
}

function answer({ id, method, params }: Request): void {
  if (method === 'initialize')
    say(id, {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'plain', version: '1' },
    })
  else if (method === 'tools/list') say(id, { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] })
  else if (method === 'tools/call')
    say(id, { content: [{ type: 'text', text: `Echo: ${params.arguments.message}` }] })
}

let rest = ''
process.stdin.setEncoding('utf8').on('data', (text: string) => {
  const lines = `${rest}${text}`.split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) answer(JSON.parse(line) as Request)
})
