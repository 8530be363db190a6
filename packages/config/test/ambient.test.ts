import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type AmbientPlaces,
  ConfigError,
  mergeSources,
  readAmbientSources,
  type Source,
} from '../src/index.ts'

interface World extends AmbientPlaces {
  readonly home: string
}

/** A home and a workspace on the real disk. */
function world(files: Readonly<Record<string, string>>, more: Partial<AmbientPlaces> = {}): World {
  const base = mkdtempSync(join(tmpdir(), 'cordon-config-'))
  const [root, home] = [join(base, 'work'), join(base, 'home')]
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(base, name)), { recursive: true })
    writeFileSync(join(base, name), text)
  }
  mkdirSync(join(root, '.cordon'), { recursive: true })
  return {
    home,
    root,
    cwd: root,
    userConfigFile: join(home, '.config/cordon/config.toml'),
    userWorkspaceDir: join(home, 'data/work-1'),
    cfg: [],
    strangerIn: () => undefined,
    ...more,
    env: { HOME: home, ...more.env },
  }
}

function sourcesOf(places: AmbientPlaces): readonly Source[] {
  const { sources, problems } = readAmbientSources(places)
  if (problems.length > 0) throw new ConfigError(problems)
  return sources
}

function messageOf(places: AmbientPlaces): string {
  try {
    mergeSources(sourcesOf(places))
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).message
  }
  return 'no error'
}

test('SPEC 2: every layer in its order, each later one wins and all origins are kept', () => {
  const mode = (value: number): string => `[sandbox.limits]\nprocesses = ${value}\n`
  const conversation: Source = {
    layer: 'conversation',
    label: 'conversation',
    key: ['sandbox', 'limits', 'processes'],
    value: 7,
  }
  const places = world({
    'home/.config/cordon/config.toml': mode(1),
    'work/.cordon/config.toml': mode(2),
    'work/.cordon.toml': mode(3),
    'work/a/b/.cordon.toml': mode(4),
    'work/a/c/.cordon.toml': mode(99),
    'home/data/work-1/config.toml': mode(5),
    'work/a/b/extra.toml': mode(8),
  })
  const sources = sourcesOf({
    ...places,
    cwd: join(places.root, 'a/b'),
    env: { ...places.env, CORDON_CFG_SANDBOX__LIMITS__PROCESSES: '6' },
    conversation: [conversation],
    cfg: ['extra.toml', 'sandbox.limits.processes=9'],
    flags: [{ ...conversation, layer: 'flags', label: '--processes', value: 10 }],
  })
  const explained = mergeSources(sources).explain(['sandbox', 'limits', 'processes'])!
  const at = { line: 2, column: 1 }
  expect([explained, ...explained.overrode].map(({ value, origin }) => ({ value, ...origin }))).toEqual([
    { value: 10, layer: 'flags', label: '--processes' },
    { value: 9, layer: 'command-line', label: '--cfg sandbox.limits.processes=9' },
    { value: 8, layer: 'command-line', label: 'a/b/extra.toml', ...at },
    { value: 7, layer: 'conversation', label: 'conversation' },
    { value: 6, layer: 'environment', label: '$CORDON_CFG_SANDBOX__LIMITS__PROCESSES' },
    { value: 5, layer: 'user-workspace', label: '~/data/work-1/config.toml', ...at },
    { value: 4, layer: 'directory', label: 'a/b/.cordon.toml', ...at },
    { value: 3, layer: 'directory', label: '.cordon.toml', ...at },
    { value: 2, layer: 'workspace', label: '.cordon/config.toml', ...at },
    { value: 1, layer: 'user', label: '~/.config/cordon/config.toml', ...at },
    { value: 1024, layer: 'built-in', label: 'built-in defaults' },
  ])
})

test('SPEC 2: with no file at all there are the defaults', () => {
  expect(mergeSources(sourcesOf(world({}))).config.sandbox.mode).toBe('enforce')
})

test('decision 0033: variables in both spellings, and names they cannot spell in the value', () => {
  const { config } = mergeSources(
    sourcesOf(
      world(
        {},
        {
          env: {
            CORDON_CFG_SANDBOX_MODE: 'warn',
            CORDON_CFG_CONVERSATION_TOOLS_MY_TOOL_SOURCE: 'builtin',
            CORDON_CFG_CONVERSATION__TOOLS__OTHER__SOURCE: '"builtin"',
            CORDON_CFG_CONVERSATION__TOOLS: '{ "My.Tool" = { source = "builtin", timeout_secs = 5 } }',
            CORDON_CFG_PROFILES__P__ACCESS__FS: '{ strategy = "prepend", value = [{ path = "src" }] }',
            OTHER_CFG: 'x',
          },
          cfg: ['profiles.p.access.fs=[{ path = "docs", read = true }]', 'conversation.tools.*.run=skip'],
        },
      ),
    ),
  )
  expect(config.sandbox.mode).toBe('warn')
  expect(Object.keys(config.conversation.tools).toSorted()).toEqual(['My.Tool', 'my_tool', 'other'])
  expect(config.conversation.tools['My.Tool']).toMatchObject({ timeout_secs: 5, run: 'skip' })
  expect(config.profiles['p']?.access.fs.map(({ path, origin }) => `${path} ${origin}`)).toEqual([
    'src $CORDON_CFG_PROFILES__P__ACCESS__FS',
    'docs --cfg profiles.p.access.fs=[{ path = "docs", read = true }]',
  ])
})

