import { chmodSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { CORDON, SECRET, entry, ImportPlace } from './harness/import-place.ts'

let at: ImportPlace
beforeEach(() => {
  at = new ImportPlace()
})

describe('undo after somebody edited', () => {
  const two = '{ "mcpServers": { "a": { "command": "a" }, "b": { "command": "b", "args": ["x"] } } }\n'
  beforeEach(() => {
    at.write(at.own('.cursor/mcp.json'), two)
    expect(at.mcp('import', '--write').code).toBe(0)
  })
  const now = (): string => readFileSync(at.own('.cursor/mcp.json'), 'utf8')
  const edit = (from: string | RegExp, to: string): void =>
    writeFileSync(at.own('.cursor/mcp.json'), now().replace(from, to))

  test("the client's other changes stay", () => {
    edit('{ "mcpServers"', '{ "new": [1], "mcpServers"')
    expect(at.mcp('import', '--undo')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('its changes stay'),
    })
    expect(now()).toBe(two.replace('{ "mcpServers"', '{ "new": [1], "mcpServers"'))
    expect(at.userConfig()).toBe('#:schema ./config.schema.json\n')
  })

  test('an entry that somebody changed is left, and said; what a person changed of ours stays', () => {
    edit('"--server", "a"', '"--server", "a", "--mine"')
    expect(at.mcp('import', '--undo', '.cursor/mcp.json').stderr).toBe('nothing was imported from there\n') // of the workspace
    at.write(
      at.own('.config/cordon/config.toml'),
      at.userConfig().replace('command = "b"', 'command = "b"\noptional = true'),
    )
    const undone = at.mcp('import', '--undo', at.own('.cursor/mcp.json'))
    expect(undone).toMatchObject({
      code: 1,
      stdout:
        '~/.cursor/mcp.json: the client has changed it since; its changes stay, and our entries are as they were\n' +
        '  mcpServers.a was changed by somebody else since, and is left as it is\n' +
        '  b stays configured, because you changed it since; to remove it: cordon mcp rm b\n',
    })
    expect(now()).toContain('"b": { "command": "b", "args": ["x"] }')
    expect(now()).toContain('"--mine"')
    expect(at.mcp('ls').stdout).toMatch(/^a /m)
  })

  test('malformed meanwhile, or gone', () => {
    edit(/\}\n$/, '')
    expect(at.mcp('import', '--undo')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not valid JSON'),
    })
    expect(at.mcp('ls').stdout).toMatch(/^a /m)
  })
})

test('a kill -9 before any of its renames leaves the client as it was or fully changed, and undo works from there', () => {
  const text = '{ "mcpServers": { "a": { "command": "a", "env": { "K": "v" } } } }\n'
  const preload = at.write(
    join(at.dir, 'kill.cjs'),
    `const fs = require('node:fs')
let left = Number(process.env.KILL_BEFORE)
const counted = (real) => function (...args) {
  if (left-- === 0) process.kill(process.pid, 'SIGKILL')
  return real.apply(this, args)
}
fs.renameSync = counted(fs.renameSync)
fs.promises.rename = counted(fs.promises.rename)
`,
  )
  const states = new Set<string>()
  let kills = 0
  for (; kills < 20; kills++) {
    at.write(at.own('.cursor/mcp.json'), text)
    const env = { NODE_OPTIONS: `--require ${preload}`, KILL_BEFORE: String(kills) }
    const { signal } = at.cordon(['mcp', 'import', '--write'], { env })
    const now = readFileSync(at.own('.cursor/mcp.json'), 'utf8')
    expect([
      text,
      text.replace('"command": "a"', `"command": ${JSON.stringify(CORDON)}, ${entry('a')}`),
    ]).toContain(now)
    states.add(
      `${at.userConfig().includes('providers.mcp.a') ? 'ours' : '-'} ${now === text ? '-' : 'theirs'}`,
    )
    expect(at.mcp('import', '--undo').code).toBe(0)
    expect(readFileSync(at.own('.cursor/mcp.json'), 'utf8')).toBe(text)
    expect(readdirSync(at.own('.cursor'))).toEqual(['mcp.json'])
    if (signal === null) break
    expect(at.mcp('rm', 'a').code).toBeTypeOf('number') // what was written before there was a record
  }
  expect(kills).toBeGreaterThanOrEqual(4)
  expect(states).toEqual(new Set(['- -', 'ours -', 'ours theirs']))
})

