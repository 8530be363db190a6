import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type HttpGateway, serveHttp } from '../../src/gateway/http.ts'
import { SessionPlace } from '../worker/support.ts'
import { gatewayOf } from './support.ts'

// Time passes when a test says so, and no faster or slower on a busy machine.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const TOKEN = 'token'
const IDLE_MS = 1000

const served = async (where: SessionPlace, idleMs = 600_000): Promise<HttpGateway> =>
  serveHttp(await gatewayOf(where), { port: 0, token: TOKEN, idleMs })

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}

function send(url: string, method: string, params: object, session?: string): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { ...headersOf(session), 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
}

const headersOf = (session?: string): Record<string, string> => ({
  Authorization: `Bearer ${TOKEN}`,
  Accept: 'application/json, text/event-stream',
  ...(session === undefined ? {} : { 'Mcp-Session-Id': session }),
})

/** A session that has been opened, and its answer read to the end. */
async function opened(url: string): Promise<string> {
  const response = await send(url, 'initialize', INITIALIZE)
  await response.text()
  return response.headers.get('mcp-session-id') ?? expect.unreachable()
}

/** To ask for it is a sign of life, so it is asked for once each time that it could have been forgotten. */
async function untilForgotten(url: string, session: string): Promise<void> {
  do await vi.advanceTimersByTimeAsync(IDLE_MS)
  while ((await send(url, 'ping', {}, session)).status !== 404)
}

test('SPEC 5.5: a client of which nothing was heard is gone; one that listens is not', async () => {
  await using where = new SessionPlace({})
  const { url, close } = await served(where, IDLE_MS)
  const listening = await opened(url)
  const stream = await fetch(url, { headers: headersOf(listening) })
  expect(stream.status).toBe(200)
  await (await send(url, 'ping', {}, listening)).text()
  await untilForgotten(url, await opened(url))
  expect((await send(url, 'ping', {}, listening)).status).toBe(200)
  await stream.body?.cancel()
  await untilForgotten(url, listening)
  await close()
})

test('SPEC 5.5: no more than sixteen clients at once', async () => {
  await using where = new SessionPlace({})
  const { url, close } = await served(where)
  const all = await Promise.all(Array.from({ length: 20 }, () => send(url, 'initialize', INITIALIZE)))
  const counts = Object.entries(Object.groupBy(all, ({ status }) => status)).map(([status, responses]) => [
    status,
    responses?.length,
  ])
  expect(counts).toEqual([
    ['200', 16],
    ['503', 4],
  ])
  await close()
})

test('SPEC 5.5: a client of which nothing was heard for a while makes room for another', async () => {
  await using where = new SessionPlace({})
  const { url, close } = await served(where)
  const sessions: string[] = []
  for (let i = 0; i < 16; i++) sessions.push(await opened(url))
  expect((await send(url, 'initialize', INITIALIZE)).status).toBe(503)
  // Its answers are read, but that they are closed is noticed a moment later.
  let status = 503
  while (status === 503) {
    await vi.advanceTimersByTimeAsync(60_000)
    status = (await send(url, 'initialize', INITIALIZE)).status
  }
  expect(status).toBe(200)
  const gone = await Promise.all(sessions.map((id) => send(url, 'ping', {}, id)))
  expect(gone.filter((answer) => answer.status === 404)).toHaveLength(1)
  await close()
})

test('SPEC 5.5: a first message that is refused leaves no session', async () => {
  await using where = new SessionPlace({})
  const { url, close } = await served(where)
  const statuses = []
  for (let i = 0; i < 20; i++) {
    // Nothing is said of what the client takes.
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE })
    statuses.push((await fetch(url, { method: 'POST', headers, body })).status)
  }
  expect(statuses).toEqual(Array.from({ length: 20 }, () => 406))
  expect((await send(url, 'initialize', INITIALIZE)).status).toBe(200)
  await close()
})
