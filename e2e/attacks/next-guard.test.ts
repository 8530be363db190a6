import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { GatewayClient } from '../harness/gateway.ts'
import { Place, SOMEBODY } from '../harness/place.ts'
import { Repository } from '../harness/repository.ts'

/**
 * SPEC 4.10: what a command leaves must not keep the next one's guard from seeing what was guarded before. Each was found by an
 * attack: a first command prepares, a second one writes.
 */
interface Attack {
  readonly name: string
  /** As the person, in the home, which is no repository. */
  readonly before: string
  /** Where the commands are started, from the home. */
  readonly at?: string
  readonly flags?: string
  readonly first: string
  /** Where the second one is started, if elsewhere. */
  readonly afterwards?: string
  readonly thenFlags?: string
  readonly second: string
  /** As the person afterwards: what prints `was`, and nothing else, if it held. */
  readonly check: string
}

const AS_SOMEBODY =
  'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always'
/** In `w`, the submodule `a` with the submodule `a/b` in it. */
const NESTED_SUBMODULES = `${AS_SOMEBODY}; git init -q b; git -C b commit -q --allow-empty -m b; git init -q a; git -C a submodule --quiet add ../b b; git -C a commit -qm a; git init -q w; git -C w submodule --quiet add ../a a; git -C w commit -qm w; git -C w submodule --quiet update --init --recursive`

const HOOK = 'git init -q t/b; echo was > t/b/.git/hooks/x'

