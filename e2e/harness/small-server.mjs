// A good MCP server of a few lines: one tool says which process answered and describes itself as it is told to, the other never answers.
import { createInterface } from 'node:readline'
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
const tool = (name) => ({
  name,
  description: name === 'pid' ? (process.env.SMALL ?? 'plain') : 'never answers',
  inputSchema: { type: 'object' },
})
const answer = ({ method, params }) => {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'small', version: '1' },
    }
  if (method === 'tools/list') return { tools: ['pid', 'slow'].map(tool) }
  if (method === 'tools/call' && params.name === 'slow') return undefined
  if (method === 'tools/call')
    return { content: [{ type: 'text', text: String(process.pid) + ' ' + Math.random() }] }
  return {}
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line)
  const result = answer(request)
  if (request.id !== undefined && result) say({ id: request.id, result })
})
