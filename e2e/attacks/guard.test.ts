import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Step } from '../harness/terminal.ts'
import { WITHOUT_NAMESPACES } from '../harness/kernels.ts'
import { PEOPLE, Place } from '../harness/place.ts'
import { Repository } from '../harness/repository.ts'

const PYTHON = { env: { PATH: '/usr/bin:/bin' } }

describe.each(PEOPLE)('SPEC 4.10 the guard, as $name', (person) => {
  test('what exists is not changed, removed, replaced or moved: Cordon’s files, git’s, an editor’s', () => {
    const place = new Repository(person)
    const files = [
      '.cordon/config.toml',
      '.cordon.toml',
      '.vscode/tasks.json',
      '.envrc',
      '.npmrc',
      '.git/config',
    ]
    for (const file of files.slice(0, -1)) place.write(file, '# mine\n')
    const before = files.map((file) => place.read(file))
    const script = files
      .flatMap((file) => [
        `echo evil > ${file}`,
        `echo evil >> ${file}`,
        `rm -f ${file}`,
        `echo evil > new; mv new ${file}`,
        `ln ${file} hard && echo evil > hard`,
        `chmod 777 ${file}`,
        `truncate -s 0 ${file}`,
      ])
      .concat([
        'mv .git .git2 && cp -r .git2 .git',
        'mv .vscode v',
        'rm -r .vscode',
        'mv .cordon c',
        'rmdir .git/hooks',
      ])
      .concat(['echo evil > .git/hooks/pre-commit', 'echo evil > .vscode/settings.json', 'mv .git/hooks h2'])
      .map((line) => `(${line}) 2>/dev/null && echo "$_"`)
      .join('\n')
    const ended = place.run(['--quiet', '--', 'sh', '-c', `${script}\ntrue`])
    expect(ended).toMatchObject({ code: 0, stdout: '' })
    expect(files.map((file) => place.read(file))).toEqual(before)
    expect(existsSync(join(place.root, '.git/hooks/pre-commit'))).toBe(false)
    expect(readdirSync(join(place.root, '.vscode'))).toEqual(['tasks.json'])
  })

  test('what agents and editors start by themselves is held; the text for a model, and their state, is not', () => {
    const place = new Repository(person)
    const held = [
      ['.claude/skills/s/SKILL.md', '.codex/config.toml', '.codex/hooks.json', '.gemini/settings.json'],
      ['.gemini/commands/c.toml', '.gemini/extensions/e/gemini-extension.json', '.gemini/hooks/h.sh'],
      ['opencode.json', 'opencode.jsonc', '.opencode/opencode.json', '.opencode/plugins/p.js'],
      ['.opencode/plugin/p.js', '.opencode/tools/t.js', '.opencode/tool/t.js', '.opencode/commands/c.md'],
      ['.github/hooks/h.json', '.github/copilot/settings.json', '.github/extensions/e/extension.mjs'],
      ['.github/mcp.json', '.cursor/hooks.json', '.cursor/hooks/h.sh', '.windsurf/hooks.json'],
      ['.zed/tasks.json', '.devcontainer/devcontainer.json', '.devcontainer.json', '.helix/languages.toml'],
      ['.exrc', '.vimrc', '.nvimrc', '.nvim.lua', '.dir-locals.el', '.cursor/worktrees.json'],
      ['.cursor/environment.json', '.cursor/cli.json', '.claude/plugins/p/x', '.agents/skills/s/SKILL.md'],
      ['.gemini/.env', '.roo/mcp.json', '.kiro/settings/mcp.json', '.kiro/hooks/h', '.kiro/agents/a.json'],
      ['.amazonq/mcp.json', '.amazonq/cli-agents/a.json', '.aider.conf.yml'],
    ].flat()
    const free = [
      ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md', '.claude/plans/p.md', '.codex/notes.md', '.gemini/GEMINI.md'],
      ['.opencode/package.json', '.opencode/node_modules/m/index.js', '.opencode/agents/a.md'],
      ['.github/workflows/ci.yml', '.github/copilot-instructions.md', '.cursor/rules/r.mdc'],
      ['.windsurf/rules/r.md'],
    ].flat()
    for (const file of [...held, ...free]) place.write(file, 'mine')
    const script = [...held, ...free]
      .map((file) => `(echo changed > ${file}; rm -f ${file}.new; echo new > ${file}.new) 2>/dev/null`)
      .concat(held.map((file) => `(rm ${file} || mv ${file} m || echo x > m && mv m ${file}) 2>/dev/null`))
      .join('\n')
    expect(place.run(['--quiet', '--', 'sh', '-c', `${script}\ntrue`]).code).toBe(0)
    expect(held.filter((file) => place.read(file) !== 'mine')).toEqual([])
    expect(free.filter((file) => place.read(file) !== 'changed\n')).toEqual([])
  })

  test('what a commit, a prompt or a package manager obeys is held; what they work on is not', () => {
    const place = new Repository(person)
    const held = [
      ['.pre-commit-config.yaml', 'lefthook.yml', '.lefthook.json', 'lefthook-local.toml', '.lefthook/pre/x'],
      ['.hg/hgrc', '.jj/repo/config.toml', '.jj/workspace-config.toml', 'mise.toml', '.mise.toml'],
      ['mise.local.toml', '.config/mise/config.toml', '.tool-versions', '.yarnrc', '.yarnrc.yml'],
      ['.yarn/releases/y.cjs', '.yarn/plugins/p.cjs', '.pnpmfile.cjs', 'bunfig.toml'],
    ].flat()
    const free = [
      ['.hg/store/x', '.jj/repo/op_store/x', '.jj/working_copy/x', '.yarn/cache/x', '.yarn/install-state.gz'],
      ['package.json', 'yarn.lock', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'Makefile', '.nvmrc'],
      ['.config/other', 'mise/tasks/t', '.codex/rules/r'],
    ].flat()
    for (const file of [...held, ...free]) place.write(file, 'mine')
    const script = [...held, ...free]
      .map((file) => `(echo changed > ${file}; echo x > m; mv m ${file}) 2>/dev/null`)
      .join('\n')
    expect(place.run(['--quiet', '--', 'sh', '-c', `${script}\ntrue`]).code).toBe(0)
    expect(held.filter((file) => place.read(file) !== 'mine')).toEqual([])
    expect(free.filter((file) => place.read(file) !== 'x\n')).toEqual([])
  })

  test('an agent with its profile keeps its state, and not what it starts by itself without Cordon', () => {
    const place = new Place(person)
    const held = [
      '.codex/config.toml',
      '.codex/hooks.json',
      '.codex/rules/r',
      '.codex/.env',
      '.gemini/settings.json',
      '.gemini/extensions/e/x',
    ]
    const free = ['.codex/sessions/s.jsonl', '.codex/auth.json', '.gemini/tmp/x']
    for (const file of [...held, ...free]) place.write(join(place.home, file), 'mine')
    const script = [...held, ...free].map((file) => `echo changed > ~/${file}`).join('; ')
    const profiles = ['--profile', 'codex', '--profile', 'gemini']
    expect(place.run(['--quiet', ...profiles, '--', 'sh', '-c', `${script}; true`]).code).toBe(0)
    const now = (files: readonly string[]): unknown =>
      files.map((file) => readFileSync(join(place.home, file), 'utf8'))
    expect([now(held), now(free)]).toEqual([held.map(() => 'mine'), free.map(() => 'changed\n')])
  })

  test('a name is not taken by a file without one, nor by exchange, nor by a mount', () => {
    const place = new Repository(person)
    place.write('.envrc', '# mine\n')
    const script = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def told(name, result): print(name, 'no' if result < 0 else 'yes')
fd = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o644)
os.write(fd, b'evil')
told('linkat', libc.linkat(-100, b'/proc/self/fd/%d' % fd, -100, b'.envrc', 0x400))
open('evil', 'w').write('evil')
told('exchange', libc.renameat2(-100, b'evil', -100, b'.envrc', 2))
told('rename', libc.rename(b'evil', b'.envrc'))
told('bind', libc.mount(b'evil', b'.envrc', None, 4096, None))
told('umount', libc.umount2(b'.envrc', 2))
told('unshare', libc.unshare(0x10020000))
`
    expect(place.run(['--', 'python3', '-c', script], PYTHON).stdout).toBe(
      'linkat no\nexchange no\nrename no\nbind no\numount no\nunshare no\n',
    )
    expect(place.read('.envrc')).toBe('# mine\n')
  })

  test('git on the host runs nothing that came from inside: hooks, config, commondir, the .git file', () => {
    const place = new Repository(person)
    const evil = join(place.root, 'evil.sh')
    place.write('evil.sh', `#!/bin/sh\ntouch ${place.root}/ran\n`, 0o755)
    const ended = place.sh(`
      git config core.fsmonitor ${evil}
      GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=${evil} git config core.hooksPath .
      cp -r .git evil; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = ${evil}\\n' > evil/config
      echo ../evil > .git/commondir
      printf '[core]\\n\\tfsmonitor = ${evil}\\n' > .git/config.worktree
      mkdir -p .git/modules/x/hooks && cp evil.sh .git/modules/x/hooks/post-checkout
      rm -r .git/hooks; mv .git g; echo 'gitdir: evil' > .git
      true`)
    expect(ended.code).toBe(0)
    place.git('status')
    place.git('commit -q --allow-empty -m second')
    expect(existsSync(join(place.root, 'ran'))).toBe(false)
    const moved = ['commondir', 'config.worktree', 'modules'].map((name) => `.git/${name}.denied-by-cordon-1`)
    expect(moved.map((name) => existsSync(join(place.root, name)))).toEqual([true, true, true])
  })

  test('what git and people do every day goes on working', () => {
    const place = new Repository(person)
    place.write('package.json', '{ "name": "p", "version": "1.0.0", "scripts": { "test": "echo tested" } }')
    const ended = place.run([
      '--',
      'sh',
      '-ec',
      `git checkout -q -b feature
       echo b >> a; git commit -q -a -m second
       echo c >> a; git stash -q; git stash pop -q; git checkout -q -- a
       git tag v1; git switch -q main; git merge -q feature; git branch -q -f other
       git gc -q; git fsck > /dev/null
       git fetch -q . feature:fetched; git log --oneline | wc -l; git rev-parse --short v1 > /dev/null
       mkdir new; cd new; git init -q; git config x.y z; cd ..
       npm install --silent --offline; npm test --silent`,
    ])
    expect(ended).toMatchObject({ code: 0, stdout: '2\ntested\n' })
    expect(place.git('log --oneline').split('\n')).toHaveLength(3)
  })

  test('what does not is named with the flag that allows it, and the flag works as pasted', () => {
    const place = new Repository(person)
    const commands = [
      ['git', 'config', 'x.y', 'z'],
      ['git', 'remote', 'add', 'o', 'u'],
    ]
    for (const command of commands) {
      const { stderr } = place.run(['--', ...command])
      const flag = /hint: \.git\/config is guarded: .*\n {4}to allow it: (--write) (\S+)\n/.exec(stderr)
      expect(flag?.slice(1)).toEqual(['--write', '.git/config'])
      // SPEC 4.8: it adds to the default, so the rest of the workspace is there as before.
      const allowed = place.run([
        flag![1]!,
        flag![2]!,
        '--',
        'sh',
        '-ec',
        '"$@"; echo x > a',
        'sh',
        ...command,
      ])
      expect(allowed).toMatchObject({ code: 0, stdout: '', stderr: '' })
    }
    expect(place.git('config x.y')).toBe('z\n')
    expect(place.read('.git/config')).toContain('[remote "o"]')
    const hook = place.run(['--write', '.git/hooks', '--', 'sh', '-c', 'echo x > .git/hooks/pre-push'])
    expect(hook).toMatchObject({ code: 0, stderr: '' })
  })

  test('a flag that only reads does not lift it', () => {
    const place = new Repository(person)
    const ended = place.run([
      '--quiet',
      '--read',
      '.git/config',
      '--',
      'sh',
      '-c',
      'echo x > .git/config; echo y > a',
    ])
    expect(ended.code).toBe(0)
    expect(place.read('.git/config')).not.toBe('x\n')
    expect(place.read('a')).toBe('y\n')
  })

  test('what is new at a guarded path is told and stays, so that `git init` works', () => {
    const place = new Place(person)
    const ended = place.run(['--', 'sh', '-c', 'git init -q && mkdir .husky && echo x > .envrc'])
    expect(ended).toMatchObject({ code: 0 })
    const real = realpathSync(place.root)
    expect(ended.stderr).toBe(
      'cordon: the command ended with 0\n' +
        ['.envrc', '.git', '.husky']
          .map((name) => `  new: ${real}/${name} was made, which the host obeys or runs by itself later\n`)
          .join(''),
    )
    expect(['.git', '.husky', '.envrc'].filter((name) => existsSync(join(place.root, name)))).toHaveLength(3)
  })

  test('a guarded link is pinned, and what it leads to in the workspace guarded', () => {
    const place = new Repository(person)
    execFileSync('rm', ['-r', join(place.root, '.git/hooks')])
    place.write('tools/hooks/pre-commit', 'mine')
    place.write('dot/claude/settings.json', 'mine')
    symlinkSync('../tools/hooks', join(place.root, '.git/hooks'))
    symlinkSync('dot/claude', join(place.root, '.claude'))
    symlinkSync('/nonexistent/rc', join(place.root, '.envrc'))
    const ended = place.run([
      '--quiet',
      '--',
      'sh',
      '-c',
      `echo evil > .git/hooks/pre-commit; echo evil > tools/hooks/pre-commit; echo evil > tools/hooks/new
       mv tools t2; rm .git/hooks; mv .git/hooks h; rm .claude; ln -sfn /tmp .claude
       echo evil > dot/claude/settings.json; echo evil > .claude/settings.json; rm .envrc; cat .git/hooks/pre-commit`,
    ])
    expect(ended).toMatchObject({ stdout: 'mine', code: 0 })
    expect([place.read('.git/hooks/pre-commit'), place.read('.claude/settings.json')]).toEqual([
      'mine',
      'mine',
    ])
    expect(readdirSync(join(place.root, 'tools/hooks'))).toEqual(['pre-commit'])
  })

  test('submodules: their configuration, their .git files, and repositories that nobody asked for', () => {
    const place = new Repository(person)
    place.git('init -q --bare -b main source.git')
    place.git('push -q source.git main')
    const allow = '-c protocol.file.allow=always'
    place.git(`${allow} submodule --quiet add ${place.root}/source.git libs/sub`)
    place.git('commit -q -m sub')
    const before = place.read('.git/modules/libs/sub/config')
    const ended = place.run([
      '--quiet',
      '--',
      'sh',
      '-c',
      `echo evil >> .git/modules/libs/sub/config; echo evil > libs/sub/.git; rm -f libs/sub/.git; mv libs l2
       echo evil > .gitmodules; mkdir .git/modules/evil; mkdir .git/modules/libs/evil
       cd libs/sub && echo more >> a && git -c user.name=a -c user.email=b commit -q -a -m in && echo committed
       echo e > ../../.git/modules/libs/sub/commondir`,
    ])
    expect(ended).toMatchObject({ code: 0, stdout: 'committed\n' })
    expect(place.read('.git/modules/libs/sub/config')).toBe(before)
    expect(readdirSync(join(place.root, '.git/modules'))).toEqual(['libs'])
    expect(readdirSync(join(place.root, '.git/modules/libs'))).toEqual(['sub'])
    expect(existsSync(join(place.root, '.git/modules/libs/sub/commondir'))).toBe(false)
    expect(place.git('log --format=%s -1', join(place.root, 'libs/sub'))).toBe('in\n')
  })

  test('below the root: the current directory’s repository, and each directory’s .cordon.toml', () => {
    const place = new Place(person)
    place.init()
    const inner = place.mkdir(join(place.root, 'packages/inner'))
    place.write('packages/.cordon.toml', '')
    place.write('packages/inner/.git/config', 'mine')
    place.write('packages/inner/.git/HEAD', '')
    place.write('packages/inner/.npmrc', 'mine')
    place.run(
      [
        '--quiet',
        '--',
        'sh',
        '-c',
        'echo evil > .git/config; echo evil > .npmrc; echo x > ../.cordon.toml; echo e > .cordon.toml',
      ],
      { cwd: inner },
    )
    const read = (name: string): string => readFileSync(join(place.root, 'packages', name), 'utf8')
    expect(['inner/.git/config', 'inner/.npmrc', '.cordon.toml'].map(read)).toEqual(['mine', 'mine', ''])
  })

  test('below a writable mount, and Cordon’s own places, which no rule opens', () => {
    const place = new Place(person)
    const out = place.mkdir(join(place.home, '.config'))
    place.write(join(out, 'cordon/config.toml'), '')
    place.write(join(out, '.git/config'), 'mine')
    place.write(join(out, '.git/HEAD'), '')
    place.write(join(out, '.envrc'), 'mine')
    place.write(join(out, 'other'), 'theirs')
    symlinkSync(out, join(place.root, 'm'))
    place.config(
      '[profiles.p.access]\nfs = [{ path = ".", read = true, write = true, execute = true }, ' +
        '{ path = "m", external = true, read = true, write = true, execute = true }]\n' +
        '[profiles.q.access]\nfs = [{ path = "m", external = true, read = true, write = true }, ' +
        '{ path = "m/cordon", external = true, read = true, write = true }]\n',
    )
    // The target, and that ~/.config is where secrets live. A mount of Cordon's own is not even asked about.
    const yes: Step = ['[y/N] ', 'y\r']
    for (const [profile, steps] of [
      ['p', [yes, yes]],
      ['q', [yes]],
    ] as const)
      expect(place.terminal(['--profile', profile, '--', 'true'], steps)).toMatchObject({
        code: 0,
        missed: [],
      })
    const attack =
      'for f in m/cordon/config.toml m/cordon/new m/.git/config m/.envrc m/other; do echo evil > $f; done; mv m/cordon m/c; cat m/.git/config'
    expect(place.run(['--quiet', '--profile', 'p', '--', 'sh', '-c', attack]).stdout).toBe('mine')
    place.run(['--quiet', '--profile', 'q', '--', 'sh', '-c', attack])
    const read = (name: string): string => readFileSync(join(out, name), 'utf8')
    expect(['cordon/config.toml', '.git/config', '.envrc', 'other'].map(read)).toEqual([
      '',
      'mine',
      'mine',
      'evil\n',
    ])
    expect(readdirSync(join(out, 'cordon'))).toEqual(['config.toml'])
  })

  test('the attack: a person’s own configuration that is kept in the workspace, behind links, is not writable', () => {
    const place = new Repository(person)
    place.write('dot/cordon.toml', '# mine\n')
    place.write('dot/here.toml', '# mine\n')
    expect(
      place.cordon(['config', 'set', '--user-workspace', 'sandbox.limits.open_files', '256']),
    ).toMatchObject({ code: 0 })
    const places = join(place.home, '.local/share/cordon/workspace')
    const local = join(
      places,
      readdirSync(places).find((name) => !name.startsWith('.'))!,
      'config.toml',
    )
    rmSync(local)
    symlinkSync(join(place.root, 'dot/here.toml'), local)
    for (const dir of ['.config', '.config/cordon']) place.mkdir(join(place.home, dir))
    symlinkSync(join(place.root, 'dot/cordon.toml'), join(place.home, '.config/cordon/config.toml'))
    const off = `printf '[sandbox]\\nmode = "off"\\n' >`
    for (const attack of [
      `${off} dot/cordon.toml`,
      `${off} dot/here.toml`,
      `${off} new; mv new dot/cordon.toml`,
      `mv dot d2; mkdir dot; ${off} dot/cordon.toml`,
      'rm dot/here.toml',
    ]) {
      const { stdout } = place.sh(`${attack}; true`, { env: { LC_ALL: 'C' } })
      expect(stdout).toBe('')
      expect([place.read('dot/cordon.toml'), place.read('dot/here.toml')]).toEqual(['# mine\n', '# mine\n'])
    }
    // Naming it, in a flag too, does not open it.
    place.run(['--write', 'dot/cordon.toml', '--', 'sh', '-c', `${off} dot/cordon.toml`])
    expect(place.read('dot/cordon.toml')).toBe('# mine\n')
    // A link to what is not there yet: whatever is made there does not stay.
    rmSync(join(place.root, 'dot/cordon.toml'))
    place.sh(`${off} dot/cordon.toml`)
    expect(existsSync(join(place.root, 'dot/cordon.toml'))).toBe(false)
  })

  test('sandbox.guard adds paths, and a rule that names one overrides it', () => {
    const place = new Place(person)
    place.write('Makefile', 'mine')
    place.write('.envrc', 'mine')
    place.config(
      '[sandbox]\nguard = ["Makefile"]\n[profiles.p.access]\nfs = [{ path = ".", read = true, write = true, execute = true }, ' +
        '{ path = ".envrc", read = true, write = true, execute = true }]\n',
    )
    place.run(['--quiet', '--profile', 'p', '--', 'sh', '-c', 'echo x > Makefile; echo x > .envrc'])
    const read = (name: string): string => readFileSync(join(place.root, name), 'utf8')
    expect(['Makefile', '.envrc'].map(read)).toEqual(['mine', 'x\n'])
  })

  test('the shipped tools are under the same rules', () => {
    const place = new Repository(person)
    const call = (name: string, args: object): ReturnType<Place['cordon']> =>
      place.cordon([
        'tool',
        'run',
        name,
        '--args',
        JSON.stringify(args),
        '--cfg',
        `conversation.tools.${name}.run=unattended`,
      ])
    const made = call('fs_create_file', { path: '.cordon/config.toml', content: '[sandbox]\nmode = "off"\n' })
    expect(made.code).toBe(1)
    expect(made.stderr.split('\n').slice(0, 2)).toEqual([
      'cordon: access denied: create on .cordon/config.toml',
      '  because: .cordon is guarded: the host obeys it, or runs it by itself later',
    ])
    expect(call('fs_delete_file', { path: '.git/config' }).code).toBe(1)
    expect(call('fs_read_file', { path: '.git/config' }).code).toBe(0)
    expect(existsSync(join(place.root, '.cordon/config.toml'))).toBe(false)
  })
})

test.each(PEOPLE)('SPEC 4.10 without namespaces it is reported, not refused, as $name', (person) => {
  const place = new Repository(person)
  rmSync(join(place.root, '.git/branches'), { recursive: true, force: true }) // some versions of git make it
  const ended = place.shell(WITHOUT_NAMESPACES, ['run', '--', 'sh', '-c', 'echo x > a; exit 3'])
  expect(ended.code).toBe(3)
  expect(ended.stderr).toContain(
    'warning: not held here: files that the host obeys or runs by itself later can be changed: .cordon, .git/config, .git/hooks\n',
  )
})
