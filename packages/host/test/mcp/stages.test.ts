import { describe, expect, test } from 'vitest'
import { performCall } from '../../src/gateway/call.ts'
import type { GatewaySession } from '../../src/gateway/session.ts'
import { sessionOf } from '../gateway/support.ts'
import { SessionPlace } from '../worker/support.ts'

/** SPEC 5.4: a server that fails at the one step that it is told on its command line, by hand: no SDK is between. */
const SERVER = `
import { existsSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const [, , step] = process.argv
const die = (code) => {
  console.error('the last line of ' + step)
  process.exit(code)
}
const say = (id, answer) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
const text = (words) => ({ result: { content: [{ type: 'text', text: words }] } })
let calls = 0
if (step === 'start') die(3)
for await (const line of createInterface(process.stdin)) {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') {
    if (step === 'initialize' || (step === 'call-then-initialize' && existsSync('called'))) die(4)
    const { protocolVersion } = params
    const serverInfo = { name: 's', version: '1' }
    say(id, { result: { protocolVersion, capabilities: { tools: {}, prompts: {} }, serverInfo } })
  }
  if (method === 'notifications/initialized' && step === 'initialized') die(5)
  if (method === 'tools/list') {
    if (step === 'list') die(6)
    if (step === 'list-refused') say(id, { error: { code: -32603, message: 'no list today' } })
    else if (step !== 'list-never') say(id, { result: { tools: [{ name: 't', inputSchema: { type: 'object' } }] } })
  }
  if (method === 'prompts/list') die(7)
  if (method === 'tools/call') {
    calls++
    if (step === 'call-then-initialize') writeFileSync('called', '')
    if (step.startsWith('call') && step !== 'call-killed') die(8)
    if (step === 'call-killed') process.kill(process.pid, 'SIGKILL')
    if (step === 'idle') setTimeout(() => die(9), 50)
    if (step === 'refused-before' && calls === 1) {
      console.error('connect ECONNREFUSED, said by the first call')
      await fetch('http://refused.example/').catch(() => undefined)
    }
    if (step === 'refused-before' && calls === 2) die(10)
    say(id, text('done'))
  }
}
`

const declared = (step: string, more: string, command: string): string => `
[conversation.tools."*"]
run = "unattended"
[providers.mcp.s]
command = ${JSON.stringify(command)}
arguments = ["s.mjs", "${step}"]
${more}
`

interface Opened extends AsyncDisposable {
  readonly session: GatewaySession
  readonly said: string[]
  readonly call: () => Promise<string>
}

async function open(step: string, more = '', command = process.execPath): Promise<Opened> {
  const where = new SessionPlace({ '.cordon/config.toml': declared(step, more, command), 's.mjs': SERVER })
  const said: string[] = []
  const session = await sessionOf(where, (text) => said.push(text))
  await session.start()
  return {
    session,
    said,
    async call() {
      const route = await session.route('t')
      if (!route) expect.unreachable()
      const { content } = await performCall(route, session, { arguments: {} } as never)
      return content.map((block) => ('text' in block ? block.text : '')).join('\n')
    },
    async [Symbol.asyncDispose]() {
      await session.close()
      await where[Symbol.asyncDispose]()
    },
  }
}

const LIKELY = '  what the sandbox withholds is the likely cause\n'
const lastLine = (step: string): string => `\n  it had said:\n    the last line of ${step}`
const FIX = '\n  fix: `cordon mcp doctor s` finds out what it needs'

describe('SPEC 5.4: how far a server came is said, with its last lines', () => {
  test.each([
    ['start', 'ended with exit code 3 before it was initialised', 'likely'],
    ['initialize', 'ended with exit code 4 before it was initialised', 'likely'],
    ['initialized', 'ended with exit code 5 while it was asked for its tools', 'unknown'],
    ['list', 'ended with exit code 6 while it was asked for its tools', 'unknown'],
  ])('%s', async (step, what, cause) => {
    for (const more of ['', 'stateful = false']) {
      await using opened = await open(step, more)
      const ours = cause === 'likely' ? `${what}\n${LIKELY.trimEnd()}` : what
      expect(opened.said).toEqual([`MCP server s ${ours}${lastLine(step)}${cause === 'likely' ? FIX : ''}`])
    }
  })

  test('a program that is not there', async () => {
    await using opened = await open('none', '', '/nowhere/s')
    expect(opened.said).toEqual([
      `MCP server s could not be started: cannot start /nowhere/s: it does not exist${FIX}`,
    ])
  })

  test('a list that is refused, or never comes', async () => {
    await using refused = await open('list-refused')
    expect(refused.said).toEqual(['MCP server s could not list its tools: no list today'])
    await using never = await open('list-never', 'startup_timeout_secs = 1')
    expect(never.said).toEqual(['MCP server s did not list its tools within 1 s (startup_timeout_secs)'])
  })

  test.each([
    ['call', 'ended with exit code 8'],
    ['call-killed', 'was ended by SIGKILL'],
  ])('%s', async (step, how) => {
    for (const more of ['', 'stateful = false']) {
      await using opened = await open(step, more)
      expect(await opened.call()).toBe(`MCP server s ${how} during a call of t`)
      expect(opened.said).toEqual([
        `MCP server s ${how} during a call of t${step === 'call' ? lastLine(step) : ''}`,
      ])
    }
  })

  test('when it is asked for anything else', async () => {
    await using opened = await open('prompts')
    const [server] = await opened.session.serversWith('prompts')
    await expect(server!.ask((client) => client.listPrompts())).rejects.toThrow(
      `MCP server s ended with exit code 7 after it was initialised${lastLine('prompts')}`,
    )
  })

  test('when nothing was asked of it: at the next call, which starts it again', async () => {
    await using opened = await open('idle')
    expect(await opened.call()).toBe('done')
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(await opened.call()).toBe('done')
    expect(opened.said).toEqual([
      `MCP server s ended with exit code 9 while nothing was asked of it; it is started again, and what it knew is lost${lastLine('idle')}`,
    ])
  })

  test('when it is given up, where it failed is still said; also of one that never came so far', async () => {
    await using opened = await open('call')
    for (let i = 0; i < 5; i++) await opened.call()
    expect(await opened.call()).toBe(
      'MCP server s ended with exit code 8 during a call of t: it was started 5 times, and is not tried again in this session',
    )
    await using never = await open('call-then-initialize')
    for (let i = 0; i < 5; i++) await never.call()
    expect(await never.call()).toBe(
      `MCP server s ended with exit code 4 before it was initialised: it was started 5 times, and is not tried again in this session\n${LIKELY.trimEnd()}`,
    )
  })
})

test('SPEC 5.4: what was refused in an earlier call, or said then, is not why a server died in this one', async () => {
  await using opened = await open('refused-before')
  expect(await opened.call()).toContain('refused: refused.example')
  const before = opened.said.length
  expect(await opened.call()).toBe('MCP server s ended with exit code 10 during a call of t')
  expect(opened.said.slice(before)).toEqual([
    'MCP server s ended with exit code 10 during a call of t\n  it had said:\n    connect ECONNREFUSED, said by the first call\n    the last line of refused-before',
  ])
})
