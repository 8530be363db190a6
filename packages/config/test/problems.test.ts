import { expect, test } from 'vitest'
import { ConfigError, mergeSources, type Source } from '../src/index.ts'

const workspace = (text: string): Source => ({ layer: 'workspace', label: '.cordon/config.toml', text })

/** The whole message, or what came out when there was none. */
function messageOf(...sources: Source[]): unknown {
  try {
    return mergeSources(sources).config
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    expect((error as ConfigError).code).toBe('CONFIG')
    return (error as ConfigError).message
  }
}

const SERVER = '[providers.mcp.github]\ncommand = "npx"\n'

test('SPEC 5.2: access on a tool of a stateful server', () => {
  const tool = '[conversation.tools.github_search]\nsource = "mcp.github"\naccess.fs = [{ path = "." }]\n'
  expect(messageOf(workspace(SERVER + tool)))
    .toBe(`error: \`conversation.tools.github_search.access\` is not enforceable on a tool
       from a stateful MCP server.

  The \`github\` server runs as one shared process, so per-tool confinement
  cannot be applied. Declare access for the whole server:

      [providers.mcp.github.access]

  Or set \`stateful = false\` on the server to give each tool call its own
  sandboxed process.

  at .cordon/config.toml:5:1`)
})

test('SPEC 5.2: access on a stateless server names its tools', () => {
  const tools =
    '[conversation.tools.search]\nsource = "mcp.github"\n[conversation.tools.issue]\nsource = "mcp.github.create_issue"\n'
  const server = `${SERVER}stateful = false\n[[providers.mcp.github.access.net]]\nhost = "api.github.com"\n`
  expect(messageOf(workspace(tools + server)))
    .toBe(`error: \`providers.mcp.github.access\` is not enforceable on a
       stateless MCP server.

  The \`github\` server runs as a fresh process for each tool call, so there is no
  shared process that access for the whole server could confine. Declare access for
  each tool:

      [conversation.tools.search.access]
      [conversation.tools.issue.access]

  Or set \`stateful = true\` on the server to run all its tools in one shared
  sandboxed process.

  at .cordon/config.toml:8:24`)
})

test('SPEC 5.2: each at its own place is fine, also when another layer decides about stateful', () => {
  const tool = '[conversation.tools.search]\nsource = "mcp.github"\naccess.fs = [{ path = "." }]\n'
  const { config } = mergeSources([
    workspace(SERVER + tool),
    { layer: 'flags', label: 'flag', key: ['providers', 'mcp', 'github', 'stateful'], value: false },
  ])
  expect(config.providers.mcp['github']?.stateful).toBe(false)
  expect(config.conversation.tools['search']?.source).toEqual({ kind: 'mcp', server: 'github' })
})

