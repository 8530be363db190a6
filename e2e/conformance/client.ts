// The suite starts this with the URL of its server: `npm run conformance:client`. The gateway's client talks to it, through
// a confined process and the filtering proxy, and calls what it offers.
import { mkdtempSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const url = new URL(process.argv.at(-1)!)
const home = mkdtempSync(join(tmpdir(), 'cordon-conformance-'))
mkdirSync(join(home, '.config/cordon'), { recursive: true })
mkdirSync(join(home, 'w'))
writeFileSync(
  join(home, '.config/cordon/config.toml'),
  `[conversation.tools."*"]
run = "unattended"
[providers.mcp.suite]
command = ${JSON.stringify(process.execPath)}
arguments = [${JSON.stringify(join(import.meta.dirname, 'bridge.mjs'))}, ${JSON.stringify(url.href)}]
[[providers.mcp.suite.access.net]]
host = ${JSON.stringify(url.hostname)}
port = ${url.port}
allow = true
[[providers.mcp.suite.access.env]]
name = "NODE_USE_ENV_PROXY"
read = true
`,
)
const client = new Client({ name: 'conformance', version: '1' })
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [join(import.meta.dirname, '../../packages/cli/bin/cordon.cjs'), 'mcp', 'serve', '--server', 'suite'],
  env: { PATH: process.env['PATH'] ?? '', HOME: home, NODE_USE_ENV_PROXY: '1' },
  cwd: join(home, 'w'),
  stderr: 'pipe',
})
const said: Buffer[] = []
transport.stderr?.on('data', (chunk: Buffer) => said.push(chunk))
await client.connect(transport)
const { tools } = await client.listTools()
for (const { name } of tools)
  console.log(name, JSON.stringify(await client.callTool({ name, arguments: { a: 5, b: 3 } })))
await client.close()
// The suite counts what reached it, and nothing is no failure.
if (said.length > 0) throw new Error(Buffer.concat(said).toString())
