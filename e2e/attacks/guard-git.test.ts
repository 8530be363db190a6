import { appendFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, type Person } from '../harness/place.ts'
import { Repository } from '../harness/repository.ts'

/** With a hook of its own directory, and a program that leaves a trace when the host runs it. */
class Hooked extends Repository {
  constructor(person: Person) {
    super(person)
    this.write('.githooks/pre-commit', '#!/bin/sh\n', 0o755)
    this.write('evil', `#!/bin/sh\ntouch ${this.root}/ran\n`, 0o755)
  }

  append(name: string, text: string): void {
    appendFileSync(join(this.root, name), text)
  }

  /** What the host does every day, with whatever is configured now. */
  get hostRanIt(): boolean {
    for (const words of ['status', 'commit -q --allow-empty -m next'])
      try {
        this.git(words)
      } catch {
        // whatever came of it: only what it ran counts
      }
    return this.has('ran')
  }
}

const INTO_HOOK = 'cp evil .githooks/pre-commit 2>/dev/null; true'

describe.each(PEOPLE)('SPEC 4.10 what git obeys, as $name', (person) => {
  test.each([
    ['a comment after it', '[core]\n\thooksPath = .githooks # ours\n'],
    ['quotes and a comment', '[core]\n\thooksPath = ".githooks" ; c\n'],
    ['one line', '[core] hooksPath = .githooks\n'],
    ['quotes in the middle', '[core]\n\thooksPath = .git"hooks"\n'],
    ['a line that goes on', '[core]\n\thooksPath = ".git\\\nhooks"\n'],
    ['from the home', '[core]\n\thooksPath = ~/../w/.githooks\n'],
    ['far behind', `${'[branch "b"]\n\tremote = origin\n'.repeat(4000)}[core]\n\thooksPath = .githooks\n`],
    ['a file that is included, and one that this includes', '[include]\n\tpath = ../team.cfg\n'],
    ['included under a condition', '[includeIf "gitdir:**"] path = ../team.cfg\n'],
  ])('core.hooksPath is found: %s', (_, config) => {
    const place = new Hooked(person)
    place.write('team.cfg', '[include]\n\tpath = more.cfg\n')
    place.write('more.cfg', '[core]\n\thooksPath = .githooks\n')
    place.append('.git/config', config)
    expect(place.git('config core.hooksPath')).toContain('.githooks')
    place.sh(INTO_HOOK)
    expect(place.hostRanIt).toBe(false)
  })

  test('and where it stands in config.worktree, or relative in the person’s own configuration', () => {
    const worktree = new Hooked(person)
    worktree.git('config extensions.worktreeConfig true')
    worktree.git('config --worktree core.hooksPath .githooks')
    const home = new Hooked(person)
    home.write(join(home.home, '.gitconfig'), '[core]\n\thooksPath = .githooks\n')
    const xdg = new Hooked(person)
    xdg.write(join(xdg.home, '.config/git/config'), '[core]\n\thooksPath = .githooks\n')
    for (const place of [worktree, home, xdg]) {
      place.sh(INTO_HOOK)
      expect(place.hostRanIt).toBe(false)
    }
  })

  test('files that are included are held, and programs that the configuration names', () => {
    const place = new Hooked(person)
    place.append('.git/config', '[include]\n\tpath = ../team.cfg\n[core]\n\tfsmonitor = tools/watch -v\n')
    place.append('.git/config', '[filter "x"]\n\tclean = sh tools/clean.sh %f\n')
    place.append('.git/config', '[filter "y"]\n\tclean = node tools/clean\n\tsmudge = ruby -r./tools/r.rb\n')
    place.write('team.cfg', '[include]\n\tpath = more.cfg\n')
    place.write('more.cfg', '[user]\n\tname = x\n')
    for (const name of ['tools/watch', 'tools/clean.sh', 'tools/clean.js', 'tools/r.rb'])
      place.write(name, '#!/bin/sh\n', 0o755)
    const names = ['more.cfg', 'team.cfg', 'tools/watch', 'tools/clean.sh', 'tools/clean.js', 'tools/r.rb']
    const before = names.map((name) => place.read(name))
    place.sh(
      `for f in ${names.join(' ')}; do cp evil $f; done 2>/dev/null; printf '[core]\\n\\tfsmonitor = ./evil\\n' > new.cfg`,
    )
    expect(names.map((name) => place.read(name))).toEqual(before)
    expect(place.hostRanIt).toBe(false)
  })

  test('an included file that is not there is moved aside when it is made', () => {
    const place = new Hooked(person)
    place.append('.git/config', '[include]\n\tpath = ../team.cfg\n')
    place.sh("printf '[core]\\n\\tfsmonitor = ./evil\\n' > team.cfg")
    expect(place.hostRanIt).toBe(false)
    expect(place.has('team.cfg.denied-by-cordon-1')).toBe(true)
  })

  test('a configuration too long to be read is said, and never silently cut', () => {
    const place = new Hooked(person)
    place.append('.git/config', `#${'x'.repeat(1024 * 1024)}\n[core]\n\thooksPath = .githooks\n`)
    expect(place.run(['--', 'true']).stderr).toBe(
      `warning: the guard does not see everything: ${place.real}/.git/config is longer than 1 MiB, so what it names is not guarded\n`,
    )
  })

  // What is looked through again and again takes for ever: then it is the test's own limit that ends it.
  test('.gitmodules: one line, very many lines, and the same directory again and again', () => {
    const place = new Hooked(person)
    place.git('init -q libs/sub')
    place.write('.gitmodules', `[submodule "libs/sub"] path = libs/sub\n\turl = ./x\n`)
    place.sh("printf '[core]\\n\\tfsmonitor = ../../evil\\n' >> libs/sub/.git/config")
    expect(place.read('libs/sub/.git/config')).not.toContain('evil')
    place.write('.gitmodules', '\n'.repeat(65536))
    expect(place.run(['--', 'true'])).toMatchObject({ code: 0, stderr: '' })
    for (const dir of ['', 'd/', 'd/d/', 'd/d/d/'])
      place.write(`${dir}.gitmodules`, '[submodule "d"]\n'.concat('path = d\n'.repeat(300)))
    place.mkdir(join(place.root, 'd/d/d/d'))
    expect(place.run(['--', 'true'])).toMatchObject({ code: 0, stderr: '' })
  })

  test('the list cannot be filled by the command before', () => {
    const place = new Hooked(person)
    place.git('config core.hooksPath .githooks')
    place.git('init -q libs/sub')
    place.write('.gitmodules', `[submodule "libs/sub"]\n\tpath = libs/sub\n`)
    place.sh('mkdir .git/worktrees; for i in $(seq 350); do mkdir .git/worktrees/w$i; done')
    place.sh(`${INTO_HOOK}; printf '[core]\\n\\tfsmonitor = ../../evil\\n' >> libs/sub/.git/config`)
    expect(place.read('libs/sub/.git/config')).not.toContain('evil')
    expect(place.hostRanIt).toBe(false)
  })

  test('a worktree can be added inside; with very many of them the hint names the directory', () => {
    const place = new Hooked(person)
    const added = place.sh('git worktree add -q wt && cd wt && git commit -q --allow-empty -m in')
    expect(added).toMatchObject({ code: 0 })
    expect(place.git('log --format=%s -1', join(place.root, 'wt'))).toBe('in\n')
    // The next command finds it, and holds what makes it lead elsewhere.
    place.sh('echo x > .git/worktrees/wt/commondir; echo x > .git/worktrees/wt/config.worktree')
    expect(place.read('.git/worktrees/wt/commondir')).toBe('../..\n')
    expect(place.has('.git/worktrees/wt/config.worktree')).toBe(false)
    for (let i = 0; i < 150; i++) place.mkdir(join(place.root, `.git/worktrees/w${i}`))
    expect(place.sh('git worktree add -q wt2').stderr).toContain('.git/worktrees is guarded')
  })

  test.each([
    ['the ! of a helper', '[credential]\n\thelper = !tools/x.sh\n'],
    ['the punctuation of a shell', '[filter "a"]\n\tclean = "tools/x.sh;cat"\n'],
    ['a substitution', '[core]\n\tpager = "$(./tools/x.sh)"\n'],
    ['an option', '[core]\n\tsshCommand = ssh --run=tools/x.sh\n'],
    ['a key for signatures', '[gpg "ssh"]\n\tdefaultKeyCommand = tools/x.sh\n'],
    ['a hook of the configuration', '[hook "a"]\n\tcommand = tools/x.sh\n'],
    ['a trailer', '[trailer "a"]\n\tcmd = tools/x.sh\n'],
    ['a submodule’s update', '[submodule "a"]\n\tupdate = !tools/x.sh\n'],
    ['the other side of a local remote', '[remote "a"]\n\tuploadpack = tools/x.sh\n'],
  ])('a program that git runs is found behind %s', (_, config) => {
    const place = new Hooked(person)
    place.write('tools/x.sh', '#!/bin/sh\n', 0o755)
    place.append('.git/config', config)
    place.sh('cp evil tools/x.sh; mv evil tools/x.sh; mv tools t; echo new > tools/other')
    expect(place.read('tools/x.sh')).toBe('#!/bin/sh\n')
    expect(place.read('tools/other')).toBe('new\n')
  })

  test('a script without a directory is held, a word that happens to be a file is not', () => {
    const place = new Hooked(person)
    place.append('.git/config', '[filter "a"]\n\tclean = sh clean.sh\n\tsmudge = git-lfs smudge\n')
    for (const name of ['clean.sh', 'smudge']) place.write(name, 'mine')
    place.sh('for f in clean.sh smudge; do echo new > $f; done')
    expect([place.read('clean.sh'), place.read('smudge')]).toEqual(['mine', 'new\n'])
  })

  test('a rebase that waits for the person is not told to run something; one of the command’s own works', () => {
    const place = new Hooked(person)
    for (const text of ['b\n', 'c\n']) {
      place.write('a', text)
      place.git(`commit -q -a -m ${text.trim()}`)
    }
    place.write('edit', '#!/bin/sh\nsed -i s/^pick/edit/ "$1"\n', 0o755)
    place.git('-c sequence.editor=./edit rebase -q -i HEAD~2')
    const list = place.read('.git/rebase-merge/git-rebase-todo')
    const held = place.sh(
      `echo 'exec ./evil' >> .git/rebase-merge/git-rebase-todo; mv .git/rebase-merge r; cp evil .git/rebase-merge/x; true`,
    )
    expect(place.read('.git/rebase-merge/git-rebase-todo')).toBe(list)
    expect(held.stderr).toContain('to allow it: --write .git/rebase-merge/git-rebase-todo\n')
    place.git('rebase --continue')
    place.git('rebase --continue')
    expect(place.has('ran')).toBe(false)
    const own = place.sh(
      'git reset -q --hard && git rebase -q --force-rebase HEAD~2 && git log --oneline | wc -l',
    )
    expect(own).toMatchObject({ code: 0, stdout: '3\n', stderr: '' })
    expect(place.has('.git/rebase-merge')).toBe(false)
  })

  test('where `git push` goes is not said by the old files', () => {
    const place = new Hooked(person)
    place.mkdir(join(place.root, '.git/branches'))
    place.sh(
      'mkdir .git/remotes; echo "URL: ../evil" > .git/remotes/origin; echo ../evil > .git/branches/o; true',
    )
    expect([place.has('.git/remotes'), place.has('.git/branches/o')]).toEqual([false, false])
  })

  test('a linked worktree in the workspace stays a worktree', () => {
    const place = new Hooked(person)
    place.git('worktree add -q deep/wt')
    const file = place.read('deep/wt/.git')
    place.sh(`
      cp -r .git /tmp/g; chmod -R u+w /tmp/g; rm -rf /tmp/g/worktrees
      printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = ${place.root}/evil\\n' > /tmp/g/config
      rm deep/wt/.git && cp -r /tmp/g deep/wt/.git
      mv deep/wt w2 && mkdir deep/wt && cp -r /tmp/g deep/wt/.git
      mv deep d2 && mkdir -p deep/wt && cp -r /tmp/g deep/wt/.git
      cd deep/wt && echo new > b && git add b && git commit -q -m in`)
    place.git('status', join(place.root, 'deep/wt'))
    expect(place.has('ran')).toBe(false)
    expect(place.read('deep/wt/.git')).toBe(file)
    expect(place.git('log --format=%s -1', join(place.root, 'deep/wt'))).toBe('in\n')
  })

  test('links inside guarded directories: what they lead to is held', () => {
    const place = new Hooked(person)
    for (const name of ['scripts/pre', 'config/s.json', 'more/x/y']) place.write(name, '#!/bin/sh\n', 0o755)
    place.mkdir(join(place.root, '.vscode/deep'))
    symlinkSync('../../scripts/pre', join(place.root, '.git/hooks/pre-commit'))
    symlinkSync('../config/s.json', join(place.root, '.vscode/settings.json'))
    symlinkSync('../../more', join(place.root, '.vscode/deep/more'))
    place.sh(
      'for f in scripts/pre config/s.json more/x/y; do cp evil $f; mv evil2 $f; done 2>/dev/null; echo x > config/other',
    )
    expect(['scripts/pre', 'config/s.json', 'more/x/y'].map((name) => place.read(name))).toEqual(
      Array(3).fill('#!/bin/sh\n'),
    )
    expect(place.read('config/other')).toBe('x\n')
    expect(place.hostRanIt).toBe(false)
  })
})
