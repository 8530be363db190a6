import { existsSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Place, SOMEBODY } from '../harness/place.ts'

/** What each agent runs or obeys when it is started without Cordon, and has a place of its own. */
const OBEYED: Readonly<Record<string, readonly string[]>> = {
  claude: [
    'local/claude',
    'chrome/chrome-native-host',
    'daemon.json',
    'jobs/x/state.json',
    'workflows/x.js',
    'remote-settings.json',
    'remote-settings-consent.json',
  ].map((name) => `.claude/${name}`),
  codex: [
    'config.toml',
    'rules/default.rules',
    'hooks/x',
    'plugins/cache/x/.mcp.json',
    'packages/x/bin/codex',
  ].map((name) => `.codex/${name}`),
  gemini: [
    'settings.json',
    'trustedFolders.json',
    'trusted_hooks.json',
    'policy_integrity.json',
    'policies/x.toml',
    'acknowledgments/agents.json',
    'agents/x.md',
    'bin/rg',
    'tmp/bin/rg',
  ].map((name) => `.gemini/${name}`),
  opencode: ['.local/share/opencode/bin/rg', '.config/opencode/opencode.json'],
  copilot: [
    'mcp-config.json',
    'lsp-config.json',
    'permissions-config.json',
    'settings.json',
    'installed-plugins/x/plugin.json',
    'pkg/universal/9.9.9/index.js',
  ].map((name) => `.copilot/${name}`),
}

const STATE: Readonly<Record<string, string>> = {
  claude: '.claude/projects/x.jsonl',
  codex: '.codex/auth.json',
  gemini: '.gemini/oauth_creds.json',
  opencode: '.local/share/opencode/storage/x.json',
  copilot: '.copilot/config.json',
}

describe.each(Object.keys(OBEYED))('decision 0451 the profile %s', (profile) => {
  test.each(['missing', 'there'])('keeps what its agent runs or obeys, where it is %s', (kind) => {
    const place = new Place(SOMEBODY)
    const obeyed = OBEYED[profile]!
    for (const name of obeyed)
      for (const dir of upTo(place.home, dirname(join(place.home, name)))) place.mkdir(dir)
    if (kind === 'there') for (const name of obeyed) place.write(join(place.home, name), 'was')
    const plant = [...obeyed, STATE[profile]!]
      .map((name) => `mkdir -p ~/${dirname(name)}; echo evil > ~/${name}; chmod +x ~/${name}`)
      .join('; ')
    const bare = new Place(SOMEBODY)
    for (const each of kind === 'missing' ? [place, bare] : [place]) {
      each.run(['--profile', profile, '--', 'sh', '-c', `exec 2>/dev/null; ${plant}; true`])
      for (const name of obeyed)
        expect([name, readIfThere(join(each.home, name))]).toEqual([
          name,
          kind === 'there' ? 'was' : undefined,
        ])
      expect(readIfThere(join(each.home, STATE[profile]!))).toBe('evil\n')
    }
  })
})

test('decision 0451 that ~/.claude.json starts other programs than before is told, and nothing else of it', () => {
  const place = new Place(SOMEBODY)
  const file = place.write(join(place.home, '.claude.json'), '{"projects":{"/w":{"mcpServers":{}}},"n":1}')
  const save = (text: string): string =>
    place.run(['--profile', 'claude', '--', 'sh', '-c', `echo '${text}' > ~/.claude.json`]).stderr
  expect(save('{"projects":{"/w":{"mcpServers":{}},"/v":{"mcpServers":{}}},"n":2}')).toBe('')
  const told = `cordon: ${file} names other programs to start than before (mcpServers, hooks): look at it before you start its program without Cordon\n`
  const evil = '{"projects":{"/w":{"mcpServers":{"x":{"command":"/tmp/evil"}}}},"n":2}'
  expect(save(evil)).toContain(told.slice('cordon: '.length))
  expect(readFileSync(file, 'utf8')).toBe(`${evil}\n`)
  expect(save(evil.replace('2', '3'))).toBe('')
  expect(save('{"n":3}')).toContain('names other programs')
})

