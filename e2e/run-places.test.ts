import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Ended, Place, SOMEBODY } from './harness/place.ts'

/** A home with places beside the workspace, as people have them: the workspace lies two directories down in it. */
class Home extends Place {
  readonly code = this.mkdir(join(this.home, 'code'))
  readonly app = this.mkdir(join(this.code, 'app'))
  readonly shared = this.mkdir(join(this.home, 'shared'))

  constructor() {
    super(SOMEBODY)
    this.write(join(this.shared, 'notes'), 'notes\n')
  }

  at(cwd: string, ...args: readonly string[]): Ended {
    return this.run(args, { cwd })
  }

  git(cwd: string, ...args: string[]): string {
    const { uid, gid } = this.person
    const who = uid === undefined ? {} : { uid, gid: gid! }
    const named = ['-c', 'user.name=A', '-c', 'user.email=a@example.com', '-c', 'protocol.file.allow=always']
    const { status, stdout, stderr } = spawnSync('git', [...named, ...args], {
      ...who,
      cwd,
      env: this.env(),
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
    return stdout
  }

  repository(dir: string): void {
    this.mkdir(dir)
    this.git(dir, 'init', '-q', '-b', 'main', '.')
    this.git(dir, 'config', 'user.name', 'A')
    this.git(dir, 'config', 'user.email', 'a@example.com')
    this.write(join(dir, 'file'), 'one\n')
    this.git(dir, 'add', 'file')
    this.git(dir, 'commit', '-qm', 'one')
  }
}

let home: Home
beforeEach(() => {
  home = new Home()
})

describe('SPEC 4.8 places outside, in one step', () => {
  test('are there at their own path, and add to the default', () => {
    const read = home.at(
      home.app,
      '--read',
      '../../shared',
      '--',
      'sh',
      '-c',
      'cat ~/shared/notes; echo x > here',
    )
    expect(read).toMatchObject({ code: 0, stdout: 'notes\n', stderr: '' })
    expect(readFileSync(join(home.app, 'here'), 'utf8')).toBe('x\n')
    const refused = home.at(home.app, '--read', home.shared, '--', 'sh', '-c', 'echo x > ~/shared/made')
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain('to allow it: --write ~/shared\n')
    const written = home.at(home.app, '--write', home.shared, '--', 'sh', '-c', 'echo x > ~/shared/made')
    expect(written).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(join(home.shared, 'made'), 'utf8')).toBe('x\n')
  })

  test('a single file is updated in place; the hint for one that is replaced names its directory', () => {
    const args = ['--write', join(home.shared, 'notes'), '--', 'sh', '-c']
    expect(home.at(home.app, ...args, 'echo more >> ~/shared/notes').code).toBe(0)
    expect(readFileSync(join(home.shared, 'notes'), 'utf8')).toBe('notes\nmore\n')
    const replaced = home.at(home.app, ...args, 'echo x > ~/t; mv ~/t ~/shared/notes')
    expect(replaced.code).not.toBe(0)
    expect(replaced.stderr).toContain('to allow it: --write ~/shared\n')
  })

  test('a link leads to what is granted, and that is said', () => {
    symlinkSync('../shared', join(home.code, 'link'))
    const ended = home.at(home.app, '--read', '../link', '--', 'cat', '../link/notes')
    expect(ended).toMatchObject({
      code: 0,
      stdout: 'notes\n',
      stderr: `warning: --read ../link leads to ${home.shared}, and that is granted\n`,
    })
  })
})

describe('SPEC, "Words": the workspace without a mark', () => {
  test('is the repository around, said once; --here is just the directory', () => {
    home.repository(home.app)
    const part = home.mkdir(join(home.app, 'packages/a'))
    home.write(join(home.app, 'node_modules/.bin/tool'), '#!/bin/sh\necho tool of the root\n', 0o755)
    const wide = home.at(part, '--', '../../node_modules/.bin/tool')
    expect(wide).toMatchObject({
      code: 0,
      stdout: 'tool of the root\n',
      stderr: `warning: the workspace is ${home.app}, the git repository around here; with --here it is just this directory\n`,
    })
    expect(home.at(part, '--', 'ls', '../..')).toMatchObject({
      stdout: 'file\nnode_modules\npackages\n',
      stderr: '',
    })
    expect(home.at(part, '--here', '--', 'ls', '../..')).toMatchObject({ stdout: 'packages\n', stderr: '' })
  })

  test('a directory for which the person keeps something of their own stays the workspace it was', () => {
    home.repository(home.app)
    const part = home.mkdir(join(home.app, 'part'))
    expect(home.cordon(['init'], { cwd: part }).code).toBe(0)
    expect(home.at(part, '--', 'ls', '..')).toMatchObject({ stdout: 'part\n' })
  })

  test('git: a commit, a linked worktree, a submodule', () => {
    home.repository(home.app)
    home.git(home.app, 'worktree', 'add', '-q', '../tree')
    const tree = join(home.code, 'tree')
    home.write(join(tree, 'file'), 'two\n')
    expect(home.at(tree, '--', 'git', 'commit', '-qam', 'two')).toMatchObject({ code: 0, stderr: '' })
    expect(home.git(home.app, 'log', '--format=%s', 'tree')).toBe('two\none\n')

    const lib = join(home.home, 'lib')
    home.repository(lib)
    home.git(home.app, 'submodule', 'add', '-q', lib, 'lib')
    home.git(join(home.app, 'lib'), 'config', 'user.name', 'A')
    home.git(join(home.app, 'lib'), 'config', 'user.email', 'a@example.com')
    home.write(join(home.app, 'lib/file'), 'changed\n')
    const sub = join(home.app, 'lib')
    const inside = home.at(sub, '--', 'git', 'commit', '-qam', 'in the submodule')
    expect(inside).toMatchObject({ code: 0, stderr: '' })
    expect(home.git(sub, 'log', '-1', '--format=%s')).toBe('in the submodule\n')
    const around = home.at(
      sub,
      '--',
      'sh',
      '-c',
      'ls .. ../.git ../.git/modules; echo x > ../.git/modules/lib/config',
    )
    expect(around).toMatchObject({
      code: 2,
      stdout: '..:\nlib\n\n../.git:\nmodules\n\n../.git/modules:\nlib\n',
    })
    expect(around.stderr).toContain('to allow it: --write ~/code/app/.git/modules/lib/config\n')
  })

  test('is the nearest repository, as git itself takes it: not what lies around a clone, or a worktree', () => {
    home.repository(home.code)
    home.repository(home.app)
    const part = home.mkdir(join(home.app, 'part'))
    expect(home.at(part, '--', 'ls', '..', '../..')).toMatchObject({
      stdout: '..:\nfile\npart\n\n../..:\napp\n',
      stderr: `warning: the workspace is ${home.app}, the git repository around here; with --here it is just this directory\n`,
    })
    home.git(home.app, 'worktree', 'add', '-q', 'trees/one')
    const tree = join(home.app, 'trees/one')
    home.write(join(tree, 'file'), 'two\n')
    const commit = home.at(tree, '--', 'sh', '-c', 'git commit -qam two; ls ../..')
    expect(commit).toMatchObject({ code: 0, stdout: 'trees\n', stderr: '' })
    expect(home.git(home.app, 'log', '-1', '--format=%s', 'one')).toBe('two\n')
  })
})

describe('SPEC 4.3 nothing vanishes in silence', () => {
  test('beside the workspace nothing can be made', () => {
    home.repository(home.app)
    const ended = home.at(home.app, '--', 'git', 'worktree', 'add', '-q', '../other')
    expect(ended.code).not.toBe(0)
    expect(ended.stderr).toContain('Read-only file system')
    expect(ended.stderr).toContain(
      '    to allow it, first: mkdir ~/code/other\n    to allow it: --write ~/code/other\n',
    )
  })

  test('an output that the command line names in /tmp is told to be gone, a temporary file is not', () => {
    const gone = (path: string): string =>
      `cordon: the command ended with 0\n  note: ${path}: /tmp inside is private and gone now; what is to stay goes to the workspace, or to a directory with --write\n`
    const run = (script: string): string => home.at(home.app, '--', 'sh', '-c', script).stderr
    expect(run('echo x > /tmp/r')).toBe(gone('/tmp/r'))
    expect(home.at(home.app, '--', 'sort', '-o', '/tmp/sorted', '/dev/null').stderr).toBe(gone('/tmp/sorted'))
    expect(run('echo x > /tmp/r; cat /tmp/r')).toBe('')
    expect(run('echo x > here; echo x > /dev/null')).toBe('')
  })

  test('a directory that everybody may write is no workspace, unless it is marked', () => {
    const shared = home.mkdir(join(home.root, 'shared-by-all'))
    chmodSync(shared, 0o1777)
    const ended = home.at(shared, '--', 'echo', 'ran')
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toContain(
      "this one is everybody's, and what other programs keep in it would be given away",
    )
    expect(home.at('/tmp', '--', 'echo', 'ran')).toMatchObject({ code: 125, stdout: '' })
    expect(home.cordon(['init'], { cwd: shared }).code).toBe(0)
    expect(home.at(shared, '--', 'echo', 'ran')).toMatchObject({ code: 0, stdout: 'ran\n' })
  })

  test('what was written to the private home is told, caches aside, with what would have kept it', () => {
    const script =
      'mkdir -p ~/.config/tool/deep ~/.cache; touch ~/.viminfo ~/.lesshst; echo 1 > ~/.config/tool/deep/a; echo 2 > ~/.toolrc; echo 3 > ~/.cache/c; mkdir ~/empty'
    expect(home.at(home.app, '--', 'sh', '-c', script)).toMatchObject({
      code: 0,
      stderr:
        'cordon: the command ended with 0\n' +
        '  gone: ~/.toolrc, ~/.config/tool: written to the private home, which is no more\n' +
        '    to keep it, first: mkdir -p ~/.config/tool && touch ~/.toolrc\n' +
        '    to keep it: --write ~/.toolrc --write ~/.config/tool\n',
    })
    home.mkdir(join(home.home, '.config/tool'))
    home.write(join(home.home, '.toolrc'), '')
    const kept = ['--write', join(home.home, '.toolrc'), '--write', join(home.home, '.config/tool')]
    expect(home.at(home.app, ...kept, '--', 'sh', '-c', script)).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(join(home.home, '.config/tool/deep/a'), 'utf8')).toBe('1\n')
  })

  test('very many files are looked at only so far', () => {
    const script = 'for i in $(seq 1500); do : > ~/f$i; done'
    const { stderr } = home.at(home.app, '--', 'sh', '-c', script)
    expect(stderr.match(/~\/f\d+/g)?.length).toBe(60) // 20 names, and each twice more to keep it
    expect(stderr).toContain(' and more: written to the private home')
  })
})

