import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { ProxyDecision } from '@cordon/sandbox'
import { notesOf } from '../../src/mcp/diagnosis.ts'
import type { Grantee, Wish } from '../../src/mcp/grant.ts'
import { parseQuestion } from '../../src/why/question.ts'
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
    gateway.grantRecipe({ question: parseQuestion(capability, target) }, { kind: 'server', name })[1]
  const set = (key: string, value: string): string =>
    `    cordon config set --user-workspace ${key} '${value}'`
  expect(server('plain', 'net', 'https://api.example:8443/')).toBe(
    set(
      'providers.mcp.plain.access.net',
      '+{ host = "api.example", scheme = "https", port = 8443, allow = true }',
    ),
  )
  expect(
    gateway.grantRecipe(
      { question: parseQuestion('net', 'https://api.example/') },
      { kind: 'tool', name: 'fetch', of: { server: 'fresh', source: 'mcp.fresh.fetch' } },
    ),
  ).toEqual([
    '  to allow it:',
    set('conversation.tools.fetch.access.net', '+{ host = "api.example", scheme = "https", allow = true }'),
  ])
  // A tool that nobody configured has no place where access could be declared, before it has an entry.
  const unknown = {
    kind: 'tool',
    name: 'fresh_other',
    of: { server: 'fresh', source: 'mcp.fresh.other' },
  } as const
  expect(gateway.grantRecipe({ question: parseQuestion('net', 'https://api.example/') }, unknown)).toEqual([
    '  to allow it, the tool needs an entry of its own first:',
    '    cordon config set --user-workspace conversation.tools.fresh_other.source mcp.fresh.other',
  ])
  expect(gateway.grantRecipe({}, unknown)).toEqual([])
  // A place outside: a link, rules and the approval; to be read only, where that was wanted.
  const outside = join(where.base, 'elsewhere')
  const place = (wanted: 'read' | 'write', path = outside): readonly string[] =>
    gateway.grantRecipe({ place: { path, wanted } }, { kind: 'server', name: 'plain' })
  expect(place('read').slice(-2)).toEqual([
    `    cordon config set --user-workspace providers.mcp.plain.access.fs '+{ path = "elsewhere", external = true, read = true }'`,
    '    cordon policy compile',
  ])
  expect(place('write').at(-2)).toContain('read = true, write = true }')
  expect(place('read', join(gateway.options.compiler.home, '.ssh/id_rsa'))).toEqual([])
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
    gateway.grantRecipe({ question: parseQuestion('read', path) }, { kind: 'server', name: 'web' })[1]
  expect(read('notes/a.txt')).toBe(
    `    cordon config set --user-workspace providers.mcp.web.access.fs '+{ path = "notes/a.txt", read = true }'`,
  )
  expect(read('notes/.env')).toBeUndefined()
})

test('SPEC 4.10: what a server prints leads to no command that lifts the guard, by no name of the path', async () => {
  await using where = new SessionPlace({
    '.cordon/config.toml': CONFIG.replace('[conversation.tools.web]', '[conversation.tools.other]'),
    '.git/HEAD': 'ref: refs/heads/main',
    '.git/objects/x': '',
    '.git/refs/x': '',
    '.git/hooks/x': '',
    '.vscode/tasks.json': '{}',
    'notes/a.txt': 'a',
  })
  symlinkSync('../.git/hooks', join(where.root, 'notes/link'))
  const gateway = await gatewayOf(where)
  const told = (capability: string, target: string): [string, string] => {
    const question = parseQuestion(capability, target)
    const hint = { about: target, text: 'a guess', fix: '--write', question, audience: 'anyone' } as const
    const diagnosis = {
      refused: [],
      unreached: [],
      hints: [gateway.withoutForbidden(hint, { kind: 'server', name: 'web' })],
    }
    const [note] = notesOf(diagnosis, 'model', (wish) =>
      gateway.grantRecipe(wish, { kind: 'server', name: 'web' }),
    )
    const lines = gateway.grantRecipe({ question }, { kind: 'server', name: 'web' })
    return [note!, lines.join('\n')]
  }
  for (const path of ['.git/hooks/pre-commit', '.git/config', '.envrc', '.vscode/tasks.json', 'notes/link/x'])
    for (const capability of ['create', 'update', 'delete'])
      expect(told(capability, path)).toEqual([
        `hint: ${path} is guarded: the host obeys it, or runs it by itself later`,
        '',
      ])
  const command = (path: string, grant: string): string =>
    `  to allow it:\n    cordon config set --user-workspace providers.mcp.web.access.fs '+{ path = "${path}", ${grant} = true }'`
  expect(told('read', '.vscode/tasks.json')[1]).toBe(command('.vscode/tasks.json', 'read'))
  expect(told('create', 'notes/new.txt')[0]).toBe(`hint: a guess\n${command('notes', 'create')}`)
})

