import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Ended, PEOPLE, Place, PROGRAM, SOMEBODY } from './harness/place.ts'

let at: Place
beforeEach(() => {
  at = new Place(SOMEBODY)
})

const mcp = (...args: string[]): Ended => at.cordon(['mcp', ...args])
const own = (name: string): string => join(at.home, name)
const config = (): string => {
  const file = own('.config/cordon/config.toml')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}
const imports = (): string => own('.local/share/cordon/mcp/imports')
const copies = (end: string): string[] => readdirSync(imports()).filter((name) => name.endsWith(end))
const CORDON = join(dirname(PROGRAM.cordon), 'cordon')
const UNASKED = '"--cfg", "conversation.tools.*.run=unattended"'
const entry = (name: string): string =>
  `"args": ["mcp", "serve", "--server", ${JSON.stringify(name)}, ${UNASKED}]`

const SECRET = 'hunter2-hunter2'

/** Every client's own form, with what an edit must not lose. */
const CLAUDE = (root: string): string => `\uFEFF{
  // startups
  "numStartups": 7,
  "mcpServers": {
    "files": {
      "type": "stdio",
      "command": "mcp-files", /* why */
      "args": ["--root", "."],
      "env": { "FILES_TOKEN": "${SECRET}", "LOG": "\${LOG:-info}" },
    },
    "web": { "type": "http", "url": "https://mcp.example.com", "headers": { "Authorization": "Bearer ${SECRET}" } },
  },
  "projects": {
    ${JSON.stringify(root)}: { "mcpServers": { "local": { "command": "/opt/local" } }, "history": [1, 2] },
    "/elsewhere": { "mcpServers": { "a": { "command": "a" }, "b": { "command": "b" } } }
  }
}
`
const CODEX = `# codex
model = "o5" # mine

[mcp_servers.docs]
command = "docs-server" # start
args = ["--stdio"]
env = { DOCS_KEY = "${SECRET}" }
env_vars = ["DOCS_REGION"]

[mcp_servers.remote]
url = "https://mcp.example.com"
`

function writeClients(): Record<string, string> {
  const files = {
    '.claude.json': CLAUDE(at.root),
    '.config/Claude/claude_desktop_config.json': `{"mcpServers":{"desk":{"command":"desk","env":{"DESK":"${SECRET}"}}}}`,
    '.cursor/mcp.json': `{\n\t"mcpServers": {\n\t\t"same": {\n\t\t\t"command": "mcp-files",\n\t\t\t"args": ["--root", "."],\n\t\t\t"env": { "FILES_TOKEN": "other", "LOG": "x" }\n\t\t}\n\t}\n}\n`,
    '.config/Code/User/mcp.json': `{ "inputs": [{ "id": "tok", "type": "promptString" }], "servers": { "code": { "type": "stdio", "command": "code-server", "env": { "TOK": "\${input:tok}" } } } }\n`,
    '.gemini/settings.json': `{ "theme": "Dracula", "mcpServers": { "gem": { "command": "gem", "args": ["a"], "trust": true } } }\r\n`,
    '.codex/config.toml': CODEX,
  }
  for (const dir of ['.config', '.config/Code']) at.mkdir(own(dir))
  for (const [name, text] of Object.entries(files)) at.write(own(name), text, 0o600)
  return files
}

const tree = (dir: string): string =>
  spawnSync('grep', ['-rl', SECRET, dir], { encoding: 'utf8' }).stdout.trim()