describe('SPEC 4.8 profiles', () => {
  const agent = `[profiles.agent]
outside = [
  { path = "~/.agent/", read = true, write = true },
  { path = "~/.agent.json", read = true, write = true, replace = true },
]
`
  const config = (): string => home.write(join(home.home, '.config/cordon/config.toml'), agent)

  test('an agent keeps its login and state, replaces its file, and sees no key of the person', () => {
    config()
    home.write(join(home.home, '.agent.json'), '{"login":1}\n', 0o600)
    home.write(join(home.home, '.ssh/id_ed25519'), 'key')
    const script =
      'cat ~/.agent.json; echo new > ~/.agent.json.tmp; mv ~/.agent.json.tmp ~/.agent.json; echo s > ~/.agent/state; ls -A ~'
    const ended = home.at(home.app, '--profile', 'agent', '--', 'sh', '-c', script)
    expect(ended).toMatchObject({ code: 0, stderr: '', stdout: '{"login":1}\n.agent\n.agent.json\ncode\n' })
    expect(readFileSync(join(home.home, '.agent.json'), 'utf8')).toBe('new\n')
    expect(lstatSync(join(home.home, '.agent.json')).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(home.home, '.agent/state'), 'utf8')).toBe('s\n')
    expect(readdirSync(home.home).filter((name) => name.includes('cordon-'))).toEqual([])
  })

  test('a file that does not change is not touched, one that is new is made', () => {
    config()
    const made = home.at(home.app, '--profile', 'agent', '--', 'sh', '-c', 'echo first > ~/.agent.json')
    expect(made).toMatchObject({ code: 0, stderr: '' })
    const before = lstatSync(join(home.home, '.agent.json'), { bigint: true }).ctimeNs
    expect(home.at(home.app, '--profile', 'agent', '--', 'cat', `${home.home}/.agent.json`)).toMatchObject({
      stdout: 'first\n',
    })
    expect(lstatSync(join(home.home, '.agent.json'), { bigint: true }).ctimeNs).toBe(before)
  })

  test('a file is replaced also in a directory that is the way to the workspace', () => {
    home.write(
      join(home.home, '.config/cordon/config.toml'),
      '[profiles.p]\noutside = [{ path = "~/code/p.json", read = true, write = true, replace = true }]\n',
    )
    const script = 'echo 1 > ~/code/p.json && sed -i s/1/2/ ~/code/p.json && echo x > ~/code/lost'
    expect(home.at(home.app, '--profile', 'p', '--', 'sh', '-c', script)).toMatchObject({
      code: 0,
      stderr:
        'cordon: the command ended with 0\n' +
        '  gone: ~/code: written to the private home, which is no more\n' +
        '    to keep it: --write ~/code\n',
    })
    expect(readFileSync(join(home.code, 'p.json'), 'utf8')).toBe('2\n')
    expect(readdirSync(home.code)).toEqual(['app', 'p.json'])
    // Without the profile nothing is written there in vain.
    expect(home.at(home.app, '--', 'sh', '-c', 'echo x > ~/code/lost').code).toBe(2)
  })

  test('what the guard keeps of a home is said, also when the command succeeds', () => {
    home.write(join(home.home, '.claude/settings.json'), '{}')
    const script = 'echo x > ~/.claude/settings.json; true'
    const { code, stderr } = home.at(home.app, '--profile', 'claude', '--', 'sh', '-c', script)
    expect([code, stderr.split('\n').slice(1)]).toEqual([
      0,
      [
        'cordon: the command ended with 0',
        `  hint: ${join(home.home, '.claude/settings.json')} is guarded: the host obeys it, or runs it by itself later`,
        '    to allow it: --write ~/.claude/settings.json',
        '',
      ],
    ])
  })

  test('several at once: the command has what any of them grants', () => {
    home.write(
      join(home.home, '.config/cordon/config.toml'),
      `${agent}\n[profiles.reader]\naccess.fs = [{ path = ".", read = true }]\noutside = [{ path = "~/shared", read = true }]\n`,
    )
    const script = 'cat ~/shared/notes; echo s > ~/.agent/s; echo x > here'
    const both = home.at(home.app, '--profile', 'agent', '--profile', 'reader', '--', 'sh', '-c', script)
    expect(both).toMatchObject({ code: 0, stdout: 'notes\n', stderr: '' })
    expect(home.at(home.app, '--profile', 'reader', '--', 'sh', '-c', 'echo x > here').code).not.toBe(0)
  })

  test('the shipped ones are listed, shown, copied, and each of them compiles', () => {
    const listed = home.cordon(['profile', 'ls', '--json'], { cwd: home.app })
    const names = (JSON.parse(listed.stdout) as { name: string }[]).map(({ name }) => name)
    expect(names).toEqual(
      'claude codex gemini opencode copilot git npm pip uv cargo go playwright'.split(' '),
    )
    const flags = names.flatMap((name) => ['--profile', name])
    const shown = home.at(home.app, '--show', ...flags)
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    for (const host of ['api.anthropic.com', 'ab.chatgpt.com']) expect(shown.stdout).toContain(host)
    expect(home.cordon(['profile', 'copy', 'claude', 'mine'], { cwd: home.app }).code).toBe(0)
    const mine = home.cordon(['profile', 'show', 'mine', '--json'], { cwd: home.app })
    const claude = home.cordon(['profile', 'show', 'claude', '--json'], { cwd: home.app })
    const data = (ended: Ended): object => ({ ...(JSON.parse(ended.stdout) as object), name: '', from: '' })
    expect(data(mine)).toEqual(data(claude))
    expect(existsSync(join(home.home, '.claude'))).toBe(false) // who only asks makes nothing
  })

  test('nothing is made for a program that is not there', () => {
    expect(home.at(home.app, '--profile', 'claude', '--', 'claude')).toMatchObject({
      code: 127,
      stdout: '',
      stderr: 'cordon: cannot start claude: it is in no directory of PATH\n',
    })
    expect(existsSync(join(home.home, '.claude'))).toBe(false)
    expect(home.at(home.app, '--profile', 'claude', '--', 'true').code).toBe(0)
    expect(existsSync(join(home.home, '.claude'))).toBe(true)
  })

  test('one without a description has none in the list', () => {
    home.write(join(home.home, '.config/cordon/config.toml'), '[profiles.bare.access]\n')
    const { stdout } = home.cordon(['profile', 'ls'], { cwd: home.app })
    expect(stdout.split('\n').filter((line) => line.startsWith('bare'))).toEqual(['bare        configured'])
  })
})

