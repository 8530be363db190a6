import { request } from 'node:http'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { smallPlace, startServe } from './harness/gateway.ts'
import { until } from './harness/waiting.ts'

describe('SPEC 5.5: streamable HTTP', () => {
  test('serves whoever has the token, from this machine, one session each', async () => {
    const place = smallPlace()
    const child = startServe(place, ['--http', '--port', '0'])
    let said = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (said += text))
    await until(() => /Bearer \w+\n/.test(said))
    const url = /http:\S+/.exec(said)![0]
    const token = /Bearer (\w+)/.exec(said)![1]!
    const connect = async (): Promise<Client> => {
      const client = new Client({ name: 'test', version: '1' })
      const requestInit = { headers: { Authorization: `Bearer ${token}` } }
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
      return client
    }
    const [one, two] = await Promise.all([connect(), connect()])
    const pids = await Promise.all(
      [one, two, one].map(async (client) => {
        const { content } = await client.callTool({ name: 'pid', arguments: {} })
        return JSON.stringify(content).split(' ')[0]
      }),
    )
    expect(pids).toHaveLength(3)
    const post = (headers: Record<string, string>, body = '{}'): Promise<number> =>
      fetch(url, { method: 'POST', headers, body }).then(({ status }) => status)
    const good = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    expect(await post({ 'Content-Type': 'application/json' })).toBe(401)
    expect(await post({ ...good, Authorization: 'Bearer wrong' })).toBe(401)
    expect(await post({ ...good, Origin: 'https://evil.example' })).toBe(403)
    expect(await post({ ...good, 'Mcp-Session-Id': 'another' })).toBe(404)
    expect(await post(good)).toBe(400)
    expect(await rebound(url, token)).toBe(403)
    await one.close()
    await two.close()
    child.kill('SIGTERM')
    await until(() => child.exitCode !== null)
    expect(child.exitCode).toBe(0)
  })
})

test('SPEC 5.5: a session ends with its client, and no request ends the gateway', async () => {
  const place = smallPlace()
  const child = startServe(place, ['--http', '--port', '0'])
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (said += text))
  await until(() => /Bearer \w+\n/.test(said))
  const url = new URL(/http:\S+/.exec(said)![0])
  const token = /Bearer (\w+)/.exec(said)![1]!
  const headers = {
    Authorization: `bearer ${token}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  const open = async (): Promise<{ status: number; id: string }> => {
    const answer = await fetch(url, { method: 'POST', headers, body })
    await answer.text()
    return { status: answer.status, id: answer.headers.get('mcp-session-id') ?? '' }
  }
  expect(await statusOf(url, '//', headers)).toBe(404)
  expect(await statusOf(url, 'http://[/', headers)).toBe(404)
  const { status: first, id: session } = await open()
  expect(first).toBe(200)
  const ask = (id: string, method: string): Promise<number> =>
    fetch(url, {
      method,
      headers: { ...headers, 'Mcp-Session-Id': id },
      ...(method === 'POST' ? { body: '{"jsonrpc":"2.0","id":2,"method":"ping"}' } : {}),
    }).then(({ status }) => status)
  expect(await ask(session, 'DELETE')).toBe(200)
  expect(await ask(session, 'POST')).toBe(404)
  child.kill('SIGTERM')
  await until(() => child.exitCode !== null)
  expect(child.exitCode).toBe(0)
})

/** With a target that `fetch` would put right. */
const statusOf = (url: URL, path: string, headers: Record<string, string>): Promise<number> =>
  new Promise((resolve, reject) => {
    request({ host: url.hostname, port: url.port, path, headers }, ({ statusCode }) =>
      resolve(statusCode ?? 0),
    )
      .on('error', reject)
      .end()
  })

/** As a page of another machine would ask, whose name was made to lead to this one. */
const rebound = (url: string, token: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { Host: 'evil.example', Authorization: `Bearer ${token}` }
    request(url, { method: 'POST', headers }, ({ statusCode }) => resolve(statusCode ?? 0))
      .on('error', reject)
      .end('{}')
  })
