import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place, SOMEBODY } from '../harness/place.ts'

const config = (place: Place, text: string): string =>
  place.write(join(place.home, '.config/cordon/config.toml'), text)

describe('SPEC 4.8 grants of places outside', () => {
  test.each([
    [['--write', '~'], 'your home, and what is above it'],
    [['--write', '/'], 'that is all there is'],
    [['--read', '/'], 'that is all there is'],
    [['--read', '/proc'], 'belongs to the kernel'],
    [['--read', '/dev/mem'], 'there is no such file'],
    [['--write', '/etc'], 'belongs to the system'],
    [['--read', '/etc/shadow'], 'withheld from every confined program'],
    [['--read', '~'], 'secrets live there'],
    [['--read', '~/.ssh'], 'secrets live there'],
    [['--read', '~/.ssh/id_rsa'], 'secrets live there'],
    [['--write', '~/.config'], 'secrets live there'],
    [['--read', '~/.local/share/cordon'], 'Cordon keeps its approvals and keys there'],
    [['--write', '~/.config/cordon'], 'Cordon keeps its own files there'],
  ])('%j starts nothing without a terminal', (flags, why) => {
    const place = new Place(SOMEBODY)
    for (const dir of ['.ssh', '.config/gcloud', '.config/cordon', '.local/share/cordon'])
      place.mkdir(join(place.home, dir))
    place.write(join(place.home, '.ssh/id_rsa'), 'key')
    const ended = place.run([...flags, '--', 'sh', '-c', 'echo ran'])
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toContain(why)
  })

  test('at a terminal a place where secrets live is asked about, and a no grants nothing', () => {
    const place = new Place(SOMEBODY)
    place.write(join(place.home, '.ssh/config'), 'Host x\n')
    const { screen } = place.terminal(
      ['--read', join(place.home, '.ssh'), '--', 'cat', join(place.home, '.ssh/config')],
      [['[y/N]', 'n\r']],
    )
    expect(screen).toContain('where secrets live (~/.ssh)')
    expect(screen).not.toContain('Host x')
  })

  test('around them approvals and keys are hidden, and the configuration is not written', () => {
    const place = new Place(SOMEBODY)
    place.init()
    const data = join(place.home, '.local/share/cordon')
    place.write(join(data, 'canary'), 'key')
    config(
      place,
      'sandbox.sensitive = []\n[profiles.all]\noutside = [{ path = "~/.local", read = true, write = true }, { path = "~/.config", read = true, write = true }]\n',
    )
    const script = `cat ${data}/canary; ls ${data}; echo x > ${place.home}/.config/cordon/config.toml; mv ${place.home}/.config/cordon ${place.home}/.config/gone; mkdir -p ${place.home}/.local/bin && echo fine`
    const ended = place.run(['--profile', 'all', '--', 'sh', '-c', script])
    expect(ended.stdout).toBe('fine\n')
    expect(readFileSync(join(place.home, '.config/cordon/config.toml'), 'utf8')).toContain('[profiles.all]')
  })

  test('below a writable place the guard holds', () => {
    const place = new Place(SOMEBODY)
    const other = place.mkdir(join(place.home, 'other'))
    place.write(join(other, '.git/hooks/x'), '')
    for (const name of ['HEAD', 'config', 'objects/x', 'refs/x'])
      place.write(join(other, '.git', name), 'was')
    place.write(join(other, '.envrc'), 'was')
    const script = `cd ${other}; echo x > .git/config; echo x > .git/hooks/post-commit; echo x > .envrc; mv .git old; echo done`
    const ended = place.run(['--write', other, '--', 'sh', '-c', script])
    expect(ended.stdout).toBe('done\n')
    expect(readFileSync(join(other, '.git/config'), 'utf8')).toBe('was')
    expect(readFileSync(join(other, '.envrc'), 'utf8')).toBe('was')
    expect(ended.stderr).not.toContain('post-commit was made')
  })

  test('a link of the workspace that leads out is not followed: a command may have made it', () => {
    const place = new Place(SOMEBODY)
    const secret = place.mkdir(join(place.home, 'private'))
    symlinkSync(secret, join(place.root, 'build'))
    const ended = place.run(['--write', 'build', '--', 'sh', '-c', 'echo x > build/x'])
    expect(ended).toMatchObject({
      code: 125,
      stderr: `cordon: --write build: it is a link out of the workspace, to ${secret}\n  fix: --write ~/private, if you mean that place\n`,
    })
  })

  test('a place that becomes a link while commands start shows what was planned, or nothing', () => {
    const place = new Place(SOMEBODY)
    const dir = place.mkdir(join(place.dir, 'shared'))
    place.write(join(place.dir, 'victim/canary'), 'secret')
    const loop = `while :; do mv ${dir} ${dir}.was; ln -s victim ${dir}; rm ${dir}; mv ${dir}.was ${dir}; done`
    const swapping = spawn('/bin/sh', ['-c', loop], { stdio: 'ignore' })
    try {
      for (let i = 0; i < 12; i++) {
        const { stdout, stderr } = place.run(['--read', dir, '--', 'ls', dir])
        // Typed while it was a link, it leads to the victim, and the person is told so.
        if (!stderr.includes('victim, and that is granted')) expect(stdout).not.toContain('canary')
      }
    } finally {
      swapping.kill('SIGKILL')
    }
  })
})