test('a program of the home that another one starts is named, with the flag that lets it', () => {
  home.write(join(home.home, 'bin/tool'), '#!/bin/sh\necho tool\n', 0o755)
  const env = { PATH: `${join(home.home, 'bin')}:/usr/bin:/bin` }
  const run = (...flags: string[]): Ended =>
    home.run([...flags, '--', 'sh', '-c', 'tool'], { cwd: home.app, env })
  expect(run()).toMatchObject({
    code: 127,
    stderr:
      'sh: 1: tool: not found\n' +
      'cordon: the command ended with 127\n' +
      '  hint: ~/bin/tool is on your PATH, and not inside\n' +
      '    to allow it: --execute ~/bin/tool\n',
  })
  expect(run('--execute', join(home.home, 'bin/tool'))).toMatchObject({
    code: 0,
    stdout: 'tool\n',
    stderr: '',
  })
})

test('npm installs a package of the workspace, with nothing of the network', () => {
  home.write(join(home.app, 'package.json'), '{"name":"app","version":"1.0.0"}')
  home.write(join(home.app, 'dep/package.json'), '{"name":"dep","version":"1.2.3"}')
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--offline']
  const ended = home.at(home.app, '--', 'npm', 'install', ...quiet, './dep')
  expect(ended.code).toBe(0)
  expect(JSON.parse(readFileSync(join(home.app, 'node_modules/dep/package.json'), 'utf8'))).toMatchObject({
    name: 'dep',
  })
})

