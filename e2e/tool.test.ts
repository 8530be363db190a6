import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { cordon, type Ended, type Setting, temporary } from './harness/cordon.ts'
import { cordonAtTerminal } from './harness/terminal.ts'

/** A workspace with these files and this configuration, and a home of its own. */
function workspace(config: string, files: Readonly<Record<string, string>> = {}): Setting {
  const base = temporary()
  const cwd = join(base, 'ws')
  mkdirSync(join(base, 'home'))
  for (const [name, text] of Object.entries({ '.cordon/config.toml': config, ...files })) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), text, { mode: name.endsWith('.sh') ? 0o755 : 0o644 })
  }
  return { cwd, home: join(base, 'home') }
}

const run = (setting: Setting, tool: string, args: unknown): Ended =>
  cordon(setting, 'tool', 'run', tool, '--args', JSON.stringify(args))

const FS_TOOLS = [
  'fs_read_file',
  'fs_list_files',
  'fs_grep_files',
  'fs_create_file',
  'fs_modify_file',
  'fs_delete_file',
  'fs_move_file',
  'unix_utils',
]
const NARROW = FS_TOOLS.map(
  (tool) => `
[[conversation.tools.${tool}.access.fs]]
path = "."
read = true
write = true

[[conversation.tools.${tool}.access.fs]]
path = "private"
`,
).join('')
const FILES = { 'a.txt': 'alpha\nbeta\n', 'b.txt': 'bravo\n', 'private/key.txt': 'alpha secret\n' }

/** Every tool has its own rules, in its own lines. */
const denied = (
  tool: string,
  capability: string,
  target: string,
): string => `cordon: access denied: ${capability} on ${target}
  because: the rule private withholds it
  granted: . (read, create, update, delete)
  to allow:
    [[access.fs]]
    path = "${target}"
    ${capability} = true
  rule at: .cordon/config.toml:${FS_TOOLS.indexOf(tool) * 8 + 7}:1
`

test('SPEC 1.8: every fs tool does its work, and says exactly why it may not', () => {
  const setting = workspace(NARROW, FILES)
  const at = (name: string): string => join(setting.cwd, name)
  expect(run(setting, 'fs_read_file', { path: 'a.txt' })).toEqual({
    code: 0,
    stdout: 'alpha\nbeta\n',
    stderr: '',
  })
  expect(run(setting, 'fs_read_file', { path: 'private/key.txt' })).toEqual({
    code: 1,
    stdout: '',
    stderr: denied('fs_read_file', 'read', 'private/key.txt'),
  })
  expect(run(setting, 'fs_list_files', {})).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^a\.txt\nb\.txt\n/),
    stderr: '',
  })
  expect(run(setting, 'fs_list_files', { path: 'private' })).toMatchObject({
    code: 1,
    stderr: denied('fs_list_files', 'read', 'private'),
  })
  expect(run(setting, 'fs_grep_files', { pattern: 'alpha' })).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^1:alpha\n1 matching line in 1 file; 2 files searched\. [^]*policy/),
    stderr: '',
  })
  expect(run(setting, 'fs_grep_files', { pattern: 'x', path: 'private' })).toMatchObject({
    code: 1,
    stderr: denied('fs_grep_files', 'read', 'private'),
  })
  expect(run(setting, 'fs_create_file', { path: 'new/c.txt', content: 'c\n' })).toMatchObject({
    code: 0,
    stderr: '',
  })
  expect(readFileSync(at('new/c.txt'), 'utf8')).toBe('c\n')
  expect(run(setting, 'fs_create_file', { path: 'private/c.txt', content: 'c\n' })).toMatchObject({
    code: 1,
    stderr: denied('fs_create_file', 'create', 'private/c.txt'),
  })
  const change = (path: string) => ({ edits: [{ path, old: 'alpha', new: 'omega' }] })
  expect(run(setting, 'fs_modify_file', change('a.txt'))).toMatchObject({ code: 0, stderr: '' })
  expect(readFileSync(at('a.txt'), 'utf8')).toBe('omega\nbeta\n')
  expect(run(setting, 'fs_modify_file', change('private/key.txt'))).toMatchObject({
    code: 1,
    stderr: denied('fs_modify_file', 'update', 'private/key.txt'),
  })
  expect(run(setting, 'fs_move_file', { from: 'b.txt', to: 'new/b.txt' })).toMatchObject({
    code: 0,
    stderr: '',
  })
  expect(readFileSync(at('new/b.txt'), 'utf8')).toBe('bravo\n')
  expect(run(setting, 'fs_move_file', { from: 'private/key.txt', to: 'k' })).toMatchObject({
    code: 1,
    stderr: denied('fs_move_file', 'delete', 'private/key.txt'),
  })
  expect(run(setting, 'fs_delete_file', { path: 'new/b.txt' })).toMatchObject({ code: 0, stderr: '' })
  expect(existsSync(at('new/b.txt'))).toBe(false)
  expect(run(setting, 'fs_delete_file', { path: 'private/key.txt' })).toMatchObject({
    code: 1,
    stderr: denied('fs_delete_file', 'delete', 'private/key.txt'),
  })
  expect(run(setting, 'unix_utils', { util: 'cat', args: ['a.txt'] })).toMatchObject({
    code: 0,
    stdout: 'omega\nbeta\n',
  })
  // SPEC 1.8: it checks no reads; the kernel does.
  expect(run(setting, 'unix_utils', { util: 'cat', args: ['private/key.txt'] })).toMatchObject({
    stdout: expect.not.stringContaining('secret'),
  })
  expect(readFileSync(at('private/key.txt'), 'utf8')).toBe('alpha secret\n')
  expect(readdirSync(at('private'))).toEqual(['key.txt'])
}, 60_000)
