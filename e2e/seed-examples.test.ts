import { createHash } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { cordon, type Setting, temporary, trust } from './harness/cordon.ts'

/**
 * The examples of the texts that Cordon was made from, about files, mounts and attachments: verbatim but for the name of
 * the program, each as one transcript. Those that other tests have are in grants.test.ts (the first of RFD 076 and D43),
 * mount.test.ts (the prompts and `--no-mount` of D43), attachment.test.ts (the table of D03) and provider.test.ts.
 */
function workspace(config: string, files: readonly string[]): Setting {
  const base = temporary()
  const here = {
    cwd: join(base, 'ws'),
    home: join(base, 'home'),
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
  }
  mkdirSync(here.home)
  write(here, '.cordon/config.toml', config)
  for (const name of files) write(here, name, `old ${name}\n`)
  trust(here)
  return here
}

function write({ cwd }: Setting, name: string, text: string): void {
  mkdirSync(dirname(join(cwd, name)), { recursive: true })
  writeFileSync(join(cwd, name), text)
}

/** The first line that a tool says, or why it does not. */
function call(here: Setting, tool: string, args: object): string {
  const { stdout, stderr } = cordon(here, 'tool', 'run', tool, '--args', JSON.stringify(args))
  return (stdout + stderr).split('\n')[0]!
}

const modify = (path: string): object => ({ edits: [{ path, old: 'old', new: 'new' }] })
/** Rules for every tool that is asked; RFD 076 writes `[[access.fs]]` for short. */
const forTools = (tools: readonly string[], rules: string): string =>
  tools.map((tool) => rules.replaceAll('[[access.fs]]', `[[conversation.tools.${tool}.access.fs]]`)).join('')

test('RFD 076, cross-layer merging: rules of a later layer are added; the long form replaces them', () => {
  const here = workspace(
    `# layer A (e.g. project default)
[[conversation.tools.fs_create_file.access.fs]]
path = "."
read = true
`,
    ['README.md'],
  )
  const user = join(here.home, '.config/cordon/config.toml')
  const layer = (text: string): void => {
    mkdirSync(dirname(user), { recursive: true })
    writeFileSync(user, text)
  }
  const may = (capability: string, path: string): string =>
    cordon(here, 'why', 'fs_create_file', capability, path).stdout.split(':')[0]!
  layer(`# layer B (e.g. user override)
[[conversation.tools.fs_create_file.access.fs]]
path = ".config/jp/tools"
read = true
write = true
`)
  expect([may('read', 'README.md'), may('create', '.config/jp/tools/a')]).toEqual(['allowed', 'allowed'])
  expect(call(here, 'fs_create_file', { path: '.config/jp/tools/a', content: 'x' })).toBe(
    'created .config/jp/tools/a (1 byte)',
  )
  expect(call(here, 'fs_create_file', { path: 'b', content: 'x' })).toBe('cordon: access denied: create on b')
  // The user's layer comes first here, so what replaces is written where it is later: for this user in this workspace.
  rmSync(user)
  write(
    here,
    '.cordon.toml',
    `[conversation.tools.fs_create_file.access.fs]
strategy = "replace"
value = [
{ path = ".config/jp/tools", read = true, write = true },
]
`,
  )
  trust(here)
  expect([may('read', 'README.md'), may('create', '.config/jp/tools/b')]).toEqual(['denied', 'allowed'])
})

test('RFD 076, filesystem rules: .env is denied in the middle of what may be read; src is not src_generated', () => {
  const rules = `[[access.fs]]
path = "."
read = true
[[access.fs]]
path = ".config/jp/tools"
read = true
write = true
[[access.fs]]
path = ".env"
# all capabilities default to false — denies all access to .env
`
  const src = '[[access.fs]]\npath = "src"\nread = true\n[[access.fs]]\npath = "*"\nread = true\n'
  const here = workspace(forTools(['fs_read_file'], rules) + forTools(['fs_list_files'], src), [
    'README.md',
    '.env',
    'src/lib.rs',
    'src_generated/foo.rs',
  ])
  expect(call(here, 'fs_read_file', { path: 'README.md' })).toBe('old README.md')
  expect(call(here, 'fs_read_file', { path: '.env' })).toBe('cordon: access denied: read on .env')
  expect(call(here, 'fs_list_files', { path: 'src' })).toBe('src/lib.rs')
  expect(call(here, 'fs_list_files', { path: 'src_generated' })).toBe(
    'cordon: access denied: read on src_generated',
  )
})

test('RFD 076, capabilities: write, write without delete, create alone', () => {
  const rules = `[[access.fs]]
path = "full"
write = true
[[access.fs]]
path = "kept"
write = true
delete = false
[[access.fs]]
path = "new"
create = true
`
  const tools = ['fs_create_file', 'fs_modify_file', 'fs_delete_file']
  const here = workspace(forTools(tools, rules), ['full/f', 'kept/f', 'new/f'])
  const seen = ['full', 'kept', 'new'].map((dir) => [
    call(here, 'fs_create_file', { path: `${dir}/g`, content: '' }),
    call(here, 'fs_modify_file', modify(`${dir}/f`)),
    call(here, 'fs_delete_file', { path: `${dir}/f` }),
  ])
  expect(seen).toEqual([
    ['created full/g (0 bytes)', 'changed full/f (same number of lines)', 'deleted full/f'],
    [
      'created kept/g (0 bytes)',
      'changed kept/f (same number of lines)',
      'cordon: access denied: delete on kept/f',
    ],
    [
      'created new/g (0 bytes)',
      'cordon: access denied: update on new/f',
      'cordon: access denied: delete on new/f',
    ],
  ])
})