const CASES: readonly [name: string, toml: string, message: string][] = [
  [
    'an unknown key is an error with a suggestion',
    '[sandbox]\nmod = "warn"\n',
    'error: unknown key `sandbox.mod`\n  at .cordon/config.toml:2:1\n  fix: did you mean `mode`?',
  ],
  [
    'an unknown key like no other lists what there is',
    'telemetry = true\n',
    'error: unknown key `telemetry`\n  at .cordon/config.toml:1:1\n  fix: take it out; the tables are sandbox, conversation, providers, assistant, profiles',
  ],
  [
    'a wrong type',
    '[conversation.tools."*"]\nenable = "yes"\n',
    'error: `conversation.tools."*".enable`: expected true or false, got "yes"\n  at .cordon/config.toml:2:1\n  fix: write enable = true',
  ],
  [
    'a value that is nearly right',
    '[sandbox]\nmode = "enforced"\n',
    'error: `sandbox.mode`: the files of a workspace cannot set it, only a person can\n  at .cordon/config.toml:2:1\n  fix: take it out; if you want it: cordon config set --user-workspace sandbox.mode VALUE',
  ],
  [
    'a number that makes no sense',
    '[sandbox.limits]\nprocesses = 0\n',
    'error: `sandbox.limits.processes`: expected at least 1, got 0\n  at .cordon/config.toml:2:1\n  fix: write processes = 512',
  ],
  [
    'an unknown strategy',
    '[profiles.p.access]\nfs = { strategy = "merge", value = [] }\n',
    'error: `profiles.p.access.fs.strategy`: expected "append", "prepend" or "replace", got "merge"\n  at .cordon/config.toml:2:8\n  fix: write strategy = "append"',
  ],
  [
    'an unknown key in the long form',
    '[profiles.p.access]\nfs = { stratgy = "append", value = [], x = 1 }\n',
    'error: unknown key `profiles.p.access.fs.stratgy`\n  at .cordon/config.toml:2:8\n  fix: did you mean `strategy`?\n\nerror: unknown key `profiles.p.access.fs.x`\n  at .cordon/config.toml:2:40\n  fix: take it out; `profiles.p.access.fs` knows strategy, dedup, value',
  ],
  [
    'a long form with nothing in it',
    '[profiles.p.access]\nfs = { dedup = 1 }\n',
    'error: `profiles.p.access.fs.value` is missing\n  at .cordon/config.toml:2:1\n\nerror: `profiles.p.access.fs.dedup`: expected true or false, got 1\n  at .cordon/config.toml:2:8\n  fix: write dedup = true',
  ],
  [
    'a date where a table belongs',
    'sandbox = 1979-05-27\n',
    'error: `sandbox`: expected a table, got a date\n  at .cordon/config.toml:1:1',
  ],
  [
    'no words, and one that is none of the modes',
    '[conversation.tools.c]\nsource = "local"\ncommand = []\nrun = "aks"\n',
    'error: `conversation.tools.c.command`: expected something that is not empty, got a list\n  at .cordon/config.toml:3:1\n  fix: write command = ["python3", "tools/search.py"]\n\nerror: `conversation.tools.c.run`: expected "ask", "unattended", "edit" or "skip", a list or a table, got "aks"\n  at .cordon/config.toml:4:1\n  fix: write run = "ask"',
  ],
  [
    'numbers that are none of the right kind',
    '[sandbox.limits]\nprocesses = 1.5\ntmp_mb = 1e300\ncpu_secs = nan\nopen_files = "9"\n',
    'error: `sandbox.limits.processes`: expected a whole number, got 1.5\n  at .cordon/config.toml:2:1\n  fix: write processes = 512\n\nerror: `sandbox.limits.tmp_mb`: expected at most 1099511627776, got 1e+300\n  at .cordon/config.toml:3:1\n  fix: write tmp_mb = 1024\n\nerror: `sandbox.limits.cpu_secs`: expected a number, got NaN\n  at .cordon/config.toml:4:1\n  fix: write cpu_secs = 600\n\nerror: `sandbox.limits.open_files`: expected a number, got "9"\n  at .cordon/config.toml:5:1\n  fix: write open_files = 1024',
  ],
  [
    'a name of every object, in a rule',
    'profiles.p.access.fs = [{ path = ".", constructor = 1, __proto__ = 2 }]\n',
    'error: unknown key `profiles.p.access.fs[0].constructor`\n  at .cordon/config.toml:1:39\n  fix: take it out; `profiles.p.access.fs[0]` knows path, read, write, create, update, delete, execute, external\n\nerror: unknown key `profiles.p.access.fs[0].__proto__`\n  at .cordon/config.toml:1:56\n  fix: take it out; `profiles.p.access.fs[0]` knows path, read, write, create, update, delete, execute, external',
  ],
  [
    'a single rule where a list belongs',
    '[profiles.p.access]\nfs = { path = "src", read = true }\n',
    'error: `profiles.p.access.fs`: expected a list of rules, got a table\n  at .cordon/config.toml:2:1\n  fix: write a list, fs = [{ path = "src", read = true }], or start the table with [[profiles.p.access.fs]]',
  ],
  [
    'SPEC 4.9: the sensitive paths can only grow',
    '[sandbox]\nsensitive = { strategy = "replace", value = [] }\n',
    'error: `sandbox.sensitive` can be extended, not replaced\n  at .cordon/config.toml:2:1\n  fix: write strategy = "append", or leave the strategy out',
  ],
  [
    'access in the defaults of all tools',
    '[conversation.tools."*".access]\nfs = []\n',
    'error: `conversation.tools.*.access`: the defaults of all tools cannot grant access\n  at .cordon/config.toml:1:1\n  fix: grant it to each tool by name: [conversation.tools.<name>.access]',
  ],
  [
    'access on a builtin tool',
    '[conversation.tools.b]\nsource = "builtin"\n[[conversation.tools.b.access.fs]]\npath = "."\n',
    'error: `conversation.tools.b.access`: a builtin tool runs inside Cordon, where no access rule would hold it\n  at .cordon/config.toml:3:24\n  fix: take the access out, or set enable = false on the tool',
  ],
  [
    'access without a source anywhere',
    '[[conversation.tools.b.access.fs]]\npath = "."\n',
    'error: `conversation.tools.b` has `access`, but no layer gives it a `source`\n  at .cordon/config.toml:1:24\n  fix: write source = "local" with a command, or source = "mcp.<server>", or correct the name of the tool',
  ],
  [
    'a server that is not there',
    `${SERVER}[conversation.tools.s]\nsource = "mcp.gihub.search"\n`,
    'error: `conversation.tools.s.source`: there is no MCP server "gihub"\n  at .cordon/config.toml:4:1\n  fix: did you mean "mcp.github.search"?',
  ],
  [
    'a command for a shell',
    '[conversation.tools.c]\nsource = "local"\ncommand = "python3 x.py"\n',
    'error: `conversation.tools.c.command`: no shell splits "python3 x.py" into words\n  at .cordon/config.toml:3:1\n  fix: write the words: command = ["python3", "x.py"]',
  ],
  [
    'a local tool without a command',
    '[conversation.tools.c]\nsource = "local"\n',
    'error: `conversation.tools.c` is a local tool without a `command`\n  at .cordon/config.toml:1:1\n  fix: write command = ["program", "word"]',
  ],
  [
    'an absolute rule path, at its own line',
    '[[profiles.p.access.fs]]\nread = true\npath = "/etc"\n',
    'error: `profiles.p.access.fs[0].path`: path is outside the workspace: /etc (absolute paths are not permitted)\n  at .cordon/config.toml:3:1\n  fix: write a path below the workspace, such as path = "src"; to reach a place outside, link it into the workspace and write external = true',
  ],
  [
    'a host with a wildcard',
    'profiles.p.access.net = [{ host = "a.example" }, { host = "*.example.com" }]\n',
    'error: `profiles.p.access.net[1].host`: "*.example.com" is not a host name or address: there are no wildcards, list each host\n  at .cordon/config.toml:1:52',
  ],
  [
    'a target that only the approvals may name',
    '[[profiles.p.access.fs]]\npath = "fork"\nexternal = true\napproved_target = "/etc"\n',
    'error: unknown key `profiles.p.access.fs[0].approved_target`\n  at .cordon/config.toml:4:1\n  fix: take it out; `profiles.p.access.fs[0]` knows path, read, write, create, update, delete, execute, external',
  ],
  [
    'a run rule without a test',
    '[conversation.tools."*"]\nrun = [{ arg = "/path", mode = "skip" }]\n',
    'error: `conversation.tools."*".run[0]` has no test\n  at .cordon/config.toml:2:8\n  fix: write exactly one of prefix, equals and pattern',
  ],
  [
    'the name that is no name',
    '[conversation.tools.__proto__]\nsource = "local"\n',
    'error: `conversation.tools.__proto__` is not a name that can be used\n  at .cordon/config.toml:1:1\n  fix: choose another name',
  ],
  [
    'a key that is there twice',
    '[sandbox]\nmode = "warn"\nmode = "off"\n',
    'error: not valid TOML: trying to redefine an already defined table or value\n  at .cordon/config.toml:3:1\n  fix: the key or table is already defined above: merge the two into one',
  ],
  [
    'a table that is there twice',
    '[sandbox]\nmode = "warn"\n[sandbox]\n',
    'error: not valid TOML: trying to redefine an already defined table or value\n  at .cordon/config.toml:3:2\n  fix: the key or table is already defined above: merge the two into one',
  ],
  [
    'a file that was cut off',
    '[profiles.p.access]\nfs = [{ path = "src"',
    'error: not valid TOML: expected comma or end of structure\n  at .cordon/config.toml:2:21\n  fix: something opened here is not closed: complete the line, or take it out',
  ],
  [
    'a star without quotes',
    '[conversation.tools.*]\nrun = "ask"\n',
    'error: not valid TOML: illegal character in key\n  at .cordon/config.toml:1:21\n  fix: quote the star: [conversation.tools."*"]',
  ],
  [
    'text without quotes',
    '[sandbox]\nmode = warn\n',
    'error: not valid TOML: invalid value\n  at .cordon/config.toml:2:8\n  fix: put text in quotes: key = "text"',
  ],
]