test('undo keeps the only copy of what it cannot put back, and what doctor wrote breaks nothing', () => {
  at.write(at.own('.claude.json'), '{"mcpServers":{"one":{"command":"one","env":{"A":"b"}}}}', 0o600)
  expect(at.mcp('import', '--write').code).toBe(0)
  expect(
    at.cordon([
      'config',
      'set',
      '--user-workspace',
      'providers.mcp.one.access.env',
      '+{ name = "B", read = true }',
    ]).code,
  ).toBe(0)
  writeFileSync(at.own('.claude.json'), '{}')
  const undone = at.mcp('import', '--undo')
  expect(undone.stdout).toContain('what it was is kept, because not all of it is there any more: ')
  const [copy] = at.copies('.kept')
  expect(readFileSync(join(at.imports(), copy!), 'utf8')).toContain('"command":"one"')
  expect(at.copies('.backup')).toEqual([])
  expect(undone.stdout).toContain('  and what was granted to them was taken out of ~/.local/share/cordon/')
  const after = at.mcp('ls')
  expect([after.code, after.stderr]).toEqual([0, expect.not.stringContaining('error:')])
  expect(at.cordon(['config', 'show']).stdout).not.toContain('providers.mcp.one')
})

test('of copies that nobody needs none stays: of a killed import, a failed one, or of many', () => {
  const servers = (...names: string[]): string =>
    JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, { command: name }])) })
  at.write(at.own('.claude.json'), servers('s0'), 0o600)
  expect(at.mcp('import', '--write').code).toBe(0)
  const first = at.copies('.backup')
  expect(first).toHaveLength(1)
  // As a kill between the copy and its record leaves it, and one in the middle of the copy.
  for (const name of ['0123456789ab.backup', '0123456789ac.backup.tmp'])
    at.write(join(at.imports(), name), SECRET)
  for (let count = 1; count < 8; count++) {
    const all = JSON.parse(readFileSync(at.own('.claude.json'), 'utf8')) as { mcpServers: object }
    writeFileSync(
      at.own('.claude.json'),
      JSON.stringify({ mcpServers: { ...all.mcpServers, [`s${count}`]: { command: `s${count}` } } }),
    )
    expect(at.mcp('import', '--write').code).toBe(0)
    expect(at.copies('.tmp')).toEqual([])
    expect(at.copies('.backup')).toHaveLength(Math.min(count + 1, 5))
  }
  // The first of all is what was there before Cordon.
  expect(readFileSync(join(at.imports(), first[0]!), 'utf8')).toBe(servers('s0'))
  expect(at.mcp('import', '--undo').code).toBe(0)
  expect(readdirSync(at.imports()).toSorted()).toEqual(['imports.json', 'lock'])
})

test('a copy of a file that could not be changed does not stay', () => {
  at.mkdir(at.own('.config'))
  const dir = at.own('.config/Claude')
  at.write(join(dir, 'claude_desktop_config.json'), '{"mcpServers":{"one":{"command":"one"}}}', 0o600)
  chmodSync(dir, 0o500)
  const failed = at.mcp('import', '--write', '--for', at.root)
  chmodSync(dir, 0o700)
  expect(failed.code).toBe(1)
  expect(failed.stderr).toContain('cannot write it')
  expect(at.copies('.backup')).toEqual([])
})

describe('tools that were given an entry, as a refused call advises', () => {
  const entryOf = (tool: string): string =>
    `\n[conversation.tools.${tool}]\nsource = "mcp.a.${tool}"\nrun = "unattended"\n`
  const config = '.config/cordon/config.toml'

  test('mcp rm takes them out with the server, also of your own file of the workspace', () => {
    expect(at.mcp('add', 'a', '--', 'a').code).toBe(0)
    at.write(at.own(config), at.userConfig() + entryOf('one'))
    const set = ['config', 'set', '--user-workspace', 'conversation.tools.two.source', 'mcp.a.two']
    expect(at.cordon(set).code).toBe(0)
    expect(at.mcp('rm', 'a')).toMatchObject({
      code: 0,
      stderr: '',
      stdout: `removed a from ${at.own(config)}\n  and the entries of its tools one, two\n`,
    })
    expect(at.userConfig()).not.toContain('conversation')
    expect(at.cordon(['config', 'explain', 'conversation.tools.two.source']).code).not.toBe(0)
    expect(at.mcp('ls').code).toBe(0)
  })

  test("where the workspace's own file names it, that is said, and nothing is changed", () => {
    expect(at.mcp('add', 'a', '--', 'a').code).toBe(0)
    at.config(entryOf('one'))
    const before = at.userConfig()
    expect(at.mcp('rm', 'a')).toMatchObject({
      code: 2,
      stderr: `cordon: tools of "a" have entries in other files, which are an error without it; nothing was changed
  ${join(at.root, '.cordon/config.toml')}
    to take it out: cordon config unset conversation.tools.one
  fix: take them out, and try again
`,
    })
    expect(at.userConfig()).toBe(before)
    expect(at.cordon(['config', 'unset', 'conversation.tools.one']).code).toBe(0)
    expect(at.mcp('rm', 'a').code).toBe(0)
  })

  test('import --undo takes back every client, with the entries; or, where that cannot be, none', () => {
    const [cursor, codex] = [at.own('.cursor/mcp.json'), at.own('.codex/config.toml')]
    const was = [
      '{ "mcpServers": { "a": { "command": "a" } } }\n',
      '[mcp_servers.b]\ncommand = "b"\n',
    ] as const
    at.write(cursor, was[0])
    at.write(codex, was[1])
    expect(at.mcp('import', '--write').code).toBe(0)
    const written = [cursor, codex].map((file) => readFileSync(file, 'utf8'))
    at.config(entryOf('one').replace('mcp.a', 'mcp.b'))
    expect(at.mcp('import', '--undo').code).toBe(2)
    expect([cursor, codex].map((file) => readFileSync(file, 'utf8'))).toEqual(written)
    at.write(codex, `${written[1]}[`)
    at.config('')
    const stopped = at.mcp('import', '--undo')
    expect(stopped).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('or take back the others without it:'),
    })
    expect(stopped.stderr).toContain(`\n    cordon mcp import --undo ${cursor}\n`)
    expect(readFileSync(cursor, 'utf8')).toBe(written[0])
    at.write(codex, written[1]!)
    at.write(at.own(config), at.userConfig() + entryOf('one'))
    expect(at.mcp('import', '--undo')).toMatchObject({ code: 0, stderr: '' })
    expect([cursor, codex].map((file) => readFileSync(file, 'utf8'))).toEqual(was)
    expect(at.userConfig()).not.toMatch(/conversation|providers/)
  })
})

