import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cordon, temporary, trust } from './harness/cordon.ts'
import { cordonAtTerminal } from './harness/terminal.ts'

const CONFIG = `
[conversation.tools.show_input]
source = "local"
command = ["cat"]
parameters = { type = "object", properties = { path = { type = "string" } } }
options = { style = "short" }

[[conversation.tools.show_input.access.fs]]
path = "."
read = true

[[conversation.tools.show_input.access.fs]]
path = "src"
read = true
write = true
delete = false

[[conversation.tools.show_input.access.net]]
host = "api.github.com"
scheme = "https"
path_prefix = "/repos"
allow = true

[[conversation.tools.show_input.access.env]]
name = "GITHUB_*"
read = true

[conversation.tools.show_input.access.commands.git]
args = [["log", "**"]]
envs = ["GIT_*"]

[conversation.tools.stuck]
source = "local"
command = ["sh", "-c", "echo waiting for the lock >&2; sleep 300"]
timeout_secs = 15

[conversation.tools.choose]
source = "local"
command = ["sh", "-c", 'case "$(cat)" in *"\\"answers\\":{\\"which\\":"*) echo chosen;; *) echo "$0";; esac', '{"type":"needs_input","question":{"id":"which","text":"Which?","answer_type":"select","options":["red","blue"]}}']
`

function workspace(): { cwd: string; home: string } {
  const setting = { cwd: temporary(), home: temporary() }
  mkdirSync(join(setting.cwd, '.cordon'))
  mkdirSync(join(setting.cwd, 'src'))
  writeFileSync(join(setting.cwd, '.cordon/config.toml'), CONFIG)
  writeFileSync(join(setting.cwd, 'a.txt'), 'old')
  trust(setting)
  return setting
}

test('docs/tool-protocol.md shows what a tool really reads', () => {
  const setting = workspace()
  const fork = join(setting.home, 'fork')
  mkdirSync(fork)
  expect(cordon(setting, 'mount', 'add', `show_input:fork=${fork}`)).toMatchObject({ code: 0 })
  const ran = cordon(setting, 'tool', 'run', 'show_input', '--args', '{"path": "README.md"}')
  const page = readFileSync(join(import.meta.dirname, '../docs/tool-protocol.md'), 'utf8')
  const shown = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const id = /"workspace_id":"([^"]+)"/.exec(ran.stdout)?.[1] ?? ''
  const real = ran.stdout
    .replace(setting.cwd, '/home/me/project')
    .replace(fork, '/home/me/fork')
    .replace(id, '231a7nbd')
    .replace(/,"conversation_id":"[^"]+"/, '')
  expect(JSON.parse(real)).toEqual(JSON.parse(shown))
})

test('a tool that was stopped: what it had said is kept', () => {
  expect(cordon(workspace(), 'tool', 'run', 'stuck')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'cordon: the tool was stopped after 15 s (timeout_secs); it had said:\nwaiting for the lock\n',
  })
})

test('a mistyped choice is asked again', () => {
  const { screen, code, missed } = cordonAtTerminal(
    workspace(),
    ['tool', 'run', 'choose'],
    [
      ['2. blue\r\n', 'green\n'],
      ['2. blue\r\n', 'blue\n'],
    ],
  )
  expect({ code, missed }, screen).toEqual({ code: 0, missed: [] })
  expect(screen).toMatch(/chosen\n$/)
})

test('a model is offered the argument that replaces a file, not an edit of the configuration', () => {
  const setting = workspace()
  const create = (args: object) =>
    cordon(setting, 'tool', 'run', 'fs_create_file', '--args', JSON.stringify(args))
  expect(create({ path: 'a.txt', content: 'new' })).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'cordon: the tool asks "a.txt exists (3 bytes). Replace it?", and nobody can be asked; ' +
      'the same call with the argument overwrite answers it (overwrite = true)\n',
  })
  expect(create({ path: 'a.txt', content: 'new', overwrite: true })).toMatchObject({ code: 0 })
})