const ATTACKS: readonly Attack[] = [
  {
    name: 'takes HEAD away from a bare repository, and puts it back',
    before: 'git init -q --bare t/x.git; echo was > t/x.git/hooks/x; git init -q w',
    at: 'w',
    flags: '--write ../t',
    first: 'mv ../t/x.git/HEAD ../t/x.git/H',
    second: 'echo evil > ../t/x.git/hooks/x; mv ../t/x.git/H ../t/x.git/HEAD',
    check: 'cat t/x.git/hooks/x',
  },
  {
    name: 'makes a repository of a directory between the workspace and a repository',
    before: 'mkdir t; git init -q t/a/b; echo was > t/a/b/.git/hooks/x',
    at: 't',
    first: 'git init -q a',
    afterwards: 't/a',
    second: 'echo evil > b/.git/hooks/x',
    check: 'cat t/a/b/.git/hooks/x',
  },
  {
    name: 'makes a repository around projects that are none',
    before: 'mkdir -p p/web/.vscode; echo was > p/web/.vscode/tasks.json',
    at: 'p',
    first: 'git init -q',
    second: 'echo evil > web/.vscode/tasks.json',
    check: 'cat p/web/.vscode/tasks.json',
  },
  {
    name: 'makes a repository of a part of one whose hooks are in that part',
    before:
      'git init -q c; mkdir -p c/sub/hooks; echo was > c/sub/hooks/x; git -C c config core.hooksPath sub/hooks',
    at: 'c',
    first: 'git init -q sub',
    afterwards: 'c/sub',
    second: 'echo evil > hooks/x',
    check: 'cat c/sub/hooks/x',
  },
  {
    name: 'is started in a part of a repository alone, whose hooks are in that part',
    before:
      'git init -q c; mkdir -p c/sub/hooks; echo was > c/sub/hooks/x; git -C c config core.hooksPath sub/hooks',
    at: 'c/sub',
    flags: '--here',
    first: ':',
    second: 'echo evil > hooks/x',
    check: 'cat c/sub/hooks/x',
  },
  {
    name: 'puts a repository between a place outside and the one around it',
    before:
      'git init -q w; git init -q b; mkdir -p b/p/q/r/s/hooks; echo was > b/p/q/r/s/hooks/x; git -C b config core.hooksPath p/q/r/s/hooks',
    at: 'w',
    flags: '--write ../b/p/q',
    first: 'mkdir ../b/p/q/r/.git',
    thenFlags: '--write ../b/p/q/r/s',
    second: 'echo evil > ../b/p/q/r/s/hooks/x',
    check: 'cat b/p/q/r/s/hooks/x',
  },
  {
    name: 'closes the place itself',
    before: `mkdir t; git init -q w; ${HOOK}`,
    at: 'w',
    flags: '--write ../t',
    first: 'chmod 300 ../t',
    second: 'echo evil > ../t/b/.git/hooks/x; chmod 700 ../t',
    check: 'chmod 700 t; cat t/b/.git/hooks/x',
  },
  {
    name: 'closes a directory that a flag names',
    before: 'git init -q w; mkdir w/.claude; echo was > w/.claude/settings.json',
    at: 'w',
    flags: '--write .claude',
    first: 'chmod 000 .claude',
    second: 'chmod 700 .claude; echo evil > .claude/settings.json',
    check: 'chmod 700 w/.claude; cat w/.claude/settings.json',
  },
  {
    name: 'closes a directory in which a guarded link leads elsewhere',
    before:
      'git init -q w; mkdir w/.claude w/shared; echo was > w/shared/s; ln -s ../shared/s w/.claude/settings.json',
    at: 'w',
    first: 'chmod 000 .claude',
    second: 'echo evil > shared/s',
    check: 'cat w/shared/s',
  },
  {
    name: 'closes a directory in which an included configuration of git names hooks',
    before:
      'git init -q w; mkdir w/conf w/tools; echo was > w/tools/x; printf "[core]\\nhooksPath=tools\\n" > w/conf/git; git -C w config include.path ../conf/git',
    at: 'w',
    first: 'chmod 000 conf',
    second: 'echo evil > tools/x',
    check: 'cat w/tools/x',
  },
  {
    name: 'fills one guarded directory, so that links in another are not followed',
    before:
      'git init -q w; mkdir w/scripts; echo was > w/scripts/x; ln -s ../../scripts/x w/.git/hooks/pre-commit',
    at: 'w',
    first: 'mkdir .husky; cd .husky; seq 2100 | xargs touch',
    second: 'echo evil > scripts/x',
    check: 'cat w/scripts/x',
  },
  {
    name: 'moves a link on the way to the git directory',
    before:
      'mkdir -p w/real/old; ln -s real w/store; git init -q --separate-git-dir w/real/repo.git w; echo "gitdir: store/repo.git" > w/.git',
    at: 'w',
    first: 'rm -f store && ln -s real/old store',
    second: ':',
    check: 'test "$(readlink w/store)" = real && echo was',
  },
  {
    name: 'completes a repository by a commondir',
    before: 'mkdir p; echo "ref: refs/heads/main" > p/HEAD',
    at: 'p',
    first: 'mkdir -p x/objects x/refs; printf "[core]\\nfsmonitor=evil\\n" > x/config; echo x > commondir',
    second: ':',
    check: 'cd p; git config core.fsmonitor || echo was',
  },
  {
    name: 'writes the hooks that the configuration names in another way: core.worktree',
    before:
      'git init -q w; mkdir -p w/sub/hk; echo was > w/sub/hk/x; git -C w config core.worktree ../sub; git -C w config core.hooksPath hk',
    at: 'w',
    first: 'echo evil > sub/hk/x',
    second: ':',
    check: 'cat w/sub/hk/x',
  },
  {
    name: 'writes what is copied into every new repository',
    before:
      'git init -q w; mkdir -p w/tpl/hooks; echo was > w/tpl/hooks/x; git -C w config init.templateDir "$PWD/w/tpl"',
    at: 'w',
    first: 'echo evil > tpl/hooks/x',
    second: ':',
    check: 'cat w/tpl/hooks/x',
  },
  {
    name: 'writes what husky runs, in a package of the repository',
    before:
      'git init -q w; mkdir -p w/f/.husky/_; echo was > w/f/.husky/pre-commit; git -C w config core.hooksPath f/.husky/_',
    at: 'w',
    first: 'echo evil > f/.husky/pre-commit',
    second: ':',
    check: 'cat w/f/.husky/pre-commit',
  },
  {
    name: 'writes the hooks of a linked worktree in the workspace',
    before:
      'git init -q w; cd w; mkdir hk; echo was > hk/x; git add .; git -c user.name=a -c user.email=a@b commit -qm x; git config core.hooksPath hk; git worktree add -q wt -b wt',
    at: 'w',
    first: 'echo evil > wt/hk/x',
    second: ':',
    check: 'cat w/wt/hk/x',
  },
  {
    name: 'hides a repository in what looks like git’s own objects',
    before:
      'git init -q w; mkdir -p t/objects; git init -q t/objects/3d; echo was > t/objects/3d/.git/hooks/x',
    at: 'w',
    flags: '--write ../t',
    first: 'echo evil > ../t/objects/3d/.git/hooks/x',
    second: ':',
    check: 'cat t/objects/3d/.git/hooks/x',
  },
  {
    name: 'makes a repository of a place that was only ever granted',
    before: 'mkdir t w; git init -q w; git init -q t/b; echo was > t/b/.git/hooks/x',
    at: 'w',
    flags: '--write ../t',
    first: 'git init -q ../t',
    afterwards: 't',
    thenFlags: '',
    second: 'echo evil > b/.git/hooks/x',
    check: 'cat t/b/.git/hooks/x',
  },
  {
    name: 'puts a link in the place of a directory that a setting goes into and out of again',
    before:
      'git init -q w; mkdir w/hk w/packages; echo was > w/hk/x; git -C w config core.hooksPath packages/../hk',
    at: 'w',
    first: 'mkdir -p evil/x evil/hk; echo evil > evil/hk/x; mv packages p2 && ln -s evil/x packages',
    second: ':',
    check: 'cat w/packages/../hk/x',
  },
  {
    name: 'takes the parts of a bare repository away whose configuration says little',
    before:
      'git init -q --bare t/x.git; printf "[core]\nbare = true\n" > t/x.git/config; echo was > t/x.git/hooks/x; git init -q w',
    at: 'w',
    flags: '--write ../t',
    first: 'cd ../t/x.git; mv HEAD H; mv objects o',
    second: 'cd ../t/x.git; echo evil > hooks/x; mv H HEAD; mv o objects',
    check: 'cat t/x.git/hooks/x',
  },
  {
    name: 'writes the hooks of a submodule of a linked worktree',
    before:
      'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; git init -q lib; git -C lib commit -q --allow-empty -m l; git init -q w; cd w; git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qm x; git worktree add -q wt -b wt; git -C wt -c protocol.file.allow=always submodule --quiet update --init; echo was > .git/worktrees/wt/modules/lib/hooks/x',
    at: 'w',
    first: 'echo evil > .git/worktrees/wt/modules/lib/hooks/x',
    second: ':',
    check: 'cat w/.git/worktrees/wt/modules/lib/hooks/x',
  },
  {
    name: 'empties the .gitmodules of a submodule, and then replaces a submodule in that one',
    before: NESTED_SUBMODULES,
    at: 'w',
    first: ': > a/.gitmodules',
    second:
      'git init -q x; git -C x config core.fsmonitor evil; rm -f a/b/.git; echo "gitdir: ../../x/.git" > a/b/.git',
    check: 'cd w; git -C a/b config core.fsmonitor || echo was',
  },
  {
    name: 'does so in a linked worktree',
    before: `${NESTED_SUBMODULES}; git -C w worktree add -q wt -b wt; git -C w/wt submodule --quiet update --init --recursive`,
    at: 'w',
    first: ': > wt/a/.gitmodules; : > wt/.gitmodules',
    second:
      'git init -q x; git -C x config core.fsmonitor evil; for d in wt/a wt/a/b; do rm -f $d/.git; echo "gitdir: $PWD/x/.git" > $d/.git; done',
    check:
      'cd w; git -C wt/a config core.fsmonitor || git -C wt/a/b config core.fsmonitor || { test -s wt/.gitmodules && echo was; }',
  },
  {
    name: 'writes the hooks that a linked worktree has for itself',
    before:
      'git init -q w; cd w; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git config extensions.worktreeConfig true; git worktree add -q wt -b wt; git -C wt config --worktree core.hooksPath hk; mkdir wt/hk; echo was > wt/hk/x',
    at: 'w',
    first: 'echo evil > wt/hk/x',
    second: ':',
    check: 'cat w/wt/hk/x',
  },
  {
    name: 'writes what is obeyed in the directory around, of which the workspace is a part',
    before: 'git init -q b; mkdir b/.claude; echo was > b/.claude/settings.json',
    at: 'b/.claude',
    flags: '--here',
    first: 'echo evil > settings.json',
    second: ':',
    check: 'cat b/.claude/settings.json',
  },
  {
    name: 'makes a repository of a part in which programs are that agents’ settings around it name',
    before: `git init -q b; mkdir -p b/.claude b/sub/tools; echo was > b/sub/tools/server.js; cp b/sub/tools/server.js b/sub/tools/hook.sh
      echo '{"mcpServers":{"x":{"command":"node","args":["sub/tools/server.js"]}}}' > b/.mcp.json
      echo '{"hooks":{"Stop":[{"hooks":[{"command":"sub/tools/hook.sh"}]}]}}' > b/.claude/settings.json`,
    at: 'b',
    first: 'git init -q sub',
    afterwards: 'b/sub',
    second: 'echo evil > tools/server.js; echo evil > tools/hook.sh',
    check: 'cat b/sub/tools/* | sort -u',
  },
  {
    name: 'leaves a file that says repository in a directory that is none',
    before: 'mkdir p; git init -q p/b; echo was > p/b/.git/hooks/x',
    at: 'p/b',
    first: 'printf "[core]\nrepositoryformatversion=0\n" > ../config',
    afterwards: 'p',
    second: 'echo evil > b/.git/hooks/x',
    check: 'cat p/b/.git/hooks/x',
  },
  {
    name: 'has its git directory by a way through a link and up',
    before:
      'mkdir -p w/x/y/z; ln -s x/y w/l; git init -q --separate-git-dir w/x/repo.git w; echo "gitdir: l/../repo.git" > w/.git; echo was > w/x/repo.git/hooks/x',
    at: 'w',
    first: 'echo evil > x/repo.git/hooks/x',
    second: ':',
    check: 'cat w/x/repo.git/hooks/x',
  },
]