describe('SPEC, "Words": whose repository', () => {
  test('a repository around is not taken where another user could write it, nor in the home', () => {
    const place = new Place(SOMEBODY)
    const part = place.mkdir(join(place.home, 'proj/part'))
    place.write(join(place.home, 'proj/secret'), 's')
    place.mkdir(join(place.home, '.git')) // dotfiles: never the home
    expect(place.run(['--', 'ls', '..'], { cwd: part }).stdout).toBe('part\n')
    const git = place.mkdir(join(place.home, 'proj/.git'))
    expect(place.run(['--', 'ls', '..'], { cwd: part }).stdout).toBe('part\nsecret\n')
    if (PEOPLE.length > 1) {
      chownSync(git, 64_777, 64_777)
      expect(place.run(['--', 'ls', '..'], { cwd: part }).stdout).toBe('part\n')
    }
  })

  test('a .git that a command plants gives the next one less, and takes it from nothing that the person keeps', () => {
    const place = new Place(SOMEBODY)
    const proj = place.mkdir(join(place.home, 'proj'))
    const part = place.mkdir(join(proj, 'part'))
    for (const name of ['HEAD', 'config', 'objects/x', 'refs/x']) place.write(join(proj, '.git', name), '')
    place.write(join(proj, 'file'), '')
    place.write(join(proj, '.cordon.toml'), '[sandbox]\nguard = ["part/kept"]\n')
    place.write(join(part, 'kept'), 'kept')
    place.write(join(place.home, 'victim/.git/HEAD'), '')
    const look = (): string => place.run(['--', 'ls', '..'], { cwd: part }).stdout
    const plant = `mkdir -p .git/objects .git/refs; echo ref: x > .git/HEAD`
    expect(look()).toBe('file\npart\n')
    expect(place.run(['--', 'sh', '-c', plant], { cwd: part }).code).toBe(0)
    expect(look()).toBe('part\n')
    // What the person trusted around it holds on.
    expect(place.cordon(['trust', '--yes'], { cwd: proj }).code).toBe(0)
    expect(look()).toBe('file\npart\n')
    expect(place.run(['--', 'sh', '-c', 'echo x > kept'], { cwd: part }).code).not.toBe(0)
    rmSync(join(part, '.git'), { recursive: true })
    const file = `echo "gitdir: ${place.home}/victim/.git/worktrees/part" > .git`
    expect(place.run(['--', 'sh', '-c', file], { cwd: part }).code).toBe(0)
    expect(place.run(['--', 'ls', '..', join(place.home, 'victim')], { cwd: part }).stdout).not.toContain(
      'HEAD',
    )
  })

  test("a submodule that claims another's git directory gets nothing of it", () => {
    const place = new Place(SOMEBODY)
    const sub = place.mkdir(join(place.home, 'main/sub'))
    const modules = join(place.home, 'main/.git/modules')
    const repository = (dir: string, worktree: string): void => {
      for (const name of ['HEAD', 'objects/x', 'refs/x', 'canary']) place.write(join(dir, name), 'secret')
      place.write(join(dir, 'config'), `[core]\n\tworktree = ${worktree}\n`)
    }
    place.write(join(place.home, 'main/.git/HEAD'), '')
    const look = (gitDir: string): string => {
      place.write(join(sub, '.git'), `gitdir: ${gitDir}\n`)
      return place.run(['--', 'cat', join(gitDir, 'canary')], { cwd: sub }).stdout
    }
    repository(join(modules, 'other'), '../../../other') // it names another work tree
    expect(look(join(modules, 'other'))).toBe('')
    repository(join(place.home, 'plain'), sub) // it is no submodule's
    expect(look(join(place.home, 'plain'))).toBe('')
    repository(join(modules, 'led'), sub)
    rmSync(join(modules, 'led/config'))
    place.write(join(sub, 'config'), `[core]\n\tworktree = ${sub}\n`)
    symlinkSync(join(sub, 'config'), join(modules, 'led/config')) // what the work tree itself could write
    expect(look(join(modules, 'led'))).toBe('')
    repository(join(place.home, 'main'), sub) // it lies around its own work tree
    expect(look(join(place.home, 'main'))).toBe('')
    place.write(join(place.home, 'around/HEAD'), '') // a directory that is called like git's, with others' files
    repository(join(place.home, 'around/modules/sub'), sub)
    expect(look(join(place.home, 'around/modules/sub'))).toBe('')
    repository(join(modules, 'libs/sub'), '../../../../sub')
    expect(look(join(modules, 'libs/sub'))).toBe('secret')
    rmSync(join(modules, 'libs/sub/refs'), { recursive: true })
    expect(look(join(modules, 'libs/sub'))).toBe('')
  })

  test("a worktree that claims another's repository gets nothing of it", () => {
    const place = new Place(SOMEBODY)
    const tree = place.mkdir(join(place.home, 'tree'))
    const common = join(place.home, 'main/.git')
    for (const name of ['HEAD', 'config', 'objects/x', 'refs/x']) place.write(join(common, name), '')
    place.write(join(common, 'info/canary'), 'secret')
    const claim = join(common, 'worktrees/t')
    place.write(join(tree, '.git'), `gitdir: ${claim}\n`)
    place.write(join(claim, 'commondir'), '../..\n')
    place.mkdir(join(place.home, 'elsewhere'))
    place.write(join(claim, 'gitdir'), `${place.home}/elsewhere/.git\n`)
    const look = (dir = common, flags: readonly string[] = []): string =>
      place.run([...flags, '--', 'cat', join(dir, 'info/canary')], { cwd: tree }).stdout
    expect(look()).toBe('')
    rmSync(join(claim, 'gitdir'))
    symlinkSync(join(tree, 'gitdir'), join(claim, 'gitdir')) // what the worktree itself could write
    place.write(join(tree, 'gitdir'), `${tree}/.git\n`)
    expect(look()).toBe('')
    rmSync(join(claim, 'gitdir'))
    rmSync(join(place.home, 'elsewhere'), { recursive: true })
    symlinkSync(tree, join(place.home, 'elsewhere'))
    place.write(join(claim, 'gitdir'), `${place.home}/elsewhere/.git\n`) // a link that somebody made since
    expect(look()).toBe('')
    place.write(join(claim, 'gitdir'), `${tree}/.git\n`)
    expect(look()).toBe('secret')
    expect(look(common, ['--here'])).toBe('') // just the directory
    // Nor is any directory a repository that a command made one of.
    const bare = join(place.home, 'x.git')
    renameSync(common, bare)
    place.write(join(tree, '.git'), `gitdir: ${bare}/worktrees/t\n`)
    expect(look(bare)).toBe('secret')
    place.write(join(bare, 'README'), '')
    expect(look(bare)).toBe('')
    rmSync(join(bare, 'README'))
    rmSync(join(bare, 'HEAD'))
    expect(look(bare)).toBe('')
  })

  test('nor one whose directory lies around it', () => {
    const place = new Place(SOMEBODY)
    place.shell('git init -q; mkdir sub; echo secret > top; cd sub; "$@"', ['init'])
    const plant =
      'mkdir -p objects refs worktrees/e; echo $PWD/sub/.git > worktrees/e/gitdir; echo gitdir: $PWD/worktrees/e > sub/.git'
    expect(place.run(['--', 'sh', '-c', plant]).code).toBe(0)
    const sub = { cwd: join(place.root, 'sub') }
    expect(place.run(['--', 'cat', '../top'], sub).stdout).toBe('')
    place.write('HEAD', 'ref: refs/heads/main') // where it says repository
    expect(place.run(['--', 'cat', '../top'], sub).stdout).toBe('')
  })
})