test('SPEC 4.8 --show starts nothing; --json-fd writes the outcome', () => {
  const shown = home.at(home.app, '--show', '--read', home.shared, '--', 'sh', '-c', 'echo x > ran')
  expect(shown.code).toBe(0)
  expect(shown.stdout.split('\n')[0]).toBe(`workspace: ${home.app}`)
  expect(shown.stdout).toContain(`${home.shared} `)
  expect(shown.stdout).toContain('every host')
  expect(shown.stdout).not.toContain('denied.invalid')
  expect(existsSync(join(home.app, 'ran'))).toBe(false)
  // What every command has, and what is guarded: what exists by name, the many names that do not by their count.
  expect(shown.stdout).toMatch(/ {2}always: read and started, as far as every user may: .*\/usr.*\/etc/)
  expect(shown.stdout).toContain(`  always: private, empty and gone at the end: ${home.home}, /tmp, `)
  expect(shown.stdout).toContain('  always: a loopback of its own, which is not the host’s\n')
  expect(shown.stdout).toMatch(/ {2}always: variables that are set: .*HOME.*, HTTP_PROXY/)
  expect(shown.stdout).toMatch(/ {2}built-in guard: \d+ names where nothing is yet: /)
  expect(shown.stdout).not.toContain('.bashrc')
  expect(shown.stdout).not.toContain('cooperative')
  const view = join(home.root, 'view.json')
  home.shell(`"$@" 3> ${view}`, ['run', '--show', '--json-fd', '3', '--', 'true'])
  expect(readFileSync(view, 'utf8')).toContain('".bashrc"')
  const out = join(home.root, 'outcome.json')
  const ended = home.shell(`"$@" 3> ${out}`, [
    'run',
    '--json-fd',
    '3',
    '--',
    'sh',
    '-c',
    'curl -s https://api.example:8443; touch ~/left; cat ~/shared/notes; exit 3',
  ])
  expect(ended.code).toBe(3)
  expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({
    code: 3,
    signal: null,
    refused: [{ host: 'api.example', port: 8443, url: null, fix: '--allow-net api.example:8443' }],
    gone: { names: ['~/left'], others: 0, first: 'touch ~/left', keep: '--write ~/left' },
    hints: [
      {
        text: '~/shared/notes exists on the host, and is not granted',
        first: null,
        fix: '--read ~/shared/notes',
        audience: 'person',
      },
    ],
  })
})

