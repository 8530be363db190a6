import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { CORDON, cordon, type Setting, temporary, trust } from './harness/cordon.ts'

let here: { cwd: string; home: string }
let file: string

beforeEach(() => {
  here = { cwd: temporary(), home: temporary() }
  mkdirSync(join(here.cwd, '.cordon'))
  file = join(here.cwd, '.cordon/config.toml')
})

test('SPEC 2 init makes a workspace that validates, and is safe to repeat', () => {
  const cwd = temporary()
  expect(cordon({ ...here, cwd }, 'init')).toEqual({
    code: 0,
    stdout: `workspace at ${cwd}\nwrote .cordon/config.toml\n`,
    stderr: '',
  })
  const text = readFileSync(join(cwd, '.cordon/config.toml'), 'utf8')
  const id = readFileSync(join(cwd, '.cordon/id'), 'utf8')
  expect(cordon({ ...here, cwd }, 'init')).toEqual({
    code: 0,
    stdout: `workspace at ${cwd}\nkept .cordon/config.toml as it is\n`,
    stderr: '',
  })
  expect(readFileSync(join(cwd, '.cordon/config.toml'), 'utf8')).toBe(text)
  expect(readFileSync(join(cwd, '.cordon/id'), 'utf8')).toBe(id)
  // The first line tells editors where the schema is, and there it is.
  expect(text).toMatch(/^#:schema \.\/config\.schema\.json\n/)
  expect(readFileSync(join(cwd, '.cordon/config.schema.json'), 'utf8')).toBe(
    cordon({ ...here, cwd }, 'config', 'schema').stdout,
  )
  expect(cordon({ ...here, cwd }, 'config', 'validate')).toEqual({
    code: 0,
    stdout: 'the configuration is valid; 8 policies compile\n',
    stderr: '',
  })
})

test('SPEC 2 every layer, later over earlier, and explain names them all', () => {
  const key = 'conversation.tools.fs_read_file.timeout_secs'
  const says = (seconds: number): string => `${key} = ${seconds}\n`
  mkdirSync(join(here.home, '.config/cordon'), { recursive: true })
  writeFileSync(join(here.home, '.config/cordon/config.toml'), says(1))
  writeFileSync(file, `\n\n${says(2)}`)
  mkdirSync(join(here.cwd, 'deep/er'), { recursive: true })
  writeFileSync(join(here.cwd, 'deep/.cordon.toml'), says(3))
  const deep = { ...here, cwd: join(here.cwd, 'deep/er') }
  trust(deep)
  const value = (setting: Setting, ...more: string[]): unknown =>
    (JSON.parse(cordon(setting, 'config', 'explain', key, '--json', ...more).stdout) as { value: unknown })
      .value
  expect(value(here)).toBe(2)
  expect(value(deep)).toBe(3)
  expect(cordon(deep, 'config', 'explain', key).stdout).toBe(
    `${key} = 3  deep/.cordon.toml:1:33 (directory)
  instead of 2  .cordon/config.toml:3:33 (workspace)
  instead of 1  ~/.config/cordon/config.toml:1:33 (user)
`,
  )
  expect(value({ ...deep, cwd: deep.cwd }, '--cfg', `${key}=9`)).toBe(9)
  expect(
    value({
      ...deep,
      env: { CORDON_CFG_CONVERSATION__TOOLS__FS_READ_FILE__TIMEOUT_SECS: '4' },
    }),
  ).toBe(4)
})

test('SPEC 2 config set keeps comments and order, validates first, and bad input changes nothing', () => {
  const before =
    '# mine\n[conversation.tools."*"] # here\nrun = "skip" # for now\n\n[profiles.x.access]\nfs = [{ path = ".", read = true }]\n'
  writeFileSync(file, before)
  trust(here)
  expect(cordon(here, 'config', 'set', 'conversation.tools."*".run', 'ask')).toEqual({
    code: 0,
    stdout: `changed ${file}\n`,
    stderr: '',
  })
  expect(readFileSync(file, 'utf8')).toBe(before.replace('"skip"', '"ask"'))
  const kept = readFileSync(file, 'utf8')
  for (const [key, value] of [
    ['sandbox.mode', 'enforced'],
    ['sandbox.mode', 'warn'],
    ['sandbox.limits.processes', '1025'],
    ['sandbox.mdoe', 'warn'],
    ['profiles.x.access.fs', '+{ path = "/etc", read = true }'],
    ['profiles.x.access.fs', '+{ path = '],
    ['', 'x'],
  ]) {
    const { code, stdout } = cordon(here, 'config', 'set', key!, value!)
    expect({ key, code, stdout }).toEqual({ key, code: 2, stdout: '' })
    expect(readFileSync(file, 'utf8')).toBe(kept)
    expect(readdirSync(join(here.cwd, '.cordon'))).toEqual(['config.toml'])
  }
})

test('SPEC 2.1 config set refuses what files cannot say, and the command it names works as pasted', () => {
  const { code, stderr } = cordon(here, 'config', 'set', 'sandbox.mode', 'warn')
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr:
      'cordon: error: `sandbox.mode`: the files of a workspace cannot set it, only a person can\n' +
      '  at config set sandbox.mode\n' +
      '  fix: cordon config set --user-workspace sandbox.mode warn\n',
  })
  expect(cordon(here, 'config', 'explain', 'sandbox.unix_sockets').stdout).toBe(
    'sandbox.unix_sockets = "pairs"  built-in defaults (built-in)\n',
  )
  expect(existsSync(file)).toBe(false)
  const pasted = /: cordon (config set .*)$/m.exec(stderr)![1]!.split(' ')
  expect(cordon(here, ...pasted).code).toBe(0)
  expect(cordon(here, 'config', 'explain', 'sandbox.mode').stdout).toContain(
    'sandbox.mode = "warn"  ~/.local/',
  )
  const place = '+{ path = "~/x", read = true }'
  expect(cordon(here, 'config', 'set', 'profiles.docs.outside', place).stderr).toContain(
    `\n  fix: cordon config set --user-workspace profiles.docs.outside '${place}'\n`,
  )
  expect(cordon(here, 'config', 'set', '--user-workspace', 'profiles.docs.outside', place).code).toBe(0)
})

