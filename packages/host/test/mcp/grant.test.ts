import { expect, test } from 'vitest'
import type { ProxyDecision } from '@cordon/sandbox'
import { notesOf } from '../../src/mcp/diagnosis.ts'
import { parseQuestion, type Question } from '../../src/why/question.ts'
import { gatewayOf } from '../gateway/support.ts'
import { SessionPlace } from '../worker/support.ts'

const CONFIG = `
[providers.mcp.web]
command = "true"
[[providers.mcp.web.access.net]]
host = "evil.example"
allow = false
[[providers.mcp.web.access.fs]]
path = "public"
read = true

[providers.mcp.fresh]
command = "true"
stateful = false
[conversation.tools.fetch]
source = "mcp.fresh.get"

[conversation.tools.web]
source = "local"
command = ["true"]

[providers.mcp.plain]
command = "true"
`

test('SPEC 5.4: what would allow it, where the access is declared, and no place where secrets live', async () => {
  await using where = new SessionPlace({
    '.cordon/config.toml': CONFIG,
    'notes/a.txt': 'a',
    'notes/.env': 'TOKEN=x',
  })
  const gateway = await gatewayOf(where)
  const server = (name: string, capability: string, target: string): string | undefined =>
    gateway.grantCommand(parseQuestion(capability, target), { kind: 'server', name })
  const set = (key: string, value: string): string => `cordon config set --user-workspace ${key} '${value}'`
  expect(server('plain', 'net', 'https://api.example:8443/')).toBe(
    set(
      'providers.mcp.plain.access.net',
      '+{ host = "api.example", scheme = "https", port = 8443, allow = true }',
    ),
  )
  expect(
    gateway.grantCommand(parseQuestion('net', 'https://api.example/'), { kind: 'tool', name: 'fetch' }),
  ).toBe(
    set(
      'conversation.tools.fetch.access.net',
      '+{ host = "api.example", scheme = "https", port = 443, allow = true }',
    ),
  )
  // A tool that nobody configured has no place where access could be declared.
  expect(
    gateway.grantCommand(parseQuestion('net', 'https://api.example/'), { kind: 'tool', name: 'fresh_other' }),
  ).toBeUndefined()
  // A local tool has the same name as the server.
  expect(server('web', 'net', 'https://api.example/')).toBeUndefined()
})

test('SPEC 4.9: what a server prints leads to no command that opens where secrets live', async () => {
  await using where = new SessionPlace({
    '.cordon/config.toml': CONFIG.replace('[conversation.tools.web]', '[conversation.tools.other]'),
    'notes/a.txt': 'a',
    'notes/.env': 'TOKEN=x',
  })
  const gateway = await gatewayOf(where)
  const read = (path: string): string | undefined =>
    gateway.grantCommand(parseQuestion('read', path), { kind: 'server', name: 'web' })
  expect(read('notes/a.txt')).toBe(
    `cordon config set --user-workspace providers.mcp.web.access.fs '+{ path = "notes/a.txt", read = true }'`,
  )
  expect(read('notes/.env')).toBeUndefined()
})

test('SPEC 5.4: a refusal and a hint carry their grant; what a rule refuses on purpose has none', () => {
  const refused = (host: string, wish: boolean): ProxyDecision => ({
    time: 0,
    kind: 'connect',
    host,
    port: 443,
    allowed: false,
    rule: undefined,
    reason: 'because',
    bytesUp: 0,
    bytesDown: 0,
    durationMs: 0,
    ...(wish ? { wish: { host, port: 443 } } : {}),
  })
  const allow = ({ target }: Question): string => `grant ${target}`
  const hint = { about: 'x', text: 'a guess', fix: '--allow-net x', audience: 'anyone' } as const
  expect(
    notesOf(
      { refused: [refused('a.example', true), refused('b.example', false)], hints: [] },
      'model',
      allow,
    ),
  ).toEqual([
    'refused: a.example:443: because\n  to allow it:\n    grant https://a.example:443/',
    'refused: b.example:443: because',
  ])
  const hints = [{ ...hint, question: parseQuestion('net', 'https://x/') }, hint]
  expect(notesOf({ refused: [], hints }, 'model', allow)).toEqual([
    'hint: a guess\n  to allow it:\n    grant https://x/',
  ])
  expect(notesOf({ refused: [], hints }, 'person', allow)).toEqual([
    'hint: a guess\n  to allow it:\n    grant https://x/',
    'hint: a guess',
  ])
})