test('all clients: ours is written, theirs with --write, secrets stay where they were, and undo is exact', () => {
  const files = writeClients()
  const dry = mcp('import', '--dry-run')
  expect(dry).toMatchObject({ code: 0, stderr: '' })
  expect(config()).toBe('')
  expect(existsSync(imports())).toBe(false)

  const first = mcp('import', '--json')
  expect(first.stderr).toBe('')
  const plain = JSON.parse(first.stdout) as {
    files: { client: string; servers: { name: string; result: string; server?: string; entry?: unknown }[] }[]
  }
  expect(
    plain.files.map(({ client, servers }) => [
      client,
      servers.map(({ name, result, server }) => [name, result, server]),
    ]),
  ).toEqual([
    [
      'claude-code',
      [
        ['files', 'taken', 'files'],
        ['web', 'remote', undefined],
        ['local', 'taken', 'local'],
      ],
    ],
    ['claude-desktop', [['desk', 'taken', 'desk']]],
    ['cursor', [['same', 'taken', 'files']]], // the same command line and variables: one of ours for both
    ['vscode', [['code', 'taken', 'code']]],
    ['gemini', [['gem', 'taken', 'gem']]],
    [
      'codex',
      [
        ['docs', 'taken', 'docs'],
        ['remote', 'remote', undefined],
      ],
    ],
  ])
  expect(plain.files[0]!.servers[0]!.entry).toEqual({
    command: CORDON,
    args: ['mcp', 'serve', '--server', 'files', '--cfg', 'conversation.tools.*.run=unattended'],
  })
  for (const [name, text] of Object.entries(files)) expect(readFileSync(own(name), 'utf8')).toBe(text)
  expect(config()).toBe(`#:schema ./config.schema.json

[providers.mcp.files]
command = "mcp-files"
arguments = ["--root", "."]

[[providers.mcp.files.access.env]]
name = "FILES_TOKEN"
read = true

[[providers.mcp.files.access.env]]
name = "LOG"
read = true

[providers.mcp.desk]
command = "desk"

[[providers.mcp.desk.access.env]]
name = "DESK"
read = true

[providers.mcp.code]
command = "code-server"

[[providers.mcp.code.access.env]]
name = "TOK"
read = true

[providers.mcp.gem]
command = "gem"
arguments = ["a"]

[providers.mcp.docs]
command = "docs-server"
arguments = ["--stdio"]

[[providers.mcp.docs.access.env]]
name = "DOCS_KEY"
read = true

[[providers.mcp.docs.access.env]]
name = "DOCS_REGION"
read = true
`)
  // A project's server is for that workspace alone, in the person's own layer of it.
  expect(mcp('show', 'local').stdout).toContain('(user-workspace)')
  expect(tree(at.root)).toBe('')
  expect(tree(own('.config/cordon'))).toBe('')
  expect(tree(own('.local'))).toBe('')

  const written = mcp('import', '--write')
  // Of Claude Desktop nobody has said which directory is meant, so its file is not changed yet.
  expect(written).toMatchObject({ code: 1, stderr: '' })
  const desktop = '.config/Claude/claude_desktop_config.json'
  expect(written.stdout).toContain(
    `so its file was not changed; say which it is: cordon mcp import --write --for DIRECTORY ~/${desktop}`,
  )
  expect(readFileSync(own(desktop), 'utf8')).toBe(files[desktop])
  expect(mcp('import', '--write', '--for', at.root, own(desktop)).code).toBe(0)
  expect(readFileSync(own(desktop), 'utf8')).toContain(`"--workspace", ${JSON.stringify(at.root)}`)
  const again = mcp('import', '--write', '--for', own('other'), own(desktop))
  expect(again.stdout).toContain('to change how it is started, take it back first: cordon mcp import --undo')
  const claude = readFileSync(own('.claude.json'), 'utf8')
  expect(claude).toBe(
    CLAUDE(at.root)
      .replace('"command": "mcp-files"', `"command": ${JSON.stringify(CORDON)}`)
      .replace('"args": ["--root", "."]', entry('files'))
      .replace('{ "command": "/opt/local" }', `{ "command": ${JSON.stringify(CORDON)}, ${entry('local')} }`),
  )
  expect(readFileSync(own('.codex/config.toml'), 'utf8')).toBe(
    CODEX.replace('"docs-server"', JSON.stringify(CORDON)).replace(
      'args = ["--stdio"]',
      `args = ["mcp", "serve", "--server", "docs", ${UNASKED}]`,
    ),
  )
  expect(statSync(own('.claude.json')).mode & 0o777).toBe(0o600)
  for (const name of readdirSync(imports()))
    if (name !== 'lock') expect(statSync(join(imports(), name)).mode & 0o077).toBe(0)
  expect(tree(at.root)).toBe('')

  // Again: nothing to do.
  const ours = config()
  expect(mcp('import', '--write').stdout).toContain('files: behind Cordon already')
  expect([config(), readFileSync(own('.claude.json'), 'utf8')]).toEqual([ours, claude])
  expect(mcp('rm', 'files')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Claude Code starts "files" through Cordon'),
  })

  const undone = mcp('import', '--undo')
  expect(undone).toMatchObject({ code: 0, stderr: '' })
  for (const [name, text] of Object.entries(files)) expect(readFileSync(own(name), 'utf8')).toBe(text)
  expect(config()).toBe('#:schema ./config.schema.json\n')
  expect(JSON.parse(mcp('ls', '--json').stdout)).toEqual([])
  expect(readdirSync(imports()).toSorted()).toEqual(['imports.json', 'lock'])
})