test('RFD 076, longest prefix match: four paths and three rules', () => {
  const rules = `[[access.fs]]
# Rule A: workspace root (0 components after normalization)
path = "."
read = true
write = true
[[access.fs]]
# Rule B: src directory (1 component)
path = "src"
read = true
[[access.fs]]
# Rule C: generated code (2 components)
path = "src/generated"
read = true
write = true
`
  const paths = ['README.md', 'src/lib.rs', 'src/generated/schema.rs', 'tests/main.rs']
  const here = workspace(forTools(['fs_read_file', 'fs_modify_file'], rules), paths)
  expect(paths.map((path) => call(here, 'fs_read_file', { path }))).toEqual(
    paths.map((path) => `old ${path}`),
  )
  expect(paths.map((path) => call(here, 'fs_modify_file', modify(path)))).toEqual([
    'changed README.md (same number of lines)',
    'cordon: access denied: update on src/lib.rs',
    'changed src/generated/schema.rs (same number of lines)',
    'changed tests/main.rs (same number of lines)',
  ])
})

test('RFD D43, external on the workspace itself is an error that says where it belongs', () => {
  const here = workspace(
    '[[conversation.tools.fs_modify_file.access.fs]]\npath = "."\nexternal = true\nread = true\n',
    ['f'],
  )
  expect(cordon(here, 'policy', 'compile')).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^cordon: [\s\S]*external[\s\S]*\.cordon\/config\.toml:1:1/),
  })
})

test('RFD D43, the fork: mounted for one tool, written through, and nothing beside it', () => {
  const here = workspace('', ['Cargo.toml'])
  const fork = join(here.home, 'code/forks/x')
  mkdirSync(join(fork, 'src'), { recursive: true })
  writeFileSync(join(fork, 'src/lib.rs'), 'old')
  symlinkSync('/etc', join(fork, 'secrets'))
  expect(cordon(here, 'mount', 'add', 'fs_modify_file:fork=~/code/forks/x:rw').code).toBe(0)
  expect(readlinkSync(join(here.cwd, 'fork'))).toBe(fork)
  expect(call(here, 'fs_modify_file', modify('fork/src/lib.rs'))).toBe(
    'changed fork/src/lib.rs (same number of lines)',
  )
  expect(call(here, 'fs_modify_file', modify('Cargo.toml'))).toBe('changed Cargo.toml (same number of lines)')
  expect(call(here, 'fs_modify_file', modify('fork/secrets/passwd'))).toBe(
    'cordon: path escapes the workspace: fork/secrets/passwd (it leaves the approved target of the mount fork)',
  )
  // The store, in the shape of the text.
  const places = join(here.home, '.local/share/cordon/workspace')
  const [place] = readdirSync(places).filter((name) => !name.startsWith('.'))
  const store = JSON.parse(readFileSync(join(places, place!, 'approvals.json'), 'utf8')) as {
    mounts: unknown
  }
  expect(store.mounts).toEqual([
    {
      rule_path: 'fork',
      canonical_target: fork,
      approved_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    },
  ])
})

test('RFD D43, the lines of --mount, as `cordon mount add`', () => {
  const lines: readonly (readonly [readonly string[], string])[] = [
    [['fork=~/code/forks/serde-yaml'], 'fork ro'], // all enabled local tools, :ro default
    [['fork=~/code/forks/serde-yaml:ro'], 'fork ro'], // same, explicit
    [['a=~/p1', 'b=~/p2:ro'], 'a ro, b ro'], // repeated for multiple mounts
  ]
  for (const [flags, mounted] of lines) {
    const here = workspace('', [])
    for (const dir of ['code/forks/serde-yaml', 'p1', 'p2'])
      mkdirSync(join(here.home, dir), { recursive: true })
    expect(cordon(here, 'mount', 'add', ...flags).code).toBe(0)
    const mounts = JSON.parse(cordon(here, 'mount', 'ls', '--json').stdout) as readonly {
      readonly name: string
      readonly mode: string
      readonly state: string
    }[]
    const seen = new Set(
      mounts.map(({ name, mode, state }) => `${name} ${mode}${state === 'ok' ? '' : ` ${state}`}`),
    )
    expect([...seen].toSorted().join(', ')).toBe(mounted)
  }
})

test('RFD D03, the table of URIs: the same place twice is one, another place is another', () => {
  const here = workspace('', [])
  for (const dir of ['Downloads', 'Desktop']) {
    mkdirSync(join(here.home, dir))
    writeFileSync(join(here.home, dir, 'report.pdf'), '%PDF-1.7\n')
  }
  const data = join(temporary(), 'data.csv')
  writeFileSync(data, 'a,b\n')
  const uris = ['~/Downloads/report.pdf', '~/Desktop/report.pdf', '~/Downloads/report.pdf', data].map(
    (path) => {
      const { code, stdout } = cordon(here, 'attachment', 'add', path)
      expect(code).toBe(0)
      return /external:\S+\/[\w.]+/.exec(stdout)![0]
    },
  )
  const uri = (dir: string, name: string): string =>
    `external:${createHash('sha256').update(dir).digest('hex')}/${name}`
  const [downloads, desktop] = ['Downloads', 'Desktop'].map((dir) => uri(join(here.home, dir), 'report.pdf'))
  expect(uris).toEqual([downloads, desktop, downloads, uri(dirname(data), 'data.csv')])
})