test('SPEC 2 a new tool is set at once: its source and its command each name the command that does', () => {
  const key = 'conversation.tools.report'
  const set = (part: string, value: string, words: string, message: string): void => {
    expect(cordon(here, 'config', 'set', `${key}.${part}`, value)).toEqual({
      code: 2,
      stdout: '',
      stderr:
        `cordon: error: \`${key}\` ${message}\n` +
        `  at config set ${key}.${part}\n` +
        `  fix: cordon config set ${key} '{ source = "local", command = ${words} }'\n`,
    })
  }
  set('source', 'local', '["program", "word"]', 'is a local tool without a `command`')
  const words = '["python3", "report.py"]'
  set('command', words, words, 'is configured, but no layer gives it a `source`')
  set('command', './report', '"./report"', 'is configured, but no layer gives it a `source`')
  expect(existsSync(file)).toBe(false)
  const whole = `{ source = "local", command = ${words} }`
  expect(cordon(here, 'config', 'set', key, whole).code).toBe(0)
  expect(cordon(here, 'config', 'set', `${key}.command`, '["python3", "r.py"]').code).toBe(0)
})

test('SPEC 2 set starts a file that is not there, in the layer that was asked for', () => {
  const { code } = cordon(here, 'config', 'set', '--user', 'sandbox.mode', 'warn')
  expect(code).toBe(0)
  expect(readFileSync(join(here.home, '.config/cordon/config.toml'), 'utf8')).toContain('mode = "warn"')
  expect(existsSync(file)).toBe(false)
})

test('SPEC 2 the schema is JSON Schema of the same keys', () => {
  const schema = JSON.parse(cordon(here, 'config', 'schema').stdout) as {
    properties: Record<string, unknown>
  }
  expect(Object.keys(schema.properties).toSorted()).toEqual([
    'assistant',
    'conversation',
    'profiles',
    'providers',
    'sandbox',
  ])
})