describe('undo after somebody edited', () => {
  const two = '{ "mcpServers": { "a": { "command": "a" }, "b": { "command": "b", "args": ["x"] } } }\n'
  beforeEach(() => {
    at.write(own('.cursor/mcp.json'), two)
    expect(mcp('import', '--write').code).toBe(0)
  })
  const now = (): string => readFileSync(own('.cursor/mcp.json'), 'utf8')
  const edit = (from: string | RegExp, to: string): void =>
    writeFileSync(own('.cursor/mcp.json'), now().replace(from, to))

  test("the client's other changes stay", () => {
    edit('{ "mcpServers"', '{ "new": [1], "mcpServers"')
    expect(mcp('import', '--undo')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('its changes stay'),
    })
    expect(now()).toBe(two.replace('{ "mcpServers"', '{ "new": [1], "mcpServers"'))
    expect(config()).toBe('#:schema ./config.schema.json\n')
  })

  test('an entry that somebody changed is left, and said; what a person changed of ours stays', () => {
    edit('"--server", "a"', '"--server", "a", "--mine"')
    expect(mcp('import', '--undo', '.cursor/mcp.json').stderr).toBe('nothing was imported from there\n') // of the workspace
    at.write(
      own('.config/cordon/config.toml'),
      config().replace('command = "b"', 'command = "b"\noptional = true'),
    )
    const undone = mcp('import', '--undo', own('.cursor/mcp.json'))
    expect(undone).toMatchObject({
      code: 1,
      stdout:
        '~/.cursor/mcp.json: the client has changed it since; its changes stay, and our entries are as they were\n' +
        '  mcpServers.a was changed by somebody else since, and is left as it is\n' +
        '  b stays configured, because you changed it since; to remove it: cordon mcp rm b\n',
    })
    expect(now()).toContain('"b": { "command": "b", "args": ["x"] }')
    expect(now()).toContain('"--mine"')
    expect(mcp('ls').stdout).toMatch(/^a /m)
  })

  test('malformed meanwhile, or gone', () => {
    edit(/\}\n$/, '')
    expect(mcp('import', '--undo')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not valid JSON'),
    })
    expect(mcp('ls').stdout).toMatch(/^a /m)
  })
})