const words = (flags = ''): readonly string[] => flags.split(' ').filter((word) => word !== '')

describe('decisions 0475, 0510: what was guarded is guarded for the next command, when one', () => {
  test.each(ATTACKS)('$name', (attack) => {
    const { before, at = '.', flags, first, afterwards = at, thenFlags = flags, second, check } = attack
    const place = new Place(SOMEBODY)
    const person = (script: string): string => place.shell(`cd ${place.home}; ${script}`, []).stdout
    const command = (where: string, given: string | undefined, script: string): void =>
      void place.run([...words(given), '--', 'sh', '-c', script], { cwd: join(place.home, where) })
    person(`mkdir -p ${at}; ${before}`)
    command(at, flags, first)
    command(afterwards, thenFlags, second)
    expect(person(check)).toBe('was\n')
  })
})

test('a name that is not valid UTF-8 is told not to be guarded', () => {
  const place = new Repository(SOMEBODY)
  place.shell('d=$(printf "caf\\351"); mkdir "$d"; ln -s "$d" .husky', [])
  expect(place.sh(':').stderr).toContain(
    'has a name that is not valid UTF-8, for which there can be no rule, so it is not guarded',
  )
})

test('SPEC 4.8 a typed place that is a link by now is told, also quietly', () => {
  const place = new Repository(SOMEBODY)
  place.shell(`cd ${place.home}; mkdir -p docs t; ln -s ${place.home}/docs t/x`, [])
  const x = join(place.home, 't/x')
  const { stderr } = place.run(['--quiet', '--write', x, '--', 'true'])
  expect(stderr).toBe(`warning: --write ${x} leads to ${join(place.home, 'docs')}, and that is granted\n`)
})

