import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { CORDON, SECRET, UNASKED, entry, ImportPlace } from './harness/import-place.ts'

let at: ImportPlace
beforeEach(() => {
  at = new ImportPlace()
})

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
  for (const dir of ['.config', '.config/Code']) at.mkdir(at.own(dir))
  for (const [name, text] of Object.entries(files)) at.write(at.own(name), text, 0o600)
  return files
}

const tree = (dir: string): string =>
  spawnSync('grep', ['-rl', SECRET, dir], { encoding: 'utf8' }).stdout.trim()

test('all clients: ours is written, theirs with --write, secrets stay where they were, and undo is exact', () => {
  const files = writeClients()
  const dry = at.mcp('import', '--dry-run')
  expect(dry).toMatchObject({ code: 0, stderr: '' })
  expect(at.userConfig()).toBe('')
  expect(existsSync(at.imports())).toBe(false)

  const first = at.mcp('import', '--json')
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
  for (const [name, text] of Object.entries(files)) expect(readFileSync(at.own(name), 'utf8')).toBe(text)
  expect(at.userConfig()).toBe(`#:schema ./config.schema.json

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
  expect(at.mcp('show', 'local').stdout).toContain('(user-workspace)')
  expect(tree(at.root)).toBe('')
  expect(tree(at.own('.config/cordon'))).toBe('')
  expect(tree(at.own('.local'))).toBe('')

  const written = at.mcp('import', '--write')
  // Of Claude Desktop nobody has said which directory is meant, so its file is not changed yet.
  expect(written).toMatchObject({ code: 1, stderr: '' })
  const desktop = '.config/Claude/claude_desktop_config.json'
  expect(written.stdout).toContain(
    `so its file was not changed; say which it is: cordon mcp import --write --for DIRECTORY ~/${desktop}`,
  )
  expect(readFileSync(at.own(desktop), 'utf8')).toBe(files[desktop])
  expect(at.mcp('import', '--write', '--for', at.root, at.own(desktop)).code).toBe(0)
  expect(readFileSync(at.own(desktop), 'utf8')).toContain(`"--workspace", ${JSON.stringify(at.root)}`)
  const again = at.mcp('import', '--write', '--for', at.own('other'), at.own(desktop))
  expect(again.stdout).toContain('to change how it is started, take it back first: cordon mcp import --undo')
  const claude = readFileSync(at.own('.claude.json'), 'utf8')
  expect(claude).toBe(
    CLAUDE(at.root)
      .replace('"command": "mcp-files"', `"command": ${JSON.stringify(CORDON)}`)
      .replace('"args": ["--root", "."]', entry('files'))
      .replace('{ "command": "/opt/local" }', `{ "command": ${JSON.stringify(CORDON)}, ${entry('local')} }`),
  )
  expect(readFileSync(at.own('.codex/config.toml'), 'utf8')).toBe(
    CODEX.replace('"docs-server"', JSON.stringify(CORDON)).replace(
      'args = ["--stdio"]',
      `args = ["mcp", "serve", "--server", "docs", ${UNASKED}]`,
    ),
  )
  expect(statSync(at.own('.claude.json')).mode & 0o777).toBe(0o600)
  for (const name of readdirSync(at.imports()))
    if (name !== 'lock') expect(statSync(join(at.imports(), name)).mode & 0o077).toBe(0)
  expect(tree(at.root)).toBe('')

  // Again: nothing to do.
  const ours = at.userConfig()
  expect(at.mcp('import', '--write').stdout).toContain('files: behind Cordon already')
  expect([at.userConfig(), readFileSync(at.own('.claude.json'), 'utf8')]).toEqual([ours, claude])
  expect(at.mcp('rm', 'files')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Claude Code starts "files" through Cordon'),
  })

  const undone = at.mcp('import', '--undo')
  expect(undone).toMatchObject({ code: 0, stderr: '' })
  for (const [name, text] of Object.entries(files)) expect(readFileSync(at.own(name), 'utf8')).toBe(text)
  expect(at.userConfig()).toBe('#:schema ./config.schema.json\n')
  expect(JSON.parse(at.mcp('ls', '--json').stdout)).toEqual([])
  expect(readdirSync(at.imports()).toSorted()).toEqual(['imports.json', 'lock'])
})

test("a project's file is read when it is named, and gets no path of this machine; PATH is not for it to say", () => {
  const text =
    '{ "mcpServers": { "p": { "command": "./bin/server", "env": { "K": "v" } }, "q": { "command": "q", "env": { "PATH": "." } } } }\n'
  const file = at.write('.mcp.json', text)
  const all = at.mcp('import', '--write')
  expect(all).toMatchObject({ code: 0, stderr: '' })
  expect(all.stdout).toContain(
    `${file} has servers; it may have come with the project's files\n  to import it: cordon mcp import --write ${file}\n`,
  )
  expect(existsSync(at.own('.local/share/cordon/mcp'))).toBe(false)
  const named = at.cordon(['mcp', 'import', '--write', '.mcp.json'], { env: { PATH: '/usr/bin:/bin' } })
  expect(named.stdout).toContain('q: left alone: its env sets PATH')
  expect(named.stdout).toContain(
    `there is none in your PATH: the client could not start it; put ${CORDON} there`,
  )
  expect(at.mcp('import').stdout).not.toContain('has servers')
  expect(readFileSync(file, 'utf8')).toBe(
    text.replace('"command": "./bin/server"', `"command": "cordon", ${entry('p')}`),
  )
  expect(at.mcp('show', 'p').stdout).toContain('(user-workspace)')
  expect(at.userConfig()).toBe('')
  expect(at.mcp('import', '--undo', '.mcp.json').stdout).toContain('as it was, to the byte')
  expect(readFileSync(file, 'utf8')).toBe(text)
})