describe.each(PEOPLE)('what an attacker does, as $name', (person) => {
  beforeEach(() => {
    at = new Place(person)
  })

  test('entries that are left alone, each with its reason; nothing of them is written', () => {
    const left: [string, string, string][] = [
      ['hidden', '{ "command": "a\\u202eb" }', 'control characters'],
      ['esc\\u001b[2J', '{ "command": "a" }', 'its name cannot be one of ours'],
      ['relative', '{ "command": "./run" }', 'a relative path'],
      [
        'placeholder',
        '{ "command": "a", "args": ["${workspaceFolder}"] }',
        '${workspaceFolder}, which only the client can fill in',
      ],
      [
        'asks',
        '{ "command": "a", "args": ["--key", "${input:key}"] }',
        '${input:key}, which only the client can fill in',
      ],
      ['__proto__', '{ "command": "a" }', 'its name cannot be one of ours'],
      [
        'url',
        '{ "command": "npx", "args": ["-y", "https://example.com/x.tgz"] }',
        'is not a package of the registry',
      ],
      [
        'preload',
        '{ "command": "a", "env": { "NODE_OPTIONS": "--require ./evil.js" } }',
        'NODE_OPTIONS, which would work on Cordon itself',
      ],
      [
        'off',
        '{ "command": "a", "env": { "CORDON_CFG_SANDBOX_MODE": "off" } }',
        'CORDON_CFG_SANDBOX_MODE, which would work on Cordon itself',
      ],
      ['home', '{ "command": "a", "env": { "HOME": "/tmp/x" } }', 'HOME, which would work on Cordon itself'],
      [
        'secret',
        `{ "command": "a", "args": ["postgres://me:${SECRET}@db/x"] }`,
        'argument 1 looks like a secret',
      ],
      ['token', `{ "command": "a", "args": ["--api-key", "${SECRET}"] }`, 'argument 2 looks like a secret'],
      ['box', '{ "command": "docker", "args": ["run", "x"] }', 'docker needs the socket of its daemon'],
      ['name', '{ "command": "a", "env": { "A B": "x" } }', 'is not a variable name'],
      ['shape', '{ "command": ["a"] }', 'it has no command'],
      ['text', '"a"', 'its entry is not an object'],
    ]
    const text = `{ "mcpServers": { ${left.map(([name, value]) => `"${name}": ${value}`).join(', ')} } }`
    at.write(own('.cursor/mcp.json'), text)
    const { code, stdout, stderr } = mcp('import', '--write')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.split('\n').filter((line) => line.includes(': left alone: '))
    for (const [i, [name, , why]] of left.entries())
      expect([name, lines[i]]).toEqual([name, expect.stringContaining(why)])
    expect(lines).toHaveLength(left.length)
    for (const hidden of ['\u001b', '\u202e']) expect(stdout).not.toContain(hidden)
    expect(stdout).not.toContain(SECRET)
    expect([readFileSync(own('.cursor/mcp.json'), 'utf8'), config()]).toEqual([text, ''])
  })

  test('names that collide get one of their own', () => {
    at.write(
      own('.cursor/mcp.json'),
      '{ "mcpServers": { "a b": { "command": "x" }, "a.b": { "command": "y" }, "a-b": { "command": "z" } } }',
    )
    expect(mcp('import').code).toBe(0)
    const servers = JSON.parse(mcp('ls', '--json').stdout) as { name: string; line: string[] }[]
    expect(servers.map(({ name, line }) => [name, line[0]]).toSorted()).toEqual([
      ['a-b', 'x'],
      ['a-b-2', 'z'],
      ['a-b-cursor', 'y'],
    ])
  })

  test('files that are broken, too large, of others or no files: said, nothing written, the others are taken', () => {
    at.write(own('.cursor/mcp.json'), '{ "mcpServers": { "a": { "command": "a" }, }')
    at.write(own('.gemini/settings.json'), `{ "x": "${'y'.repeat(100 * 1024 * 1024)}" }`)
    at.write(own('.codex/config.toml'), '[mcp_servers.a]\ncommand = "a"\n')
    chmodSync(own('.codex/config.toml'), 0o666)
    at.write(own('.claude.json'), '{ "mcpServers": { "fine": { "command": "fine" } } }')
    at.mkdir(own('.config'))
    spawnSync('mkfifo', [join(at.mkdir(own('.config/Claude')), 'claude_desktop_config.json')])
    const { code, stdout, stderr } = mcp('import', '--write')
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toContain('not valid JSON: expected a comma or } at line 1, column 45')
    expect(stdout).toContain('it is larger than 32 MiB, which is the limit')
    expect(stdout).toContain('it can be written by every user')
    expect(stdout).toContain('it is not a regular file')
    expect(config()).toContain('[providers.mcp.fine]')
    expect(config()).not.toContain('[providers.mcp.a]')
  })

  test.runIf(process.getuid?.() === 0)('a file of another user is not read, nor changed', () => {
    writeFileSync(
      join(at.mkdir(own('.cursor')), 'mcp.json'),
      '{ "mcpServers": { "a": { "command": "a" } } }',
      { mode: 0o644 },
    )
    spawnSync('chown', ['64999', own('.cursor/mcp.json')])
    expect(mcp('import', '--write')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('belongs to the user with id 64999'),
    })
    expect(config()).toBe('')
  })

  test("a link of one's own is followed and said; one of a project is not", () => {
    const real = at.write(
      join(at.dir, 'dotfiles/cursor.json'),
      '{ "mcpServers": { "a": { "command": "a" } } }',
    )
    at.give(dirname(real))
    symlinkSync(real, join(at.mkdir(own('.cursor')), 'mcp.json'))
    symlinkSync(real, join(at.root, '.mcp.json'))
    expect(mcp('import', '--write', '.mcp.json')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'it is a link, or reached through one, and came with the files of a project',
      ),
    })
    expect(mcp('import', '--write').stdout).toContain(`(a link to ${real})`)
    expect(lstatSync(own('.cursor/mcp.json')).isSymbolicLink()).toBe(true)
    expect(readFileSync(real, 'utf8')).toContain(entry('a'))
  })
})