for (const [name, toml, message] of CASES)
  test(`SPEC 2: ${name}`, () => {
    expect(messageOf(workspace(toml))).toBe(message)
  })

test('SPEC 2: all problems at once, of all layers, in the order a person would go through them', () => {
  const user: Source = {
    layer: 'user',
    label: '~/.config/cordon/config.toml',
    text: 'sandbox.mode = 1\nx = 1\n',
  }
  const here = workspace(
    '[conversation.tools.a]\nrnu = "ask"\n[[profiles.p.access.fs]]\npath = ".."\nread = 1\n',
  )
  let problems: unknown
  try {
    mergeSources([here, user])
  } catch (error) {
    problems = (error as ConfigError).problems.map(
      ({ origin, key }) => `${origin.label}:${origin.line} ${key}`,
    )
  }
  expect(problems).toEqual([
    '~/.config/cordon/config.toml:1 sandbox.mode',
    '~/.config/cordon/config.toml:2 x',
    '.cordon/config.toml:1 conversation.tools.a',
    '.cordon/config.toml:2 conversation.tools.a.rnu',
    '.cordon/config.toml:4 profiles.p.access.fs[0].path',
    '.cordon/config.toml:5 profiles.p.access.fs[0].read',
  ])
})

test('SPEC 2: every file that is not TOML is reported', () => {
  const user: Source = { layer: 'user', label: 'u', text: 'a = \n' }
  expect(messageOf(user, workspace('[b\n'))).toBe(
    'error: not valid TOML: invalid value\n  at u:1:5\n\nerror: not valid TOML: illegal character in key\n  at .cordon/config.toml:1:3',
  )
})

