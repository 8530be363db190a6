/** The least that a gateway on the SDK can be: one server, one client, and a call that is handed on. For `mcp.ts`. */
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

const client = new Client({ name: 'pass-through', version: '1' })
await client.connect(
  new StdioClientTransport({ command: process.execPath, args: process.argv.slice(2), stderr: 'ignore' }),
)
const server = new Server({ name: 'pass-through', version: '1' }, { capabilities: { tools: {} } })
server.setRequestHandler('tools/call', ({ params }) => client.request({ method: 'tools/call', params }))
// oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way
server.onclose = () => void client.close()
await server.connect(new StdioServerTransport())