describe('what cannot be meant together is refused, and nothing is done', () => {
  test.each([
    [['--write'], '--undo takes back what was written, so it cannot be with --write'],
    [['--dry-run'], '--undo has no dry run, so it cannot be with --dry-run'],
    [['--ask'], '--undo writes no entry, so it cannot be with --ask'],
    [['--for', '.'], '--undo writes no entry, so it cannot be with --for'],
    [['--no-install'], '--undo installs nothing, so it cannot be with --no-install'],
    [['--user'], '--undo knows where it was written, so it cannot be with --user'],
    [['--user-workspace'], '--undo knows where it was written, so it cannot be with --user-workspace'],
    [['--shared'], '--undo knows where it was written, so it cannot be with --shared'],
  ])('--undo %s', (more, said) => {
    const file = at.own('.cursor/mcp.json')
    at.write(file, '{ "mcpServers": { "a": { "command": "/bin/true" } } }\n')
    expect(at.mcp('import', '--write').code).toBe(0)
    const imported = readFileSync(file, 'utf8')
    expect(at.mcp('import', '--undo', ...more)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `cordon: ${said}\n`,
    })
    expect(readFileSync(file, 'utf8')).toBe(imported)
  })
})

describe('what was pasted after an import, as it advised', () => {
  /** As `mcp import` prints it for a server that is pointed to a place outside. */
  const pasted = (): string => {
    symlinkSync(at.mkdir(at.own('docs')), join(at.root, 'docs'))
    const rule = '+{ path = "docs", external = true, read = true, write = true }'
    const set = ['config', 'set', '--user-workspace', 'providers.mcp.files.access.fs', rule]
    expect(at.cordon(set).code).toBe(0)
    return join(at.root, 'docs')
  }
  const entries = (): string =>
    JSON.stringify({ mcpServers: { files: { command: 'files', args: [at.own('docs')] } } })
  const stays = (link: string): string => `  the link ${link} stays; if nothing else needs it: rm ${link}\n`

  test('what it was granted goes with the server; the link stays, and is said', () => {
    at.write(at.own('.cursor/mcp.json'), entries())
    expect(at.mcp('import', '--write').code).toBe(0)
    const link = pasted()
    const { stdout } = at.mcp('import', '--undo')
    expect(stdout.replace(/workspace\/[^/]+\//, 'workspace/ID/')).toBe(
      '~/.cursor/mcp.json: as it was, to the byte\n' +
        '  no longer configured: files\n' +
        '  and what was granted to them was taken out of ~/.local/share/cordon/workspace/ID/config.toml\n' +
        stays(link),
    )
  })

  test('what was written beside it makes it a server that a person changed; all that stays is said, with its command', () => {
    at.write('.mcp.json', entries())
    expect(at.mcp('import', '--write', '.mcp.json').code).toBe(0)
    const link = pasted()
    expect(at.mcp('import', '--undo').stdout).toBe(
      `${at.root}/.mcp.json: as it was, to the byte\n` +
        '  files stays configured, because you changed it since; to remove it: cordon mcp rm files\n' +
        stays(link),
    )
    const removed = at.mcp('rm', 'files').stdout
    expect(removed.split('\n').slice(1).join('\n')).toBe(stays(link))
  })

  test('a link that another rule needs is not said', () => {
    at.write(at.own('.cursor/mcp.json'), entries())
    expect(at.mcp('import', '--write').code).toBe(0)
    pasted()
    const rule = '+{ path = "docs", external = true, read = true }'
    expect(
      at.cordon(['config', 'set', '--user-workspace', 'conversation.tools.fs_read_file.access.fs', rule])
        .code,
    ).toBe(0)
    expect(at.mcp('import', '--undo').stdout).not.toContain('the link')
  })
})