test('SPEC 4.9 a place of a shipped profile that a command made a link to secrets is no consent to them', () => {
  const place = new Repository(SOMEBODY)
  place.shell(`cd ${place.home}; mkdir -p .ssh .claude; echo KEY > .ssh/id; ln -s ../.ssh .claude/chrome`, [])
  const ended = place.run(['--profile', 'claude', '--', 'sh', '-c', 'cat ~/.ssh/id'])
  expect([ended.code, ended.stdout]).toEqual([125, ''])
  expect(ended.stderr).toContain('/.ssh by a link; nobody has said yes to that')
})

describe('a place that is filled does not hide what was guarded in it', () => {
  test.each([
    { name: 'beside a group of projects', fill: '.', count: 20_100 },
    { name: 'beside a project', fill: 'group', count: 20_100 },
    { name: 'that use up the looks to the last', fill: '.', count: 19_998 },
  ])('directories $name', ({ fill, count }) => {
    const place = new Place(SOMEBODY)
    place.shell('mkdir -p group; git init -q group/a', [])
    const evil = 'echo evil >> group/a/.git/config'
    expect(place.run(['--', 'sh', '-c', evil]).code).not.toBe(0)
    const many = `import os; os.chdir(${JSON.stringify(fill)}); [os.mkdir("d%d" % i) for i in range(${count})]`
    expect(place.run(['--', 'python3', '-c', many]).code).toBe(0)
    expect(place.run(['--quiet', '--', 'sh', '-c', evil]).code).not.toBe(0)
    expect(readFileSync(join(place.root, 'group/a/.git/config'), 'utf8')).not.toContain('evil')
  })

  test('links in guarded directories, of which there are more than are guarded', () => {
    const place = new Repository(SOMEBODY)
    place.shell(
      'git init -q ~/s; git -C ~/s -c user.name=a -c user.email=a@b commit -q --allow-empty -m s; git -c protocol.file.allow=always submodule add -q ~/s sub; git commit -q -m sub',
      [],
    )
    const links = 'os.symlink("../zz%s%d" % (d, i), "%s/l%d" % (d, i))'
    const many = `import os; [(os.mkdir(d), [${links} for i in range(1990)]) for d in (".vscode", ".idea", ".zed", ".husky")]`
    expect(place.run(['--', 'python3', '-c', many]).code).toBe(0)
    expect(place.has('sub/.git')).toBe(true)
    expect(place.sh('rm -f sub/.git').code).not.toBe(0)
    expect(existsSync(join(place.root, 'sub/.git'))).toBe(true)
  })
})

