// The official conformance suite against the gateway as a server: `npm run conformance`. Fetches the suite, so it is no part
// of the tests. The suite knows no token: a front on another port adds it, and passes everything else on as it came.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12'
const HERE = import.meta.dirname
const CORDON = join(HERE, '../../packages/cli/bin/cordon.cjs')

const home = mkdtempSync(join(tmpdir(), 'cordon-conformance-'))
const workspace = join(home, 'w')
mkdirSync(join(home, '.config/cordon'), { recursive: true })
mkdirSync(workspace)
writeFileSync(
  join(home, '.config/cordon/config.toml'),
  `[conversation.tools."*"]
run = "unattended"
[providers.mcp.conformance]
command = ${JSON.stringify(process.execPath)}
arguments = [${JSON.stringify(join(HERE, 'server.mjs'))}]
`,
)
const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: '', XDG_DATA_HOME: '' }
const gateway = spawn(process.execPath, [CORDON, 'mcp', 'serve', '--http', '--port', '0'], {
  cwd: workspace,
  env,
  stdio: ['ignore', 'inherit', 'pipe'],
})
let said = ''
gateway.stderr.setEncoding('utf8').on('data', (text: string) => {
  said += text
  process.stderr.write(text.replace(/Bearer \w+/, 'Bearer …'))
})
while (!/Bearer \w+/.test(said)) await once(gateway.stderr, 'data')
const target = new URL(/http:\S+/.exec(said)![0])
const authorization = /Bearer \w+/.exec(said)![0]

const front = createServer((incoming, outgoing) => {
  const headers = { ...incoming.headers, authorization }
  const passed = request(
    {
      host: target.hostname,
      port: target.port,
      path: incoming.url,
      method: incoming.method,
      headers,
      setHost: false,
    },
    (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    },
  )
  passed.on('error', () => outgoing.destroy())
  outgoing.on('close', () => passed.destroy())
  incoming.pipe(passed)
}).listen(0, '127.0.0.1')
await once(front, 'listening')
const url = `http://localhost:${(front.address() as AddressInfo).port}${target.pathname}`

const words = process.argv.slice(2)
const suite = process.env['CONFORMANCE_SUITE']
const command = suite === undefined ? ['npx', '--yes', SUITE] : [process.execPath, suite]
const run = spawn(
  command[0]!,
  [...command.slice(1), 'server', '--url', url, '--spec-version', '2025-11-25', ...words],
  {
    stdio: 'inherit',
  },
)
const [code] = (await once(run, 'close')) as [number | null]
front.close()
front.closeAllConnections()
gateway.kill('SIGTERM')
process.exitCode = code ?? 1