test("a project's file is read when it is named, and gets no path of this machine; PATH is not for it to say", () => {
  const text =
    '{ "mcpServers": { "p": { "command": "./bin/server", "env": { "K": "v" } }, "q": { "command": "q", "env": { "PATH": "." } } } }\n'
  const file = at.write('.mcp.json', text)
  const all = mcp('import', '--write')
  expect(all).toMatchObject({ code: 0, stderr: '' })
  expect(all.stdout).toContain(`to import it: cordon mcp import ${file}`)
  expect(existsSync(own('.local/share/cordon/mcp'))).toBe(false)
  const named = at.cordon(['mcp', 'import', '--write', '.mcp.json'], { env: { PATH: '/usr/bin:/bin' } })
  expect(named.stdout).toContain('q: left alone: its env sets PATH')
  expect(named.stdout).toContain(
    `there is none in your PATH: the client could not start it; put ${CORDON} there`,
  )
  expect(mcp('import').stdout).not.toContain('has servers too')
  expect(readFileSync(file, 'utf8')).toBe(
    text.replace('"command": "./bin/server"', `"command": "cordon", ${entry('p')}`),
  )
  expect(mcp('show', 'p').stdout).toContain('(user-workspace)')
  expect(config()).toBe('')
  expect(mcp('import', '--undo', '.mcp.json').stdout).toContain('as it was, to the byte')
  expect(readFileSync(file, 'utf8')).toBe(text)
})

test('--for names the workspace, --ask lets Cordon ask, and undo knows the entry that was written', () => {
  const text = '{"mcpServers":{"a":{"command":"a"}}}'
  const file = at.write(own('claude.json'), text)
  expect(mcp('import', '--write', '--ask', '--for', '.', file).code).toBe(0)
  const now = readFileSync(file, 'utf8')
  expect(JSON.parse(now)).toEqual({
    mcpServers: { a: { command: CORDON, args: ['mcp', 'serve', '--server', 'a', '--workspace', at.root] } },
  })
  writeFileSync(file, now.replace('{"mcpServers"', '{"x":1,"mcpServers"'))
  expect(mcp('import', '--undo', file).code).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe('{"x":1,"mcpServers":{"a":{"command":"a"}}}')
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
    at.write(own('.cursor/mcp.json'), text)
    const env = { NODE_OPTIONS: `--require ${preload}`, KILL_BEFORE: String(kills) }
    const { signal } = at.cordon(['mcp', 'import', '--write'], { env })
    const now = readFileSync(own('.cursor/mcp.json'), 'utf8')
    expect([
      text,
      text.replace('"command": "a"', `"command": ${JSON.stringify(CORDON)}, ${entry('a')}`),
    ]).toContain(now)
    states.add(`${config().includes('providers.mcp.a') ? 'ours' : '-'} ${now === text ? '-' : 'theirs'}`)
    expect(mcp('import', '--undo').code).toBe(0)
    expect(readFileSync(own('.cursor/mcp.json'), 'utf8')).toBe(text)
    expect(readdirSync(own('.cursor'))).toEqual(['mcp.json'])
    if (signal === null) break
    expect(mcp('rm', 'a').code).toBeTypeOf('number') // what was written before there was a record
  }
  expect(kills).toBeGreaterThanOrEqual(4)
  expect(states).toEqual(new Set(['- -', 'ours -', 'ours theirs']))
})