test('SPEC 4.10 Mercurial is not led to another repository', () => {
  const place = new Place(SOMEBODY)
  place.write('.hg/requires', 'store\n')
  const { code, stderr } = place.run([
    '--',
    'sh',
    '-c',
    'echo ../evil > .hg/sharedpath; echo shared >> .hg/requires',
  ])
  expect(code).not.toBe(0)
  expect(stderr).toContain(
    `${place.root}/.hg/sharedpath was made, which the host obeys or runs by itself later`,
  )
  expect(readFileSync(join(place.root, '.hg/requires'), 'utf8')).toBe('store\n')
})

test('decision 0545: a project with directories that are called like git’s own keeps its links', () => {
  const place = new Place(SOMEBODY)
  place.shell('mkdir -p objects refs bin; echo tool > bin/tool', [])
  expect(place.run(['--', 'sh', '-c', 'ln -s ../bin/tool refs/t; ln -s bin/tool t']).stderr).toBe('')
  expect([existsSync(join(place.root, 't')), existsSync(join(place.root, 'refs/t'))]).toEqual([true, true])
})

describe('SPEC 4.10 dotfiles: what the host obeys in the home, and a link of it leads to the workspace', () => {
  test.each([
    { name: '.bashrc', kept: 'shell/bashrc', link: '.bashrc', target: 'shell/bashrc' },
    { name: 'a service', kept: 'systemd/user/x.service', link: '.config/systemd', target: 'systemd' },
    { name: 'a program', kept: 'programs/tool', link: 'bin', target: 'programs' },
    { name: 'one program', kept: 'programs/tool', link: '.local/bin/tool', target: 'programs/tool' },
    ...[
      '.ssh/config',
      '.tmux.conf',
      '.config/nvim/init.lua',
      '.vim/plugin',
      '.emacs',
      '.emacs.d/init.el',
      '.inputrc',
      '.config/direnv/direnvrc',
    ].map((link) => ({ name: link, kept: 'dot/kept', link, target: 'dot/kept' })),
    { name: 'all of an editor', kept: 'nvim/lua/x.lua', link: '.config/nvim', target: 'nvim' },
    {
      name: 'one service',
      kept: 's/x.service',
      link: '.config/systemd/user/x.service',
      target: 's/x.service',
    },
  ])('$name is guarded', ({ kept, link, target }) => {
    const place = new Repository(SOMEBODY)
    const file = place.write(kept, 'was\n')
    place.shell(`mkdir -p ~/${link}; rmdir ~/${link}; ln -s ${place.root}/${target} ~/${link}`, [])
    const { code, stderr } = place.sh(`echo evil > ${kept}`)
    expect(code).not.toBe(0)
    expect(stderr).toContain(`to allow it: --write ${kept}\n`)
    expect(readFileSync(file, 'utf8')).toBe('was\n')
    const other = place.mkdir(join(place.dir, 'other'))
    expect(
      place.run(['--write', place.root, '--', 'sh', '-c', `echo evil > ${file}`], { cwd: other }).code,
    ).not.toBe(0)
  })
})

