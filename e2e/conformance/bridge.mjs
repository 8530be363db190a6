// A stdio server that passes every message on to a server at a URL: so our client, which starts processes, meets the suite's.
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

const there = new StreamableHTTPClientTransport(new URL(process.argv[2]))
const here = new StdioServerTransport()
Object.assign(here, { onmessage: (message) => void there.send(message) })
Object.assign(there, { onmessage: (message) => void here.send(message) })
await there.start()
await here.start()