describe('decision 0594 what the settings of an agent run by themselves', () => {
  const hook = (command: string): unknown => [{ hooks: [{ type: 'command', command }] }]
  const CASES = [
    {
      profile: 'claude',
      settings: '.claude/settings.json',
      text: JSON.stringify({
        statusLine: { type: 'command', command: '~/.claude/bar.sh --short' },
        hooks: { Stop: hook('sh "$HOME/.claude/notify.sh"; true') },
        apiKeyHelper: '~/.claude/key',
        permissions: { deny: ['Read(~/.claude/todos/x.json)'] },
      }),
      files: ['.claude/bar.sh', '.claude/notify.sh', '.claude/key'],
      free: '.claude/todos/x.json',
    },
    {
      profile: 'claude',
      settings: '.claude/settings.json',
      text: '// mine\n{"statusLine": {"command": "~/.claude/bar.sh"}}',
      files: ['.claude/bar.sh'],
      free: '.claude/todos/x.json',
    },
    {
      profile: 'codex',
      settings: '.codex/config.toml',
      text: 'model = "gpt-5.1"\nnotify = ["python3", "HOME/.codex/notify.py"]\n[mcp_servers.x]\ncommand = \'HOME/.codex/server\'\n',
      files: ['.codex/notify.py', '.codex/server'],
      free: '.codex/sessions/x',
    },
    {
      profile: 'gemini',
      settings: '.gemini/settings.json',
      text: JSON.stringify({ mcpServers: { x: { command: 'node', args: ['~/.gemini/server.js'] } } }),
      files: ['.gemini/server.js'],
      free: '.gemini/history/x',
    },
    {
      profile: 'copilot',
      settings: '.copilot/mcp-config.json',
      text: JSON.stringify({ mcpServers: { x: { command: '~/.copilot/server', args: [] } } }),
      files: ['.copilot/server'],
      free: '.copilot/session/x',
    },
  ]
  test.each(CASES)('is held: $profile, $settings', ({ profile, settings, text, files, free }) => {
    const place = new Place(SOMEBODY)
    for (const name of [settings, ...files, free])
      for (const dir of upTo(place.home, dirname(join(place.home, name)))) place.mkdir(dir)
    place.write(join(place.home, settings), text.replaceAll('HOME/', `${place.home}/`))
    for (const name of [...files, free]) place.write(join(place.home, name), 'was')
    const script = [...files, free].map((name) => `echo evil > ~/${name}`).join('; ')
    place.run(['--profile', profile, '--', 'sh', '-c', `exec 2>/dev/null; ${script}`])
    for (const name of files) expect([name, readIfThere(join(place.home, name))]).toEqual([name, 'was'])
    expect(readIfThere(join(place.home, free))).toBe('evil\n')
  })

  test('is held in a project, too, and told where it is new', () => {
    const place = new Place(SOMEBODY)
    place.write('tools/hook.sh', 'was')
    place.write('free', 'was')
    place.mkdir(join(place.root, '.claude'))
    const hooks = { Stop: hook('"$CLAUDE_PROJECT_DIR"/tools/hook.sh'), Start: hook('tools/new.sh') }
    place.write('.claude/settings.json', JSON.stringify({ hooks }))
    const ended = place.run([
      '--',
      'sh',
      '-c',
      'echo 1 > free; echo 1 > tools/new.sh; echo evil > tools/hook.sh',
    ])
    expect(readFileSync(join(place.root, 'tools/hook.sh'), 'utf8')).toBe('was')
    expect(readFileSync(join(place.root, 'free'), 'utf8')).toBe('1\n')
    expect(ended.stderr).toContain('tools/new.sh was made, which the host obeys or runs by itself later')
  })

  const server = (file: string): unknown => ({ x: { command: 'node', args: [file] } })
  test.each<[string, unknown]>([
    ['.mcp.json', { mcpServers: server('tools/run.js') }],
    ['.cursor/mcp.json', { mcpServers: server('./tools/run.js') }],
    ['.vscode/mcp.json', { servers: server('${workspaceFolder}/tools/run.js') }],
    ['.github/mcp.json', { mcpServers: server('tools/run.js') }],
    ['.copilot/hooks/x.json', { hooks: { sessionStart: [{ type: 'command', bash: './tools/run.js' }] } }],
    ['.kiro/agents/x.json', { hooks: { agentSpawn: [{ command: './tools/run.js' }] } }],
    ['.amazonq/cli-agents/x.json', { mcpServers: server('tools/run.js'), prompt: 'see "free"' }],
    ['.cursor/worktrees.json', { 'setup-worktree': ['npm ci', 'bash tools/run.js'] }],
    ['.cursor/environment.json', { install: './tools/run.js', build: { context: 'free' } }],
    ['.github/hooks/x.json', { hooks: { sessionStart: [{ type: 'command', bash: './tools/run.js' }] } }],
    [
      'opencode.json',
      { mcp: { x: { type: 'local', command: ['node', 'tools/run.js'] } }, instructions: ['free'] },
    ],
  ])('the programs of servers and hooks are held: %s', (name, settings) => {
    const place = new Place(SOMEBODY)
    for (const dir of upTo(place.root, dirname(join(place.root, name)))) place.mkdir(dir)
    place.write(name, JSON.stringify(settings))
    place.write('tools/run.js', 'was')
    place.write('free', 'was')
    place.run(['--', 'sh', '-c', 'echo 1 > free; echo evil > tools/run.js'])
    expect(readFileSync(join(place.root, 'tools/run.js'), 'utf8')).toBe('was')
    expect(readFileSync(join(place.root, 'free'), 'utf8')).toBe('1\n')
  })

  const head = (lines: string, text = ''): string => `---\nname: x\n${lines}\n---\n${text}`
  test.each<[string, string]>([
    [
      '.claude/agents/x.md',
      head('hooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: "./tools/run.js"'),
    ],
    [
      '.claude/agents/x.md',
      head('mcpServers:\n  - x:\n      command: node\n      args:\n      - tools/run.js'),
    ],
    ['.claude/agents/x.md', head('mcpServers: [{ x: { command: node, args: [tools/run.js] } }]')],
    ['.claude/skills/x/SKILL.md', head('hooks:\n  Stop: [{ command: ./tools/run.js }]')],
    ['.claude/skills/x/SKILL.md', head('context: fork', 'Now: !`tools/run.js --all`')],
    ['.agents/skills/x/SKILL.md', head('hooks:\n  - command: |\n      cd .\n      tools/run.js')],
    ['.claude/commands/x.md', head('allowed-tools: Bash', '!`./tools/run.js`, and see `free`')],
    ['.gemini/extensions/x/gemini-extension.json', JSON.stringify({ mcpServers: server('tools/run.js') })],
    ['.gemini/extensions/x/hooks/hooks.json', JSON.stringify({ hooks: [{ command: 'tools/run.js' }] })],
    [
      '.mcp.json',
      JSON.stringify({
        mcpServers: { x: { command: 'x', env: { NODE_OPTIONS: '--import=./tools/run.js' } } },
      }),
    ],
    ['.claude/settings.json', JSON.stringify({ env: { BASH_ENV: 'tools/run.js', DATA: './free' } })],
  ])('what text for an agent, its extensions and its variables name is held: %s', (name, text) => {
    const place = new Place(SOMEBODY)
    for (const dir of upTo(place.root, dirname(join(place.root, name)))) place.mkdir(dir)
    place.write(name, text.replace('name: x', 'name: x\ndescription: the command: writes ./free'))
    place.write('tools/run.js', 'was')
    place.write('free', 'was')
    place.run(['--', 'sh', '-c', 'echo 1 > free; echo evil > tools/run.js'])
    expect(readFileSync(join(place.root, 'tools/run.js'), 'utf8')).toBe('was')
    expect(readFileSync(join(place.root, 'free'), 'utf8')).toBe('1\n')
  })

  test('settings that are links in such a directory are read as well', () => {
    const place = new Place(SOMEBODY)
    for (const dir of ['.github/hooks', 'shared', 'tools'])
      for (const each of upTo(place.root, join(place.root, dir))) place.mkdir(each)
    place.write('shared/x.json', JSON.stringify({ hooks: [{ bash: './tools/run.js' }] }))
    symlinkSync('../../shared/x.json', join(place.root, '.github/hooks/x.json'))
    place.write('tools/run.js', 'was')
    place.run(['--', 'sh', '-c', 'echo evil > tools/run.js'])
    expect(readFileSync(join(place.root, 'tools/run.js'), 'utf8')).toBe('was')
  })

  const SPELLINGS: readonly (readonly [written: string, file: string, settings: unknown])[] = [
    ...[
      '${CLAUDE_PROJECT_DIR:-.}/tools/a.sh',
      '${CLAUDE_PROJECT_DIR:-$(pwd)}/tools/a.sh',
      '$PWD/tools/a.sh',
      '"${PWD}"/tools/a.sh',
      'bash "$PWD/tools/a.sh"',
      '$(git rev-parse --show-toplevel)/tools/a.sh',
      '"$(git rev-parse --show-toplevel)"/tools/a.sh',
      '`git rev-parse --show-toplevel`/tools/a.sh',
      '${TOOLS:-./tools}/a.sh',
    ].map((command) => [command, 'tools/a.sh', { x: { command } }] as const),
    ['a space in an argument', 'my dir/s.sh', { x: { command: 'bash', args: ['my dir/s.sh'] } }],
    ['a space in a command', 'my dir/s.sh', { x: { command: './my dir/s.sh' } }],
    ['a space in quotes', 'my dir/s.sh', { x: { command: 'bash "$PWD/my dir/s.sh" -x' } }],
    ['a space behind a backslash', 'my dir/s.sh', { x: { command: 'bash my\\ dir/s.sh -x' } }],
    ['an absolute path', 'my dir/s.sh', { x: { command: 'bash', args: ['ROOT/my dir/s.sh'] } }],
    ['another directory', 'tools/d.sh', { x: { command: 'bash', args: ['./d.sh'], cwd: 'tools' } }],
    [
      'another directory, with a variable',
      'tools/d.sh',
      { x: { command: './d.sh', cwd: '${workspaceFolder}/tools' } },
    ],
  ]
  test.each(SPELLINGS)(
    'the program of a server is held, however it is written: %s',
    (_, file, mcpServers) => {
      const place = new Place(SOMEBODY)
      for (const dir of upTo(place.root, dirname(join(place.root, file)))) place.mkdir(dir)
      place.write('.mcp.json', JSON.stringify({ mcpServers }).replaceAll('ROOT', place.root))
      place.write(file, 'was')
      place.run(['--', 'sh', '-c', 'echo evil > "$0"', file])
      expect(readFileSync(join(place.root, file), 'utf8')).toBe('was')
    },
  )

  test.each<[string, string, readonly string[]]>([
    ['tools/server', 'tools/server.js', []],
    ['node ./tools/clean --fast', 'tools/clean.cjs', []],
    ['node tools/server', 'tools/server/index.js', []],
    ['node tools/server/', 'tools/server/package.json', []],
    ['java', 'tools/a.jar', ['-javaagent:tools/a.jar']],
    ['java', 'tools/b.jar', ['-cp', 'tools/a.jar:tools/b.jar', 'X']],
    ['ruby', 'tools/r.rb', ['-r./tools/r.rb']],
    ['ruby', 'tools/r.rb', ['-rtools/r.rb']],
    ['ruby -wr./tools/r.rb', 'tools/r.rb', []],
    ['cd free && node ./tools/run', 'tools/run.mjs', ['.', 'ROOT', 'https://example.com/x']],
  ])('a program that is named without its ending, or behind an option: %s, %s', (command, file, args) => {
    const place = new Place(SOMEBODY)
    const settings = JSON.stringify({ mcpServers: { x: { command, args } } })
    place.write('.mcp.json', settings.replaceAll('ROOT', place.root))
    for (const name of [file, 'package.json', 'index.js', 'free/package.json', 'tools/other.js'])
      place.write(name, 'was')
    const script = 'for f in "$@"; do echo evil > "$f"; done'
    const free = ['package.json', 'index.js', 'free/package.json', 'tools/other.js']
    place.run(['--', 'sh', '-c', script, 'sh', file, ...free])
    const read = (name: string): string => readFileSync(join(place.root, name), 'utf8')
    expect([file, ...free].map(read)).toEqual(['was', ...free.map(() => 'evil\n')])
  })

  test.each([
    ['over several lines', 'notify = ["""\\\n   tools/n.sh"""]'],
    ['over several lines, as they are', "notify = ['''\ntools/n.sh''']"],
    ['with a directory', 'command = "./n.sh"\ncwd = "tools"'],
  ])('the programs in TOML are held: %s', (_, text) => {
    const place = new Place(SOMEBODY)
    for (const dir of ['.codex', 'tools']) place.mkdir(join(place.root, dir))
    place.write('.codex/config.toml', `${text}\n`)
    place.write('tools/n.sh', 'was')
    place.run(['--', 'sh', '-c', 'echo evil > tools/n.sh'])
    expect(readFileSync(join(place.root, 'tools/n.sh'), 'utf8')).toBe('was')
  })

  test('settings that name very many files stop nothing, and keep nothing else from being held', () => {
    const place = new Place(SOMEBODY)
    place.write('tools/hook.sh', 'was')
    place.mkdir(join(place.root, '.claude'))
    place.write('.claude/settings.json', JSON.stringify({ hooks: { Stop: hook('tools/hook.sh') } }))
    const many = `
import json, os
for d in ('.github/hooks', '.kiro/hooks'):
    os.makedirs(d)
    for f in range(190):
        json.dump({'args': ['%s/%d/x%d.sh' % (d[1:3], f, n) for n in range(190)]}, open('%s/%d.json' % (d, f), 'w'))
for f in ('.mcp.json', '.cursor/mcp.json', '.roo/mcp.json', '.amazonq/mcp.json', 'opencode.json'):
    os.makedirs(os.path.dirname(f) or '.', exist_ok=True)
    json.dump({'args': ['%s/%d' % (f[1:3], n) for n in range(5000)]}, open(f, 'w'))
`
    place.write('many.py', many)
    place.shell('python3 many.py', [])
    const ended = place.run(['--', 'sh', '-c', 'echo ran; echo evil > tools/hook.sh'])
    expect(ended.stdout).toBe('ran\n')
    expect(readFileSync(join(place.root, 'tools/hook.sh'), 'utf8')).toBe('was')
    expect(ended.stderr).toContain(
      `the guard does not see everything: ${realpathSync(place.root)} has settings that name very many files, so not all of those are guarded\n`,
    )
  })

  test('a server of the person’s own, beside what the agent writes', () => {
    const place = new Place(SOMEBODY)
    for (const dir of upTo(place.home, join(place.home, '.claude/servers'))) place.mkdir(dir)
    const file = join(place.home, '.claude/servers/s.js')
    place.write(file, 'was')
    place.write(join(place.home, '.claude.json'), JSON.stringify({ mcpServers: server(file) }))
    place.run(['--profile', 'claude', '--', 'sh', '-c', 'echo evil > ~/.claude/servers/s.js'])
    expect(readFileSync(file, 'utf8')).toBe('was')
  })

  test.each([
    ['with a byte order mark', '\\357\\273\\277{"mcp\\\\u0053ervers":{"x":{"command":"evil"}}}'],
    ['that are no JSON to us', '{"mcpServers":{"x":{"command":"evil"}},}'],
  ])('settings %s are told', (_, text) => {
    const place = new Place(SOMEBODY)
    place.write(join(place.home, '.claude.json'), '{"a":1}')
    const { stderr } = place.run([
      '--profile',
      'claude',
      '--',
      'sh',
      '-c',
      `printf '${text}' > ~/.claude.json`,
    ])
    expect(stderr).toContain('/.claude.json names other programs to start than before (mcpServers, hooks)')
  })

  test.each(['launch.json', 'scheduled_tasks.json', 'workflows/w.js'])('.claude/%s is held', (name) => {
    const place = new Place(SOMEBODY)
    place.shell('mkdir -p .claude/workflows', [])
    place.write(`.claude/${name}`, 'was')
    place.run(['--', 'sh', '-c', `echo evil > .claude/${name}`])
    expect(readFileSync(join(place.root, '.claude', name), 'utf8')).toBe('was')
  })
})