test('SPEC 2 the broken example: everything that is wrong, at once', () => {
  const cwd = join(import.meta.dirname, '../examples/broken')
  const { code, stdout, stderr } = cordon({ ...here, cwd }, 'config', 'validate')
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr.match(/^(?:cordon: )?error: .*$/gm)).toEqual([
    'cordon: error: `sandbox.mode`: the files of a workspace cannot set it, only a person can',
    'error: `conversation.tools.fetch` is a local tool without a `command`',
    'error: unknown key `conversation.tools.fetch.comand`',
    'error: `conversation.tools.fetch.access.fs[0].path`: path is outside the workspace: /etc (absolute paths are not permitted)',
    'error: `conversation.tools.fetch.access.fs[0].read`: expected true or false, got "yes"',
    'error: `conversation.tools.fetch.access.net[0].host`: "*.github.com" is not a host name or address: there are no wildcards, list each host',
    'error: `conversation.tools.fetch.access.env[0].name`: "A*B": * is only allowed at the end',
  ])
})

const bad: Record<string, { make: () => void; says: RegExp }> = {
  'truncated TOML': { make: () => writeFileSync(file, '[sandbox]\nmode = "wa'), says: /config\.toml:2:/ },
  'a duplicate key': { make: () => writeFileSync(file, 'a = 1\na = 2\n'), says: /config\.toml:2:/ },
  'a wrong type': { make: () => writeFileSync(file, '\nsandbox = 3\n'), says: /config\.toml:2:1/ },
  'a 10 MiB file': {
    make: () => writeFileSync(file, `# ${'x'.repeat(10 * 1024 * 1024)}\n`),
    says: /config\.toml/,
  },
  'a directory': { make: () => mkdirSync(file), says: /config\.toml/ },
  'a loop of links': { make: () => symlinkSync('config.toml', file), says: /config\.toml/ },
  'bytes that are not UTF-8': {
    make: () => writeFileSync(file, Buffer.from([0x61, 0xff, 0x0a])),
    says: /config\.toml/,
  },
}
for (const [name, { make, says }] of Object.entries(bad)) {
  test(`SPEC 2 bad input: ${name}: exit 2, the file named, nothing written`, () => {
    make()
    cordon(here, 'trust', '--yes') // what can be read is trusted, so that it is looked at; the rest is no obstacle
    const listing = [join(here.cwd, '.cordon'), here.home].map((dir) => readdirSync(dir, { recursive: true }))
    for (const args of [
      ['config', 'validate'],
      ['why', 'fs_read_file', 'read', 'x'],
      ['config', 'set', 'sandbox.mode', 'off'],
    ]) {
      const { code, stdout, stderr } = cordon(here, ...args)
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' })
      expect(stderr).toMatch(says)
      expect(stderr).not.toContain('unexpected error')
    }
    expect(
      [join(here.cwd, '.cordon'), here.home].map((dir) => readdirSync(dir, { recursive: true })),
    ).toEqual(listing)
  })
}

test('SPEC 2 bad input: no permission, as an ordinary user: exit 2, the file named', () => {
  writeFileSync(file, '')
  chmodSync(file, 0)
  const command = [process.execPath, CORDON, 'config', 'validate']
  const asUser =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'] : []
  const [program, ...args] = [...asUser, ...command]
  for (const place of [here.cwd, here.home]) chmodSync(place, 0o755)
  try {
    execFileSync(program!, args, {
      cwd: here.cwd,
      env: { ...process.env, HOME: here.home, CORDON_TRUST_UID: '0' },
      stdio: 'pipe',
    })
    expect.unreachable()
  } catch (error) {
    const { status, stderr } = error as { status: number; stderr: Buffer }
    expect({ status, stderr: stderr.toString() }).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('config.toml') as string,
    })
  }
})

test('docs/query.md: which commands need a workspace, and which take any directory', () => {
  const cwd = temporary()
  const run = (line: string) => cordon({ ...here, cwd }, ...line.split(' '))
  const needing = ['q hi', 'models', 'tool ls', 'attachment ls', 'conversation ls', 'mount ls', 'gc']
  for (const line of [...needing, 'config set assistant.max_steps 50'])
    expect([line, run(line)]).toMatchObject([
      line,
      { code: 2, stderr: expect.stringContaining('no workspace at or above') },
    ])
  for (const line of [
    'config show',
    'config explain sandbox.mode',
    'config validate',
    'config set --user-workspace assistant.max_steps 50',
    'policy compile',
    'policy explain fs_read_file',
    'why fs_read_file read x',
    'profile ls',
    'trust',
    'mcp ls',
  ])
    expect([line, run(line)]).toMatchObject([line, { code: 0 }])
})