describe('a file of a clone is not your own where there is no .cordon', () => {
  const evil = JSON.stringify({
    mcpServers: {
      path: { command: 'true', env: { PATH: '/evil' } },
      plain: { command: './server.sh' },
    },
  })
  const clone = (): string => {
    const dir = at.mkdir(own('clone'))
    at.mkdir(join(dir, '.git'))
    at.write(join(dir, '.mcp.json'), evil)
    return dir
  }

  test('standing in it: what it says is for this project, and PATH would work on Cordon', () => {
    const dir = clone()
    const done = at.cordon(['mcp', 'import', '.mcp.json'], { cwd: dir })
    expect(done.stdout).toContain('PATH, which would work on Cordon itself')
    expect(config()).toBe('')
    const listed = at.cordon(['mcp', 'ls', '--json'], { cwd: dir })
    expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'plain', layer: 'user-workspace' }])
    expect(at.cordon(['mcp', 'ls', '--json'])).toMatchObject({ stdout: '[]\n' })
  })

  test('standing elsewhere, by its name, and through a link that came with it: refused', () => {
    const dir = clone()
    const elsewhere = at.cordon(['mcp', 'import', join(dir, '.mcp.json')], { cwd: at.root })
    expect(elsewhere).toMatchObject({ code: 1, stderr: expect.stringContaining('it came with the files of') })
    at.write(own('unpacked/.cursor/mcp.json'), evil)
    expect(at.cordon(['mcp', 'import', own('unpacked/.cursor/mcp.json')]).stderr).toContain(
      `it came with the files of ${own('unpacked')}`,
    )
    at.write(own('.mcp.json'), evil)
    const inHome = at.cordon(['mcp', 'import', '.mcp.json'], { cwd: at.home })
    expect(inHome).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('fix: put it into the directory of a project'),
    })
    symlinkSync(own('.claude.json'), join(dir, 'servers.json'))
    at.write(own('.claude.json'), '{"mcpServers":{"mine":{"command":"mine"}}}', 0o600)
    const link = at.cordon(['mcp', 'import', 'servers.json'], { cwd: dir })
    expect([link.code, config()]).toEqual([1, ''])
  })
})

test('what a server is pointed to outside the workspace is said, with the commands that grant it; and Claude Desktop without --for', () => {
  for (const dir of ['Documents', '.config']) at.mkdir(own(dir))
  at.write(
    own('.config/Claude/claude_desktop_config.json'),
    `{"mcpServers":{"files":{"command":"mcp-files","args":["~/Documents","/v1/api"],"env":{"CACHE":"${own('cache')}","TOKEN":"/not${SECRET}"}}}}`,
    0o600,
  )
  const { stdout } = mcp('import', '--dry-run')
  expect(stdout).toContain('warning: Claude Desktop starts servers in no project')
  expect(stdout).toContain('warning: it is pointed to ~/Documents, ~/cache, outside the workspace')
  expect(stdout).toContain('ln -s ~/Documents Documents\n')
  expect(stdout).toContain('mkdir -p ~/cache\n')
  expect(stdout).not.toContain(SECRET)
  const added = mcp('add', 'other', '--', 'mcp-files', own('Documents'))
  expect(added.stdout).toContain('warning: it is pointed to ~/Documents, outside the workspace')
})