describe('decision 0540: a place of a profile that a command made a link', () => {
  const READ = ['--profile', 'other', '--', 'sh', '-c', 'cat ~/taxes/2026; true']
  const PROFILES = `
[profiles.tool]
outside = [{ path = "~/tool", read = true, write = true }]
[profiles.other]
outside = [{ path = "~/tool/data", read = true }]
`

  function linked(): Repository {
    const place = new Repository(SOMEBODY)
    place.write(join(place.home, '.config/cordon/config.toml'), PROFILES)
    place.write(join(place.home, 'taxes/2026'), 'canary\n')
    place.mkdir(join(place.home, 'tool'))
    expect(place.run(['--profile', 'tool', '--', 'sh', '-c', 'ln -s ../taxes ~/tool/data']).code).toBe(0)
    return place
  }

  test('is not followed where nobody can be asked, and a question about it says so', () => {
    const place = linked()
    const led = `leads to ${join(place.home, 'taxes')} by a link; `
    const ended = place.run(READ)
    expect([ended.code, ended.stdout]).toEqual([125, ''])
    expect(ended.stderr).toContain(
      `~/tool/data ${led}nobody has said yes to that\n  fix: start it once at a terminal and say yes, or name in the profile what you mean\n`,
    )
    const shown = place.run(['--show', '--profile', 'other'])
    expect(shown.stderr).toContain(`${led}before it is granted, a person is asked`)
  })

  test('has nothing made in it before', () => {
    const place = linked()
    place.write(
      join(place.home, '.config/cordon/config.toml'),
      PROFILES.replace('"~/tool/data"', '"~/tool/data/made/"'),
    )
    expect(place.run(READ).code).toBe(125)
    expect(existsSync(join(place.home, 'taxes/made'))).toBe(false)
  })

  test('is followed after a yes, then and later; after a no nothing is started', () => {
    const place = linked()
    const question = 'Grant what it leads to, now and later? [y/N]'
    const no = place.terminal(READ, [[question, 'n\r']])
    expect(no.screen).toContain('so nothing was started')
    expect(no.screen).not.toContain('canary')
    expect(place.terminal(READ, [[question, 'y\r']]).screen).toContain('canary')
    expect(place.run(READ)).toMatchObject({ code: 0, stdout: 'canary\n' })
    // Another target is another question.
    place.shell(`cd ${place.home}; mkdir other; ln -sfn ../other tool/data`, [])
    expect(place.run(READ).code).toBe(125)
  })
})