test('SPEC 4.11 --json-fd has the hints that --quiet keeps back', () => {
  const out = join(home.root, 'quiet.json')
  const script = 'f=notes; cat ~/shared/$f'
  const args = ['run', '--quiet', '--json-fd', '3', '--', 'sh', '-c', script]
  expect(home.shell(`"$@" 3> ${out}`, args).stderr).not.toContain('hint')
  expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({
    hints: [{ fix: '--read ~/shared/notes' }, {}],
  })
})

test('a flag that cannot be read names what was typed', () => {
  const refused = (...flags: string[]): Ended => home.run([...flags, '--', 'true'])
  expect(refused('--env', 'A=b')).toMatchObject({
    code: 125,
    stderr:
      'cordon: --env "A=b": expected the name of a variable, such as GITHUB_TOKEN, or a prefix, such as AWS_*\n' +
      '  fix: A=b before cordon sets it, and --env A passes it on\n',
  })
  expect(refused('--env', '=b')).toMatchObject({
    code: 125,
    stderr:
      'cordon: --env "=b": expected the name of a variable, such as GITHUB_TOKEN, or a prefix, such as AWS_*\n',
  })
  expect(refused('--env', 'A*B')).toMatchObject({
    code: 125,
    stderr:
      'cordon: --env "A*B": expected the name of a variable, such as GITHUB_TOKEN, or a prefix, such as AWS_*\n',
  })
  for (const port of ['0', '99999'])
    expect(refused('--allow-net', `h.example:${port}`)).toMatchObject({
      code: 125,
      stderr: `cordon: --allow-net "h.example:${port}": a port is a number from 1 to 65535\n`,
    })
  expect(home.run(['--env', 'AB_*', '--', 'sh', '-c', 'echo $AB_C'], { env: { AB_C: 'c' } }).stdout).toBe(
    'c\n',
  )
  expect(refused('--allow-net', 'exa*mple.com').stderr).toBe(
    'cordon: --allow-net "exa*mple.com": there are no patterns of hosts\n  fix: name each host\n',
  )
  expect(refused('--allow-net', '*.example.com').stderr).toBe(
    'cordon: --allow-net "*.example.com": there are no patterns of hosts\n  fix: name each host, such as --allow-net api.example.com\n',
  )
})

