import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Place, SOMEBODY } from '../harness/place.ts'

/** A directory of projects in the home: the repositories `a` and `b`, a bare one, and one further down. */
function projects(): { readonly place: Place; readonly at: (name: string) => string } {
  const place = new Place(SOMEBODY)
  const at = (name: string): string => join(place.home, 't', name)
  const git = (...args: string[]): void => {
    execFileSync('git', args, {
      ...(place.person.uid === undefined ? {} : { uid: place.person.uid, gid: place.person.gid! }),
      env: place.env({ GIT_CONFIG_GLOBAL: '/dev/null' }),
      stdio: 'ignore',
    })
  }
  place.mkdir(join(place.home, 't'))
  for (const name of ['a', 'b', 'deep/er/c']) {
    place.mkdir(at(name))
    git('-C', at(name), 'init', '-q')
  }
  git('init', '-q', '--bare', at('bare.git'))
  git('-C', at('a'), '-c', 'user.name=x', '-c', 'user.email=x', 'commit', '-q', '--allow-empty', '-m', 'x')
  return { place, at }
}

const HOOK = 'printf "#!/bin/sh\\necho PWNED >&2\\n" > "$1"/hooks/pre-commit'

describe('SPEC 4.10 below a writable place outside', () => {
  test.each(['b/.git', 'deep/er/c/.git', 'bare.git'])('hooks and configuration of %s hold', (name) => {
    const { place, at } = projects()
    const before = readFileSync(join(at(name), 'config'), 'utf8')
    const script = `${HOOK}; git --git-dir="$1" config core.fsmonitor /bin/x; mv "$1" "$1".was; echo done`
    const ended = place.run(['--write', at('.'), '--', 'sh', '-c', script, 'sh', at(name)], { cwd: at('a') })
    expect(ended.stdout).toBe('done\n')
    expect(existsSync(join(at(name), 'hooks/pre-commit'))).toBe(false)
    expect(readFileSync(join(at(name), 'config'), 'utf8')).toBe(before)
  })

  test('what is new at a guarded path of a repository there is told', () => {
    const { place, at } = projects()
    const { stderr } = place.run(['--write', at('.'), '--', 'sh', '-c', `echo x > ${at('b/.envrc')}`], {
      cwd: at('a'),
    })
    expect(stderr).toContain(`${at('b/.envrc')} was made`)
  })

  test('what editors and shells obey in a directory that is no repository holds', () => {
    const { place, at } = projects()
    place.write(at('plain/.envrc'), 'was')
    place.write(at('plain/sub/.vscode/tasks.json'), 'was')
    const script = `echo x > ${at('plain/.envrc')}; echo x > ${at('plain/sub/.vscode/tasks.json')}; echo x > ${at('plain/other')}; echo done`
    const ended = place.run(['--write', at('.'), '--', 'sh', '-c', script], { cwd: at('a') })
    expect(ended.stdout).toBe('done\n')
    expect(readFileSync(at('plain/.envrc'), 'utf8')).toBe('was')
    expect(readFileSync(at('plain/sub/.vscode/tasks.json'), 'utf8')).toBe('was')
    expect(readFileSync(at('plain/other'), 'utf8')).toBe('x\n')
  })

  test('the same in a workspace that is no repository itself', () => {
    const { place, at } = projects()
    const script = `${HOOK}; echo done`
    const ended = place.run(['--', 'sh', '-c', script, 'sh', at('b/.git')], { cwd: at('.') })
    expect(ended.stdout).toBe('done\n')
    expect(existsSync(at('b/.git/hooks/pre-commit'))).toBe(false)
  })

  test('the flag that names one of them lifts it there, and nowhere else', () => {
    const { place, at } = projects()
    const set = (name: string): string => `git -C ${at(name)} config x.y z`
    const flags = ['--write', at('.'), '--write', at('b/.git/config')]
    place.run([...flags, '--', 'sh', '-c', `${set('b')}; ${set('deep/er/c')}`], { cwd: at('a') })
    // A file that is granted by itself cannot be replaced, and git replaces it.
    place.run([...flags, '--', 'sh', '-c', `echo '[x]' >> ${at('b/.git/config')}`], { cwd: at('a') })
    expect(readFileSync(at('b/.git/config'), 'utf8')).toContain('[x]')
    expect(readFileSync(at('deep/er/c/.git/config'), 'utf8')).not.toContain('[x]')
  })

  test('a place that is too large to be looked through is refused, unless a profile names it', () => {
    const { place, at } = projects()
    for (let i = 0; i < 20_100; i++) mkdirSync(at(`many/${i}`), { recursive: true })
    const ended = place.run(['--write', at('.'), '--', 'echo', 'ran'], { cwd: at('a') })
    expect(ended).toMatchObject({
      code: 125,
      stdout: '',
      stderr: `cordon: --write ${at('.')}: it has more directories or repositories than are looked through, and their hooks and settings are to be guarded
  fix: name a smaller place; or, if you mean all of it, a profile of your own, and use --profile mine:
    cordon config set --user profiles.mine.outside '+{ path = "~/t", read = true, write = true }'
`,
    })
    place.write(
      join(place.home, '.config/cordon/config.toml'),
      '[profiles.mine]\noutside = [{ path = "~/t", read = true, write = true }]\n',
    )
    const profile = place.run(['--profile', 'mine', '--', 'echo', 'ran'], { cwd: at('a') })
    expect(profile.stdout).toBe('ran\n')
    expect(profile.stderr).toContain(
      `the guard does not see everything: ${at('.')} has more directories than are looked through, so repositories in it may not be guarded`,
    )
  })

  test('so is one with more repositories than are guarded', () => {
    const { place, at } = projects()
    for (let i = 0; i < 500; i++) mkdirSync(at(`many/${i}/.git`), { recursive: true })
    const ended = place.run(['--write', at('.'), '--', 'echo', 'ran'], { cwd: at('a') })
    expect([ended.code, ended.stdout]).toEqual([125, ''])
    expect(ended.stderr).toContain('it has more directories or repositories than are looked through, and')
  })

  test('what the repository around a place guards in it holds: hooks it names, settings of agents', () => {
    const { place, at } = projects()
    place.mkdir(at('b/tools'))
    place.write(at('b/tools/hooks/pre-commit'), 'was', 0o755)
    place.write(at('b/.claude/settings.json'), 'was')
    place.write(
      at('b/.git/config'),
      `${readFileSync(at('b/.git/config'), 'utf8')}[core]\n\thooksPath = tools/hooks\n`,
    )
    const script = `cd ${at('b')}; echo x > tools/hooks/pre-commit; echo x > .claude/settings.json; echo x > tools/fine; echo done`
    const flags = ['--write', at('b/tools'), '--write', at('b/.claude')]
    const ended = place.run([...flags, '--', 'sh', '-c', script], { cwd: at('a') })
    expect(ended.stdout).toBe('done\n')
    for (const name of ['tools/hooks/pre-commit', '.claude/settings.json'])
      expect([name, readFileSync(at(`b/${name}`), 'utf8')]).toEqual([name, 'was'])
    expect(readFileSync(at('b/tools/fine'), 'utf8')).toBe('x\n')
  })

  test('the hint for a new worktree does not open what lies beside it, and works as it says', () => {
    const { place, at } = projects()
    const command = ['--', 'git', 'worktree', 'add', '../a-wt']
    const refused = place.run(command, { cwd: at('a') })
    expect(refused.stderr).toContain(
      '  hint: ~/t is not granted to be written, and ~/t/a-wt is not there yet\n    to allow it, first: mkdir ~/t/a-wt\n    to allow it: --write ~/t/a-wt\n',
    )
    place.mkdir(at('a-wt'))
    expect(place.run(['--write', '../a-wt', ...command], { cwd: at('a') }).code).toBe(0)
    expect(existsSync(at('a-wt/.git'))).toBe(true)
    const file = place.run(['--', 'touch', '../new'], { cwd: at('a') })
    expect(file.stderr).toContain(
      '  hint: ~/t is not granted to be written, and can be only with all that is in it\n    to allow it: --write ~/t\n',
    )
  })
})