test('--for names the workspace, --ask lets Cordon ask, and undo knows the entry that was written', () => {
  const text = '{"mcpServers":{"a":{"command":"a"}}}'
  const file = at.write(at.own('claude.json'), text)
  expect(at.mcp('import', '--write', '--ask', '--for', '.', file).code).toBe(0)
  const now = readFileSync(file, 'utf8')
  expect(JSON.parse(now)).toEqual({
    mcpServers: { a: { command: CORDON, args: ['mcp', 'serve', '--server', 'a', '--workspace', at.root] } },
  })
  writeFileSync(file, now.replace('{"mcpServers"', '{"x":1,"mcpServers"'))
  expect(at.mcp('import', '--undo', file).code).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe('{"x":1,"mcpServers":{"a":{"command":"a"}}}')
})

test('what a server is pointed to outside the workspace is said, with the commands that grant it; and Claude Desktop without --for', () => {
  for (const dir of ['Documents', '.config']) at.mkdir(at.own(dir))
  at.write(
    at.own('.config/Claude/claude_desktop_config.json'),
    `{"mcpServers":{"files":{"command":"mcp-files","args":["~/Documents","/v1/api"],"env":{"CACHE":"${at.own('cache')}","TOKEN":"/not${SECRET}"}}}}`,
    0o600,
  )
  const { stdout } = at.mcp('import', '--dry-run')
  expect(stdout).toContain('warning: Claude Desktop starts servers in no project')
  expect(stdout).toContain('warning: it is pointed to ~/Documents, ~/cache, outside the workspace')
  expect(stdout).toContain('ln -sT ~/Documents Documents\n')
  // The attack: through a link that leads nowhere yet, `ln -s` would make its own link where that leads.
  symlinkSync(at.own('nowhere'), join(at.root, 'Documents'))
  expect(at.mcp('import', '--dry-run').stdout).toContain('ln -sT ~/Documents Documents-2\n')
  rmSync(join(at.root, 'Documents'))
  expect(stdout).toContain('mkdir -p ~/cache\n')
  expect(stdout).not.toContain(SECRET)
  const added = at.mcp('add', 'other', '--', 'mcp-files', at.own('Documents'))
  expect(added.stdout).toContain('warning: it is pointed to ~/Documents, outside the workspace')
})

test('--no-install keeps npx as it is; what a client starts is removed only with --force', () => {
  const servers = { a: { command: 'a' }, p: { command: 'npx', args: ['-y', 'some-package@1'] } }
  at.write(at.own('.cursor/mcp.json'), JSON.stringify({ mcpServers: servers }))
  expect(at.mcp('import', '--write', '--no-install').code).toBe(0)
  expect(at.mcp('add', 'q', '--no-install', '--', 'npx', '-y', 'other').code).toBe(0)
  const lines = (): unknown =>
    (JSON.parse(at.mcp('ls', '--json').stdout) as { line: unknown; package: unknown }[]).map((each) => [
      each.line,
      each.package,
    ])
  const kept = [
    [['npx', '-y', 'some-package@1'], null],
    [['npx', '-y', 'other'], null],
  ]
  expect(lines()).toEqual([[['a'], null], ...kept])
  expect(at.mcp('rm', 'a')).toMatchObject({ code: 2, stderr: expect.stringMatching(/; or add --force\n$/) })
  expect(at.mcp('rm', 'a', '--force').code).toBe(0)
  expect(lines()).toEqual(kept)
  expect(readFileSync(at.own('.cursor/mcp.json'), 'utf8')).toContain(entry('a'))
})

test('where no client has a file, it is said where it was looked for', () => {
  expect(at.mcp('import')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: `no file of a client was found; looked for:
  ~/.claude.json
  ~/.config/Claude/claude_desktop_config.json
  ~/.cursor/mcp.json
  ~/.config/Code/User/mcp.json
  ~/.config/Code - Insiders/User/mcp.json
  ~/.gemini/settings.json
  ~/.codex/config.toml
another one, or a project's: cordon mcp import FILE
`,
  })
})
