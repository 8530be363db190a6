/**
 * The least that a read through two processes can be: an MCP server that signs what it is asked for, and a server that
 * verifies it once and reads the file. No token, no chain, no policy, no audit, nothing anchored. For `provider.ts` (decision 0425).
 */
import { fork } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, type JsonWebKey, sign, verify } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

async function serveSigned(jwk: JsonWebKey): Promise<void> {
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const server = createServer((asked, answer) => {
    const { path = '', signature = '' } = asked.headers as Record<string, string>
    if (!verify(null, Buffer.from(path), key, Buffer.from(signature, 'base64url'))) throw new Error('forged')
    const bytes = readFileSync(path)
    answer.writeHead(200, { 'content-length': bytes.length }).end(bytes)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send!((server.address() as AddressInfo).port)
}

async function serveTool(): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(publicKey.export({ format: 'jwk' }))], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [port] = (await once(child, 'message')) as [number]
  const read = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const signature = sign(null, Buffer.from(path), privateKey).toString('base64url')
      const headers = ['Host', '127.0.0.1', 'Path', path, 'Signature', signature, 'Content-Length', '0']
      const sent = request({ host: '127.0.0.1', port, method: 'POST', headers }, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        answer.on('end', () => resolve(text)).on('error', reject)
      })
      sent.on('error', reject).end()
    })
  const server = new Server({ name: 'signed-read', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/call', async ({ params }) => ({
    content: [{ type: 'text', text: await read((params.arguments as { path: string }).path) }],
  }))
  await server.connect(new StdioServerTransport())
}

const [key] = process.argv.slice(2)
if (process.send) process.once('disconnect', () => process.exit())
if (key === undefined) await serveTool()
else await serveSigned(JSON.parse(key) as JsonWebKey)