test('decision 0033: a variable that names nothing, two things, or holds half a list', () => {
  const env = {
    CORDON_CFG_CONVERSATION_TOOLS_X_OPTIONS_RUN: 'ask',
    CORDON_CFG_SANDBOX_MOOD: 'warn',
    CORDON_CFG_SANDBOX__MODES: 'warn',
    CORDON_CFG_SANDBOX__SENSITIVE: '["a"',
  }
  expect(messageOf(world({}, { env }))).toBe(
    `error: \`CORDON_CFG_CONVERSATION_TOOLS_X_OPTIONS_RUN\` could mean \`conversation.tools.x.options.run\` or \`conversation.tools.x_options.run\`
  at $CORDON_CFG_CONVERSATION_TOOLS_X_OPTIONS_RUN
  fix: write two underscores between the parts: CORDON_CFG_CONVERSATION__TOOLS__X__OPTIONS__RUN or CORDON_CFG_CONVERSATION__TOOLS__X_OPTIONS__RUN

error: \`CORDON_CFG_SANDBOX_MOOD\` names no key of the configuration
  at $CORDON_CFG_SANDBOX_MOOD
  fix: write the parts of the key with two underscores between them, such as CORDON_CFG_SANDBOX__MODE

error: the value of \`CORDON_CFG_SANDBOX__SENSITIVE\` is not valid TOML: expected comma or end of structure
  at $CORDON_CFG_SANDBOX__SENSITIVE
  fix: write a TOML value such as true, 5, "text", ["a", "b"] or { a = 1 }`,
  )
  expect(messageOf(world({}, { env: { CORDON_CFG_SANDBOX__MODES: 'warn' } }))).toBe(
    'error: unknown key `sandbox.modes`\n  at $CORDON_CFG_SANDBOX__MODES\n  fix: did you mean `mode`?',
  )
})

test('SPEC 2: --cfg with a broken value, a missing file, and a value that only looks like more', () => {
  expect(messageOf(world({}, { cfg: ['sandbox.sensitive=["a"', 'nowhere.toml'] }))).toBe(
    `error: the value in --cfg "sandbox.sensitive=[\\"a\\"" is not valid TOML: expected comma or end of structure
  at --cfg sandbox.sensitive=["a"
  fix: write a TOML value such as true, 5, "text", ["a", "b"] or { a = 1 }

error: cannot read the config file: it does not exist
  at nowhere.toml
  fix: correct the path, or write --cfg key=value to set one value`,
  )
  expect(messageOf(world({}, { cfg: ['sandbox.mode="warn"\nsandbox.limits.processes = 1'] }))).toBe(
    'error: `sandbox.mode`: expected "enforce", "warn" or "off", got "\\"warn\\"\\nsandbox.limits.processes = 1"\n' +
      '  at --cfg "sandbox.mode=\\"warn\\"\\nsandbox.limits.processes = 1"\n  fix: write mode = "enforce"',
  )
})

const FILE_FIX = 'put a file in its place, or take it away'

test('a directory where a file is expected', () => {
  const places = world({})
  mkdirSync(join(places.root, '.cordon.toml'))
  expect(messageOf(places)).toBe(
    `error: cannot read the config file: it is a directory\n  at .cordon.toml\n  fix: ${FILE_FIX}`,
  )
})

test('a link loop, a FIFO, a file above it, and too much: each is named, all are reported', () => {
  const places = world({ 'home/data': '' })
  symlinkSync('config.toml', join(places.root, '.cordon/config.toml'))
  spawnSync('mkfifo', [join(places.root, '.cordon.toml')])
  mkdirSync(dirname(places.userConfigFile), { recursive: true })
  writeFileSync(places.userConfigFile, `# ${'x'.repeat(10 * 1024 * 1024)}\n`)
  expect(messageOf(places)).toBe(
    `error: cannot read the config file: it is larger than 8 MiB, which is the limit
  at ~/.config/cordon/config.toml
  fix: split it, or take out what is not configuration

error: cannot read the config file: it is a symbolic link, or reached through one
  at .cordon/config.toml
  fix: put the file itself there: what a link leads to may be in the hands of others

error: cannot read the config file: it is not a regular file
  at .cordon.toml
  fix: put a regular file in its place, or take it away

error: cannot read the config file: something above it is a file or a link, not a directory
  at ~/data/work-1/config.toml
  fix: put a directory there, or take it away`,
  )
})

test('text that is not UTF-8, at its line', () => {
  const places = world({})
  writeFileSync(join(places.root, '.cordon.toml'), Buffer.from([0x23, 0x0a, 0x23, 0xff, 0x0a]))
  expect(messageOf(places)).toBe(
    'error: cannot read the config file: it is not UTF-8 text\n  at .cordon.toml:2:1\n  fix: save it as UTF-8',
  )
})

/** Root may read everything, so another user asks. */
test('no permission, as an ordinary user', () => {
  const places = world({ 'work/.cordon/config.toml': 'sandbox.mode = "warn"\n' })
  chmodSync(dirname(places.root), 0o755)
  chmodSync(join(places.root, '.cordon/config.toml'), 0o000)
  const script = `
    import { ConfigError, readAmbientSources } from '@cordon/config'
    const { problems } = readAmbientSources(${JSON.stringify(places)})
    const error = new ConfigError(problems)
    console.log(problems.length === 0 ? 'read' : error.code, error.message)`
  const node = [
    process.execPath,
    '--conditions=cordon-source',
    '--input-type=module-typescript',
    '-e',
    script,
  ]
  const command =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', ...node] : node
  const { stdout, stderr } = spawnSync(command[0]!, command.slice(1), {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  })
  expect({ stdout, stderr }).toEqual({
    stdout:
      'CONFIG error: cannot read the config file: no permission\n  at .cordon/config.toml\n' +
      '  fix: give yourself read permission on it and on the directories above it\n',
    stderr: '',
  })
  expect(readdirSync(join(places.root, '.cordon'))).toEqual(['config.toml'])
})
