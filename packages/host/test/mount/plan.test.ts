import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Lab, mount, noMount } from './lab.ts'

let lab: Lab
let out: string

beforeEach(() => {
  lab = new Lab()
  out = lab.place('x')
})
afterEach(async () => {
  // Validation changes nothing, whatever it says.
  expect(readdirSync(lab.home).filter((name) => name !== '.local')).toEqual([])
  expect(await lab.approvedMounts()).toEqual([])
  expect(existsSync(join(lab.root, '.cordon/conversations'))).toBe(false)
  rmSync(lab.base, { recursive: true })
})

const step = async (text: string, cwd?: string): Promise<unknown> =>
  (await lab.plan([mount(text)], cwd)).steps[0]

test('SPEC 3.3 NAME is relative to the current directory: every example', async () => {
  for (const dir of ['foo/bar', 'qux']) mkdirSync(join(lab.root, dir), { recursive: true })
  const foo = join(lab.root, 'foo')
  expect(await step(`foo/bar/baz=${out}`)).toMatchObject({ name: 'foo/bar/baz' })
  expect(await step(`baz=${out}`, foo)).toMatchObject({ name: 'foo/baz' })
  expect(await step(`../qux/baz=${out}`, foo)).toMatchObject({ name: 'qux/baz' })
  expect(await step(`../baz=${out}`, foo)).toMatchObject({ name: 'baz' })
  expect(await lab.problem([mount(`../baz=${out}`)])).toBe(`mount ../baz=${out}: NAME escapes the workspace`)
})

test('SPEC 3.3 NAME is normalised', async () => {
  for (const name of ['fork', './fork', 'fork/', './/fork/.', 'a/../fork', 'fork/sub/..'])
    expect(await step(`${name}=${out}`)).toMatchObject({ name: 'fork' })
  expect(await step(`not/there/yet=${out}`)).toMatchObject({ name: 'not/there/yet', link: 'make' })
})

test('SPEC 3.3 NAME: absolute, the root, escaping and junk are refused', async () => {
  const cases: [string, string][] = [
    ['/fork', 'NAME must be relative to the current directory, not absolute'],
    [join(lab.root, 'fork'), 'NAME must be relative to the current directory, not absolute'],
    ['.', 'NAME is the workspace itself'],
    ['a/..', 'NAME is the workspace itself'],
    ['..', 'NAME escapes the workspace'],
    ['a/../../ws/fork', 'NAME escapes the workspace'],
    ['a\0b', 'NAME is not usable: invalid path: "a\\u0000b" (it contains a NUL byte)'],
  ]
  for (const [name, message] of cases) {
    const text = `${name}=${out}`
    const shown = name.includes('\0') ? JSON.stringify(text) : text
    expect(await lab.problem([mount(text)])).toBe(`mount ${shown}: ${message}`)
  }
})

test('SPEC 3.3 NAME is never under .cordon/ or where Cordon keeps its own, by any spelling', async () => {
  mkdirSync(join(lab.root, 'sub'))
  symlinkSync('.cordon', join(lab.root, 'alias'))
  for (const name of [
    '.cordon',
    '.cordon/x',
    'sub/../.cordon/x',
    '.CORDON/x',
    'sub/.cordon/x',
    '.cordon.toml',
  ])
    expect(await lab.problem([mount(`${name}=${out}`)])).toContain(
      "is Cordon's own: nothing is mounted there",
    )
  expect(await lab.problem([mount(`alias/x=${out}`)])).toBe(
    `mount alias/x=${out}: NAME .cordon/x is Cordon's own: nothing is mounted there`,
  )
})

test('SPEC 3.3 NAME may not lie in the user-local place, when the workspace is the home directory', async () => {
  const { env, platform, uid } = lab.surroundings
  const surroundings = { env, platform, uid, home: lab.root }
  const { openAmbientProject } = await import('../../src/project.ts')
  const { planIn } = await import('../../src/mount/change.ts')
  const options = { cwd: lab.root, surroundings, cfg: [] }
  const project = await openAmbientProject(options)
  for (const name of ['.local/share/cordon/x', '.config/cordon/config.toml'])
    expect(() => planIn(project, options, [mount(`${name}=${out}`)])).toThrow(
      `mount ${name}=${out}: NAME ${name} is where Cordon keeps its own files: nothing is mounted there`,
    )
})