describe('decision 0593 the logins of opencode', () => {
  const evil = { 'http://127.0.0.1:9': { type: 'wellknown', key: 'K', token: 't' } }
  const own = { anthropic: { type: 'api', key: '1' } }
  const saved = (place: Place): string | undefined =>
    readIfThere(join(place.home, '.local/share/opencode/auth.json'))
  const save = (place: Place, script: string): ReturnType<Place['run']> =>
    place.run(['--profile', 'opencode', '--', 'sh', '-c', `cd ~/.local/share/opencode; ${script}`])
  const echo = (entries: unknown): string => `echo '${JSON.stringify(entries)}' > auth.json`
  const opencode = (before?: unknown): Place => {
    const place = new Place(SOMEBODY)
    place.shell('mkdir -p ~/.config/opencode ~/.local/share/opencode', [])
    if (before !== undefined)
      place.write(join(place.home, '.local/share/opencode/auth.json'), JSON.stringify(before))
    return place
  }

  test('are kept, and go on to be what they are', () => {
    const place = opencode()
    expect(save(place, echo(own))).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(saved(place)!)).toEqual(own)
    const told = { ...own, ...evil }
    const theirs = opencode(told)
    expect(save(theirs, echo({ ...told, more: { type: 'api', key: '2' } })).stderr).toBe('')
    expect(saved(theirs)).toContain('more')
  })

  test.each([
    { name: 'written', script: echo({ ...own, ...evil }) },
    { name: 'a link', script: `${echo(evil)}; mv auth.json x; ln -s x auth.json` },
    { name: 'very long', script: `${echo(evil)}; head -c 2000000 /dev/zero | tr '\\0' ' ' >> auth.json` },
    { name: 'no JSON to us', script: `printf '\\357\\273\\277${JSON.stringify(evil)}' > auth.json` },
    {
      name: 'another of the same name',
      script: echo({ anthropic: { type: 'wellknown', key: 'K', token: 't' } }),
    },
  ])('get no address that settings are taken from: $name', ({ script }) => {
    for (const before of [own, undefined]) {
      const place = opencode(before)
      const { stderr } = save(place, script)
      expect(stderr).toContain('named an address that its program takes settings from (wellknown)')
      expect(saved(place)).toBe(before && JSON.stringify(before))
      expect(existsSync(join(place.home, '.local/share/opencode/auth.json.from-cordon-1'))).toBe(true)
    }
  })
})

test('SPEC 4.7 a file that a profile copies in is granted: no hint says otherwise', () => {
  const place = new Place(SOMEBODY)
  place.write(join(place.home, '.claude.json'), '{}')
  const script = 'cat ~/.claude.json ~/.claude/none; exit 1'
  const { stdout, stderr } = place.run(['--profile', 'claude', '--', 'sh', '-c', script])
  expect(stdout).toBe('{}')
  expect(stderr).not.toContain('hint:')
})

test('decision 0450 what Copilot would make at its first start is there, and stays empty', () => {
  const place = new Place(SOMEBODY)
  expect(place.run(['--profile', 'copilot', '--', 'true'])).toMatchObject({ code: 0, stderr: '' })
  expect(readdirSync(join(place.home, '.copilot')).toSorted()).toEqual(['installed-plugins', 'pkg'])
})

const readIfThere = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined

const upTo = (above: string, dir: string): readonly string[] =>
  dir === above ? [] : [...upTo(above, dirname(dir)), dir]