test('SPEC 2: a layer that only adds access is fine', () => {
  const { config } = mergeSources([
    {
      layer: 'built-in',
      label: 'built-in tools',
      text: '[conversation.tools.fs_read_file]\nsource = "local"\n',
    },
    workspace('[[conversation.tools.fs_read_file.access.fs]]\npath = "src"\nread = true\n'),
  ])
  expect(config.conversation.tools['fs_read_file']).toEqual({
    enable: true,
    source: { kind: 'local' },
    run: 'ask',
    runIsWritten: false,
    result: 'unattended',
    timeout_secs: 120,
    max_output_bytes: 1048576,
    options: {},
    questions: {},
    access: {
      fs: [{ path: 'src', grants: new Set(['read']), external: false, origin: '.cordon/config.toml:1:1' }],
      net: [],
      env: [],
    },
  })
})

test('SPEC 5.1, 5.2: a server with its defaults, and variables as the reads they stand for', () => {
  const { config, warnings, explain } = mergeSources([workspace(`${SERVER}variables = ["GITHUB_TOKEN"]\n`)])
  expect(config.providers.mcp['github']).toEqual({
    command: 'npx',
    arguments: [],
    stateful: true,
    optional: false,
    spare: false,
    startup_timeout_secs: 60,
    variables: [{ name: 'GITHUB_TOKEN', read: true, origin: '.cordon/config.toml:3:14' }],
  })
  expect(warnings).toEqual([
    {
      origin: { layer: 'workspace', label: '.cordon/config.toml', line: 3, column: 1 },
      key: 'providers.mcp.github.variables',
      message: '`providers.mcp.github.variables` is deprecated',
      fix: 'write [[providers.mcp.github.access.env]] with name = "…" and read = true for each',
    },
  ])
  expect(explain(['providers', 'mcp', 'github', 'stateful'])).toEqual({
    value: true,
    origin: { layer: 'built-in', label: 'built-in defaults' },
    overrode: [],
  })
})