test("SPEC 3.3 NAME's parent must really be inside; a link inside is followed to where the mount will lie", async () => {
  mkdirSync(join(lab.root, 'real'))
  symlinkSync('real', join(lab.root, 'alias'))
  symlinkSync(lab.outside, join(lab.root, 'away'))
  symlinkSync('loop', join(lab.root, 'loop'))
  writeFileSync(join(lab.root, 'file'), '')
  expect(await step(`alias/fork=${out}`)).toMatchObject({ name: 'real/fork' })
  expect(await lab.problem([mount(`away/fork=${out}`)])).toBe(
    `mount away/fork=${out}: the directory away leads out of the workspace`,
  )
  expect(await lab.problem([mount(`loop/fork=${out}`)])).toContain('more than 40 links, or a loop of them')
  expect(await lab.problem([mount(`file/fork=${out}`)])).toContain('not a directory')
})

test('SPEC 3.3 an existing non-symlink is an error, the same link is kept, a link elsewhere is an error', async () => {
  mkdirSync(join(lab.root, 'dir'))
  writeFileSync(join(lab.root, 'file'), '')
  symlinkSync(out, join(lab.root, 'same'))
  symlinkSync(`../outside/../outside/x`, join(lab.root, 'roundabout'))
  symlinkSync(lab.outside, join(lab.root, 'elsewhere'))
  symlinkSync('/not/there', join(lab.root, 'dangling'))
  for (const name of ['dir', 'file'])
    expect(await lab.problem([mount(`${name}=${out}`)])).toBe(
      `mount ${name}=${out}: ${name} exists and is not a symbolic link`,
    )
  for (const name of ['same', 'roundabout'])
    expect(await step(`${name}=${out}`)).toMatchObject({ link: 'keep' })
  expect(await lab.problem([mount(`elsewhere=${out}`)])).toBe(
    `mount elsewhere=${out}: elsewhere is a link to ${lab.outside} already; unmount it first`,
  )
  expect(await lab.problem([mount(`dangling=${out}`)])).toBe(
    `mount dangling=${out}: dangling is a link that leads nowhere; remove it first`,
  )
})

test('SPEC 3.3 PATH: ~ and ~/ expand, relative is from the current directory, and the target is canonical', async () => {
  mkdirSync(join(lab.root, 'foo'))
  symlinkSync(out, join(lab.outside, 'link'))
  const target = { target: out, targetKind: 'directory' }
  expect(await step('a=../outside/x')).toMatchObject(target)
  expect(await step('a=../../outside/x', join(lab.root, 'foo'))).toMatchObject(target)
  expect(await step(`a=${lab.outside}/link`)).toMatchObject(target)
  expect(await step(`a=${out}/../x/.`)).toMatchObject(target)
  expect(await step('a=~')).toMatchObject({ target: lab.home })
  expect(await step('a=~/../outside/x')).toMatchObject(target)
  expect(await step(`a=${out}/file`)).toMatchObject({ target: join(out, 'file'), targetKind: 'file' })
  // `..` after a link is where the link leads, as the kernel reads it.
  symlinkSync(join(out), join(lab.root, 'foo/there'))
  expect(await step('a=foo/there/../x')).toMatchObject(target)
  expect(await lab.problem([mount('a=~other/x')])).toContain(`the target ${lab.root}/~other/x does not exist`)
})

test('SPEC 3.3 PATH: missing, inside the workspace, unreachable and odd targets are refused', async () => {
  mkdirSync(join(lab.root, 'inside'))
  symlinkSync(join(lab.root, 'inside'), join(lab.outside, 'back'))
  symlinkSync('self', join(lab.outside, 'self'))
  execFileSync('mkfifo', [join(lab.outside, 'fifo')])
  mkdirSync(join(lab.home, '.local/share/cordon/workspace'), { recursive: true })
  const inside = 'the target lies inside the workspace; grant it with an ordinary rule'
  const cases: [string, string][] = [
    [`${lab.outside}/nothing`, `the target ${lab.outside}/nothing does not exist`],
    [`${out}:rx`, `the target ${out}:rx does not exist; the only modes are :ro and :rw`],
    [`${out}/file/x`, `the target ${out}/file/x does not exist`],
    ['inside', inside],
    ['.', inside],
    [`${lab.outside}/back`, inside],
    [`${lab.outside}/self`, `the target ${lab.outside}/self cannot be reached: a loop of links`],
    [`${lab.outside}/fifo`, `the target ${lab.outside}/fifo is neither a file nor a directory`],
    [
      '~/.local/share/cordon/workspace',
      'the target is where Cordon keeps approvals and configuration; no tool may have that',
    ],
  ]
  for (const [path, message] of cases)
    expect(await lab.problem([mount(`a=${path}`)])).toBe(`mount a=${path}: ${message}`)
  rmSync(join(lab.home, '.local'), { recursive: true })
})

const TOOLS = `
[conversation.tools."*"]
enable = true
${[
  'fs_read_file',
  'fs_list_files',
  'fs_grep_files',
  'fs_create_file',
  'fs_delete_file',
  'fs_move_file',
  'unix_utils',
]
  .map((name) => `[conversation.tools.${name}]\nenable = false\n`)
  .join('')}
[conversation.tools.think]
source = "builtin"
[conversation.tools.search]
source = "mcp.web"
[conversation.tools.my-own]
source = "local"
command = ["true"]
[providers.mcp.web]
command = "true"
`