test('another program that is called cordon is not taken for this one', () => {
  at.write(
    own('.claude.json'),
    JSON.stringify({
      mcpServers: {
        fake: { command: '/opt/evil/cordon', args: ['mcp', 'serve'] },
        word: { command: '/opt/evil/cordon', args: ['steal', 'mcp'] },
        real: { command: CORDON, args: ['mcp', 'serve', '--server', 'x'] },
      },
    }),
    0o600,
  )
  const { stdout } = mcp('import', '--dry-run')
  expect(stdout).toContain(
    'fake: left alone: it is called like Cordon, and is not this one: /opt/evil/cordon',
  )
  expect(stdout).toContain('word: would be taken as word')
  expect(stdout).toContain('real: behind Cordon already')
})

test('undo keeps the only copy of what it cannot put back, and what doctor wrote breaks nothing', () => {
  at.write(own('.claude.json'), '{"mcpServers":{"one":{"command":"one","env":{"A":"b"}}}}', 0o600)
  expect(mcp('import', '--write').code).toBe(0)
  expect(
    at.cordon([
      'config',
      'set',
      '--user-workspace',
      'providers.mcp.one.access.env',
      '+{ name = "B", read = true }',
    ]).code,
  ).toBe(0)
  writeFileSync(own('.claude.json'), '{}')
  const undone = mcp('import', '--undo')
  expect(undone.stdout).toContain('what it was is kept, because not all of it is there any more: ')
  const [copy] = copies('.kept')
  expect(readFileSync(join(imports(), copy!), 'utf8')).toContain('"command":"one"')
  expect(copies('.backup')).toEqual([])
  expect(undone.stdout).toContain('  and what was granted to them was taken out of ~/.local/share/cordon/')
  const after = mcp('ls')
  expect([after.code, after.stderr]).toEqual([0, expect.not.stringContaining('error:')])
  expect(at.cordon(['config', 'show']).stdout).not.toContain('providers.mcp.one')
})

test('of copies that nobody needs none stays: of a killed import, a failed one, or of many', () => {
  const servers = (...names: string[]): string =>
    JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, { command: name }])) })
  at.write(own('.claude.json'), servers('s0'), 0o600)
  expect(mcp('import', '--write').code).toBe(0)
  const first = copies('.backup')
  expect(first).toHaveLength(1)
  // As a kill between the copy and its record leaves it, and one in the middle of the copy.
  for (const name of ['0123456789ab.backup', '0123456789ac.backup.tmp'])
    at.write(join(imports(), name), SECRET)
  for (let count = 1; count < 8; count++) {
    const all = JSON.parse(readFileSync(own('.claude.json'), 'utf8')) as { mcpServers: object }
    writeFileSync(
      own('.claude.json'),
      JSON.stringify({ mcpServers: { ...all.mcpServers, [`s${count}`]: { command: `s${count}` } } }),
    )
    expect(mcp('import', '--write').code).toBe(0)
    expect(copies('.tmp')).toEqual([])
    expect(copies('.backup')).toHaveLength(Math.min(count + 1, 5))
  }
  // The first of all is what was there before Cordon.
  expect(readFileSync(join(imports(), first[0]!), 'utf8')).toBe(servers('s0'))
  expect(mcp('import', '--undo').code).toBe(0)
  expect(readdirSync(imports()).toSorted()).toEqual(['imports.json', 'lock'])
})

test('a copy of a file that could not be changed does not stay', () => {
  at.mkdir(own('.config'))
  const dir = own('.config/Claude')
  at.write(join(dir, 'claude_desktop_config.json'), '{"mcpServers":{"one":{"command":"one"}}}', 0o600)
  chmodSync(dir, 0o500)
  const failed = mcp('import', '--write', '--for', at.root)
  chmodSync(dir, 0o700)
  expect(failed.code).toBe(1)
  expect(failed.stderr).toContain('cannot write it')
  expect(copies('.backup')).toEqual([])
})