describe('SPEC 4.8 profiles', () => {
  test('a file that is written back is not followed through a link, nor a FIFO, and is whole after a kill', () => {
    const place = new Place(SOMEBODY)
    config(
      place,
      '[profiles.a]\noutside = [{ path = "~/.a.json", read = true, write = true, replace = true }]\n',
    )
    const file = place.write(join(place.home, '.a.json'), 'was')
    const run = (script: string): string =>
      place.run(['--profile', 'a', '--', 'sh', '-c', script]).stderr + readFileSync(file, 'utf8')
    expect(run('rm ~/.a.json; ln -s /etc/passwd ~/.a.json')).toMatch(/ELOOP.*\nwas$/)
    expect(run('rm ~/.a.json; mkfifo ~/.a.json')).toMatch(/EINVAL.*\nwas$/)
    expect(
      run('rm ~/.a.json; ln /etc/passwd ~/.a.json 2>/dev/null; kill -9 $PPID 2>/dev/null; true'),
    ).toMatch(/was$/)
    expect(run('rm -f ~/.a.json')).toMatch(/was removed inside; outside it is as it was\nwas$/)
  })

  test('kill -9 of the host loses nothing that was there before, and leaves nothing', async () => {
    const place = new Place(SOMEBODY)
    config(
      place,
      '[profiles.a]\noutside = [{ path = "~/.a.json", read = true, write = true, replace = true }]\n',
    )
    const file = place.write(join(place.home, '.a.json'), 'was')
    const child = place.start([
      '--profile',
      'a',
      '--',
      'sh',
      '-c',
      'echo half > ~/.a.json; echo ready; sleep 60',
    ])
    await once(child.stdout!, 'data')
    child.kill('SIGKILL')
    await once(child, 'close')
    expect(readFileSync(file, 'utf8')).toBe('was')
    expect(
      readdirSync(place.home).filter((name) => name.startsWith('.a.json') || name.startsWith('..a.json')),
    ).toEqual(['.a.json'])
  })

  test('files of the workspace cannot say what a profile has outside', () => {
    const place = new Place(SOMEBODY)
    for (const line of ['outside = [{ path = "~/.ssh", read = true }]', 'unix_sockets = "private"']) {
      place.write('.cordon/config.toml', `[profiles.claude]\n${line}\n`)
      const { code, stderr } = place.cordon(['config', 'validate'])
      expect(code).toBe(2)
      expect(stderr).toContain('the files of a workspace cannot set it, only a person can')
    }
  })
})