test('SPEC 4.10: nor outside the workspace: shell start-up files, hooks of another repository', async () => {
  await using where = new SessionPlace({ '.cordon/config.toml': CONFIG })
  const make = (path: string): string => {
    mkdirSync(dirname(join(where.home, path)), { recursive: true })
    writeFileSync(join(where.home, path), '')
    return join(where.home, path)
  }
  for (const path of ['repo/.git/HEAD', 'repo/.git/objects/x', 'repo/.git/refs/x']) make(path)
  const gateway = await gatewayOf(where)
  const told = (path: string, wanted: 'read' | 'write'): [string, number] => {
    const place = { path, wanted }
    const hint = { about: path, text: 'a guess', fix: '--write', place, audience: 'person' } as const
    const lines = gateway.grantRecipe({ place }, { kind: 'server', name: 'plain' })
    return [gateway.withoutForbidden(hint, { kind: 'server', name: 'plain' }).text, lines.length]
  }
  for (const path of ['.bashrc', 'repo/.git/hooks/pre-commit', 'repo/.vscode/tasks.json'].map(make)) {
    expect(told(path, 'write')).toEqual([
      `${path} is guarded: the host obeys it, or runs it by itself later`,
      0,
    ])
    expect(told(path, 'read')[0]).toBe('a guess')
  }
  expect(told(make('repo/notes.txt'), 'write')).toEqual(['a guess', expect.any(Number)])
  expect(told(make('repo/notes.txt'), 'write')[1]).toBeGreaterThan(0)
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
  const allow = ({ question }: Wish): readonly string[] =>
    question ? ['  to allow it:', `    grant ${question.target}`] : []
  const hint = { about: 'x', text: 'a guess', fix: '--allow-net x', audience: 'anyone' } as const
  expect(
    notesOf(
      { refused: [refused('a.example', true), refused('b.example', false)], unreached: [], hints: [] },
      'model',
      allow,
    ),
  ).toEqual([
    'refused: a.example:443: because\n  to allow it:\n    grant https://a.example:443/',
    'refused: b.example:443: because',
  ])
  const hints = [{ ...hint, question: parseQuestion('net', 'https://x/') }, hint]
  expect(notesOf({ refused: [], unreached: [], hints }, 'model', allow)).toEqual([
    'hint: a guess\n  to allow it:\n    grant https://x/',
  ])
  expect(notesOf({ refused: [], unreached: [], hints }, 'person', allow)).toEqual([
    'hint: a guess\n  to allow it:\n    grant https://x/',
    'hint: a guess',
  ])
  const { wish: _, ...missed } = { ...refused('c.example', true), allowed: true, failed: true as const }
  expect(notesOf({ refused: [], unreached: [missed, missed], hints: [] }, 'model', allow)).toEqual([
    'allowed, but: because',
  ])
})

test('decision 0562: a guess about a host of this machine or its cloud has the reason, and nothing to ask for', async () => {
  await using where = new SessionPlace({ '.cordon/config.toml': CONFIG })
  const gateway = await gatewayOf(where)
  const guess = (target: string, grantee: Grantee) =>
    gateway.withoutForbidden(
      {
        about: 'x',
        text: 'denied',
        fix: '--allow-net x',
        question: parseQuestion('net', target),
        audience: 'anyone',
      },
      grantee,
    )
  const said = (what: string) => ({
    about: 'x',
    text: `denied; that is ${what}: for who means it, \`cordon why\` has the edit`,
    fix: undefined,
    audience: 'anyone',
  })
  const server = { kind: 'server', name: 'plain' } as const
  expect(guess('http://169.254.169.254/latest', server)).toEqual(said('where a cloud tells its keys'))
  for (const host of ['127.0.0.2:80', '0.0.0.0', '[::ffff:127.0.0.1]', 'a.localhost', 'LOCALHOST', '0x7f.1'])
    expect(guess(`https://${host}/`, server)).toEqual(
      said('this machine itself, whose services take who reaches them for you'),
    )
  expect(guess('https://api.example/', server).fix).toBe('--allow-net x')
  expect(guess('https://localhost/', { kind: 'tool', name: 'web' }).fix).toBe('--allow-net x')
})