describe('decision 0520: the links that a rule was written through', () => {
  const RULES = `
[[conversation.tools.NAME.access.fs]]
path = "."
read = true
write = true
execute = true
[[conversation.tools.NAME.access.fs]]
path = "cfg/key"
`
  const linked = (): Place => {
    const place = new Place(SOMEBODY)
    for (const dir of ['real', 'other']) place.mkdir(join(place.root, dir))
    place.write('real/key', 'SECRET')
    place.shell('ln -s real cfg', [])
    return place
  }

  test('stay as they are for who has the rule', () => {
    const place = linked()
    place.config(
      `${RULES.replaceAll('NAME', 't')}[conversation.tools.t]\nsource = "local"\ncommand = "true"\n`,
    )
    const sh = (script: string): string => place.run(['--tool', 't', '--', 'sh', '-c', script]).stdout
    sh('rm -f cfg; ln -s other cfg; mv cfg x; ln -s other cfg')
    expect(sh('cat real/key; readlink cfg')).toBe('real\n')
  })

  test('stay, and so does a directory that a link goes into and out of again', () => {
    const place = linked()
    place.shell('rm cfg; mkdir a other/x; ln -s a/../real cfg', [])
    place.config(
      `${RULES.replaceAll('NAME', 't')}[conversation.tools.t]\nsource = "local"\ncommand = "true"\n`,
    )
    const sh = (script: string): string => place.run(['--tool', 't', '--', 'sh', '-c', script]).stdout
    sh('rmdir a; ln -s other/x a')
    expect(sh('cat real/key')).toBe('')
  })

  test('stay also outside, where a profile has less', () => {
    const place = new Place(SOMEBODY)
    place.shell(
      `cd ${place.home}; mkdir -p tool/real tool/a tool/other/x; echo SECRET > tool/real/key; ln -s a/../real tool/cfg`,
      [],
    )
    place.write(
      join(place.home, '.config/cordon/config.toml'),
      '[profiles.p]\noutside = [{ path = "~/tool", read = true, write = true }, { path = "~/tool/cfg/key" }]\n',
    )
    const sh = (script: string): string =>
      place.run(['--profile', 'p', '--', 'sh', '-c', `cd ~/tool; ${script}`]).stdout
    sh('rmdir a; ln -s other/x a; rm -f cfg; ln -s other cfg')
    expect(sh('cat real/key')).toBe('')
  })

  test('and for every other tool', async () => {
    const place = linked()
    place.config(RULES.replaceAll('NAME', 'fs_read_file') + '[conversation.tools."*"]\nrun = "unattended"\n')
    await using client = await GatewayClient.open(place)
    for (const [name, args] of [
      ['fs_move_file', { from: 'cfg', to: 'x' }],
      ['fs_delete_file', { path: 'cfg' }],
    ] as const)
      expect(JSON.stringify(await client.call(name, args))).toContain('is guarded')
    expect(JSON.stringify(await client.call('fs_read_file', { path: 'real/key' }))).not.toContain('SECRET')
  })
})

test('SPEC 4.10 in a session, what the person has git run from now on is guarded from now on', async () => {
  const place = new Repository(SOMEBODY)
  place.config('[conversation.tools."*"]\nrun = "unattended"\n')
  place.write('hk/pre-commit', 'was')
  await using client = await GatewayClient.open(place)
  const write = (path: string): Promise<string> =>
    client
      .call('fs_create_file', { path, content: 'evil', overwrite: true })
      .then((said) => JSON.stringify(said))
  expect(await write('fine')).toContain('created')
  place.git('config core.hooksPath hk')
  expect(await write('hk/pre-commit')).toContain('is guarded')
  expect(place.read('hk/pre-commit')).toBe('was')
  // What is told to a model names no place of the host.
  mkdirSync(join(place.root, '.claude'))
  place.give(join(place.root, '.claude'))
  place.shell('chmod 000 .claude', [])
  const said = await write('fine')
  if (place.person.uid !== undefined)
    expect(said).toContain('a directory that has to be looked at first is closed')
  expect(said).not.toContain(place.root)
  expect(existsSync(join(place.root, 'fine')) && readFileSync(join(place.root, 'fine'), 'utf8')).toBe('evil')
})

test('SPEC 4.10 the program of a server in a directory that was closed is not taken for missing', () => {
  const place = new Repository(SOMEBODY)
  place.mkdir(join(place.root, 'servers'))
  place.write('servers/x.mjs', 'was')
  place.write(
    join(place.home, '.config/cordon/config.toml'),
    '[providers.mcp.s]\ncommand = "node"\narguments = ["servers/x.mjs"]\n[[providers.mcp.s.access.net]]\nhost = "example.com"\nallow = true\n',
  )
  place.sh('chmod 000 servers')
  place.sh('chmod 700 servers; echo evil > servers/x.mjs')
  place.shell('chmod 700 servers', [])
  expect(place.read('servers/x.mjs')).toBe('was')
})