test('config unset takes one key out, and says where it is not set', () => {
  const file = home.write(
    join(home.home, '.config/cordon/config.toml'),
    '# mine\n[sandbox]\nmode = "warn"\n\n[sandbox.limits]\nprocesses = 50\n',
  )
  const unset = (key: string): Ended => home.cordon(['config', 'unset', '--user', key], { cwd: home.root })
  expect(unset('sandbox.mode')).toMatchObject({ code: 0, stderr: '' })
  expect(readFileSync(file, 'utf8')).toBe('# mine\n[sandbox]\n\n[sandbox.limits]\nprocesses = 50\n')
  expect(unset('sandbox.mode')).toMatchObject({
    code: 2,
    stderr: 'cordon: "sandbox.mode" is not set in this file; cordon config explain says where it is\n',
  })
})

test('SPEC 4.7 why answers for a plain run, and for absolute paths', () => {
  const ask = (...words: string[]): Ended => home.cordon(['why', 'run', ...words], { cwd: home.app })
  expect(ask('read', join(home.shared, 'notes'))).toMatchObject({ code: 1 })
  expect(ask('read', '~/shared').stdout).toContain('cordon run --read ~/shared -- COMMAND\n')
  expect(ask('update', join(home.app, 'x'))).toMatchObject({ code: 0 })
  expect(ask('read', '/usr/bin/env')).toMatchObject({ code: 0 })
  // As the flag is called.
  expect(ask('write', '~/shared').stdout).toContain('cordon run --write ~/shared -- COMMAND\n')
})

test('SPEC 4.7 why suggests nothing for what does not exist', () => {
  for (const path of ['~/nothere', '~/nothere/deep', '/opt/nothere'])
    expect(home.cordon(['why', 'run', 'read', path], { cwd: home.app })).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^denied: [^\n]*\n(?: {2}really: [^\n]*\n)? {2}because: it does not exist\n$/,
      ) as string,
    })
})

test('a run inside a run says so in a sentence, and works as far as Landlock stacks', () => {
  const inner = 'cat ~/shared/notes; cordon run --write . -- sh -c "echo made > made; cat made"'
  const bin = join(import.meta.dirname, '../packages/cli')
  home.write(
    join(home.home, 'bin/cordon'),
    `#!/bin/sh\nexec ${process.execPath} ${bin}/bin/cordon.cjs "$@"\n`,
    0o755,
  )
  const shown = ['--execute', bin, '--execute', join(home.home, 'bin'), '--execute', process.execPath]
  const ended = home.run([...shown, '--read', home.shared, '--', 'sh', '-c', `PATH=~/bin:$PATH; ${inner}`], {
    cwd: home.app,
  })
  expect(ended).toMatchObject({ code: 0, stdout: 'notes\nmade\n' })
  expect(ended.stderr).toBe(
    'warning: this is inside another `cordon run`: it can take away from what that one grants, and has no home, /tmp or network of its own\n',
  )
})