test('names from a file reach no prototype', () => {
  const { config } = mergeSources([workspace('[profiles.constructor.access]\n')])
  expect(Object.keys(config.profiles)).toEqual(['constructor'])
  expect(config.conversation.tools['constructor']).toBe(undefined)
  expect(({} as { access?: unknown }).access).toBe(undefined)
})

test('a config that is deeper than any stack, and one with more mistakes than a screen holds', () => {
  const deep = 'a.'.repeat(200_000)
  const message = '  at .cordon/config.toml:1:129\n  fix: write it flatter'
  expect(messageOf(workspace(`${deep}b = 1\n`))).toContain(
    `holds more than 64 levels of tables and lists\n${message}`,
  )
  const inOptions = `conversation.tools.x.options.y = [{ ${deep}b = 1 }]\n`
  expect(messageOf(workspace(inOptions))).toContain('`conversation.tools.x` holds more than 64 levels')
  const list = `profiles.p.access.fs = { value = [], x.${deep}b = 1 }\n`
  expect(messageOf(workspace(list))).toContain('`profiles.p.access` holds more than 64 levels')
  expect(messageOf(workspace(`[[profiles.p.access.fs]]\npath.${deep}b = 1\n`))).toContain(
    'expected text in quotes, got a table',
  )
  const many = Array.from({ length: 5_000 }, (_, i) => `profiles.p${i}.x = 1`).join('\n')
  expect(
    String(messageOf(workspace(many)))
      .split('\n')
      .at(-1),
  ).toBe('… and 4900 more problems')
})

test('SPEC 2: what a later layer covers with a table is wrong all the same', () => {
  const flags = {
    layer: 'flags',
    label: 'cordon run',
    key: ['profiles', 'cordon run', 'access', 'fs'],
    value: [],
  } as const
  expect(messageOf(workspace('profiles = 3\n'), flags)).toBe(messageOf(workspace('profiles = 3\n')))
  expect(messageOf(workspace('profiles = 3\n'), flags)).toBe(
    'error: `profiles`: expected a table, got 3\n  at .cordon/config.toml:1:1',
  )
  const named = { ...flags, key: ['profiles', 'p', 'access', 'fs'] }
  expect(messageOf(workspace('profiles.p.access = true\n'), named)).toBe(
    messageOf(workspace('profiles.p.access = true\n')),
  )
})

test('SPEC 5.1: a spare process is for stateless servers, and said to do nothing for others', () => {
  const text = '[providers.mcp.a]\ncommand = "a"\nspare = true\n'
  expect(mergeSources([workspace(text)]).warnings.map(({ message }) => message)).toEqual([
    '`providers.mcp.a.spare` does nothing: a stateful server has its process for the whole session',
  ])
  expect(mergeSources([workspace(`${text}stateful = false\n`)]).warnings).toEqual([])
})

test('SPEC 5.1 access of a server that nobody defines (any more) is a warning, and the rest goes on', () => {
  const { config, warnings } = mergeSources([
    {
      layer: 'user-workspace',
      label: 'mine',
      text: '[[providers.mcp.gone.access.env]]\nname = "TOKEN"\nread = true\n',
    },
  ])
  expect(Object.keys(config.providers.mcp)).toEqual([])
  expect(warnings.map(({ message }) => message)).toEqual([
    '`providers.mcp.gone` grants something to a server that nobody defines',
  ])
})