test('SPEC 4.12 a file that a shipped tool could not replace is not mounted for it to be written', async () => {
  const file = join(out, 'f')
  const beside = join(lab.base, 'beside') // the directory of the workspace and of the home
  for (const path of [file, beside]) writeFileSync(path, '')
  expect(await lab.problem([mount(`fs_modify_file:one=${beside}:rw`)])).toBe(
    `mount fs_modify_file:one=${beside}:rw: fs_modify_file could not write ${beside}: it replaces a file in its directory, and that one is your home, or holds it or the workspace\n` +
      '  fix: put it into a directory of its own and mount that, or mount it without :rw',
  )
  expect(await step(`fs_modify_file:one=${beside}`)).toMatchObject({ mode: 'ro' })
  expect(await step(`fs_modify_file:one=${file}:rw`)).toMatchObject({ mode: 'rw' })
})

test('SPEC 3.3 without a tool: all enabled local ones; with one: it must be there, enabled and local', async () => {
  lab.write(TOOLS)
  expect(await step(`a=${out}`)).toMatchObject({
    scope: 'all local tools',
    tools: ['fs_modify_file', 'my-own'],
  })
  expect(await step(`fs_modify_file:a=${out}:rw`)).toMatchObject({
    scope: 'one tool',
    tools: ['fs_modify_file'],
    mode: 'rw',
  })
  const enabled = 'enabled local tools: fs_modify_file, my-own'
  const cases: [string, string][] = [
    ['nope', `the tool nope does not exist; ${enabled}`],
    ['constructor', `the tool constructor does not exist; ${enabled}`],
    ['fs_read_file', `the tool fs_read_file is disabled; ${enabled}`],
    ['search', `the tool search is not local: it is offered by an MCP server; ${enabled}`],
    ['think', `the tool think is not local: it runs inside Cordon; ${enabled}`],
  ]
  for (const [tool, message] of cases)
    expect(await lab.problem([mount(`${tool}:a=${out}`)])).toBe(`mount ${tool}:a=${out}: ${message}`)
  lab.write(`${TOOLS.replace('[conversation.tools.my-own]', '$&\nenable = false')}
[conversation.tools.fs_modify_file]
enable = false
`)
  expect(await lab.problem([mount(`a=${out}`)])).toBe(
    `mount a=${out}: no local tool is enabled, so nobody could use it`,
  )
})

test('SPEC 3.3 the same NAME twice, by any spelling, or one within the other', async () => {
  const other = lab.place('y')
  expect(await lab.problem([mount(`a=${out}`), mount(`./a/=${out}`)])).toBe(
    `mount ./a/=${out}: the same NAME twice\n  fix: each in a command of its own`,
  )
  expect(await lab.problem([mount(`fs_read_file:a=${out}`), mount(`fs_modify_file:a=${out}:rw`)])).toBe(
    `mount fs_modify_file:a=${out}:rw: the same NAME twice\n  fix: each in a command of its own`,
  )
  expect(await lab.problem([mount(`a=${out}`), mount(`a/b=${other}`)])).toBe(
    `mount a/b=${other}: a/b and a lie within each other`,
  )
  expect(await lab.problem([mount(`a/b=${out}`), mount(`a=${other}`)])).toBe(
    `mount a=${other}: a and a/b lie within each other`,
  )
})

test('SPEC 3.3 everything that is wrong is said at once', async () => {
  expect(
    await lab.problem([mount(`a=${out}`), mount('b'), mount(`/c=${out}`), mount(`a=${out}`), noMount('d')]),
  ).toBe(`mount b: expected [TOOL:]NAME=PATH[:ro|:rw], and there is no =
mount /c=${out}: NAME must be relative to the current directory, not absolute
mount a=${out}: the same NAME twice
  fix: each in a command of its own
mount d: no rule mounts d; there are: a`)
})

test('SPEC 3.1 a mount that would make an ordinary rule lead outside is refused', async () => {
  lab.write('[[conversation.tools.unix_utils.access.fs]]\npath = "vendor/a/include"\nread = true\n')
  expect(await lab.problem([mount(`fs_read_file:vendor/a=${out}`)])).toBe(
    `mount fs_read_file:vendor/a=${out}: unix_utils has an ordinary rule for vendor/a/include ` +
      '(.cordon/config.toml:1:1), which would then lead out of the workspace; remove it, or add external = true to it',
  )
  expect(await step(`fs_read_file:vendor/b=${out}`)).toMatchObject({ name: 'vendor/b' })
})
