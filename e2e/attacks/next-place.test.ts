import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from '../harness/place.ts'

/** What a command does to a workspace must not choose what the next one gets (docs/decisions/0128). */
describe.each(PEOPLE)('SPEC 2.1 where the next command runs, as $name', (person) => {
  const ledOut = (from: string, link: string, left: string): string =>
    `cordon: cannot use the workspace at ${from}: the way there is by the link ${link}, which leads out of ${left} to ${from}; ` +
    'a command that ran there may have made it\n  fix: `cd -P .`, or name that place itself, if you mean it; else remove the link\n'

  /** A marked workspace, in which a command has exchanged `packages/x` for a link to where keys are. */
  function exchanged(): Place {
    const at = new Place(person)
    at.write(join(at.home, '.ssh/authorized_keys'), 'mine\n')
    for (const dir of ['packages', 'packages/x']) at.mkdir(join(at.root, dir))
    const swap = `rmdir packages/x && ln -s ${at.home}/.ssh packages/x`
    expect(at.run(['--', 'sh', '-c', swap])).toMatchObject({ code: 0 })
    return at
  }

  test('the attack: a directory exchanged for a link does not become the next workspace', () => {
    const at = exchanged()
    const told = ledOut(join(at.home, '.ssh'), join(at.root, 'packages/x'), at.root)
    const evil = ['run', '--', 'sh', '-c', 'echo evil >> authorized_keys']
    expect(at.shell('cd packages/x && "$@"', evil)).toMatchObject({ code: 125, stdout: '', stderr: told })
    expect(at.shell('cd packages/x && "$@"', ['init'])).toMatchObject({ code: 2, stdout: '', stderr: told })
    expect(existsSync(join(at.home, '.ssh/.cordon'))).toBe(false)
    expect(readFileSync(join(at.home, '.ssh/authorized_keys'), 'utf8')).toBe('mine\n')
  })

  test('the attack by two links, by a link of the person’s, and in a repository that nobody marked', () => {
    const at = exchanged()
    const keys = join(at.home, '.ssh')
    symlinkSync('packages/x', join(at.root, 'y'))
    symlinkSync(join(at.root, 'packages/x'), join(at.dir, 'z'))
    for (const [way, link] of [
      ['y', join(at.root, 'y')],
      [join(at.dir, 'z'), join(at.root, 'packages/x')],
    ])
      expect(at.shell(`cd ${way} && "$@"`, ['run', '--', 'true']).stderr).toBe(ledOut(keys, link!, at.root))
    rmSync(join(at.root, '.cordon'), { recursive: true })
    mkdirSync(join(at.root, '.git'))
    expect(at.shell('cd packages/x && "$@"', ['run', '--', 'true']).stderr).toBe(
      ledOut(keys, join(at.root, 'packages/x'), at.root),
    )
  })

  test('the attack: --workspace, and a way from where one stands, follow no such link either', () => {
    const at = exchanged()
    const keys = join(at.home, '.ssh')
    const named = join(at.root, 'packages/x')
    const told = ledOut(keys, named, at.root)
    const commands = [
      ['mcp', 'serve', '--workspace'],
      ['mcp', 'doctor', '--workspace'],
    ]
    for (const command of commands)
      expect(at.cordon([...command, named])).toMatchObject({ code: 2, stdout: '', stderr: told })
    // From a directory that was reached by the link, its parent is as far out.
    at.mkdir(join(keys, 'deep'))
    const wrap = (way: string): string[] => ['mcp', 'wrap', '--workspace', way, '--', 'true']
    expect(at.cordon(wrap('packages/x'))).toMatchObject({ code: 2, stdout: '', stderr: told })
    expect(at.shell('cd packages/x && "$@"', wrap('deep')).stderr).toBe(
      ledOut(join(keys, 'deep'), named, at.root).replace(`to ${join(keys, 'deep')};`, `to ${keys};`),
    )
    expect(at.shell('cd packages/x/deep && "$@"', wrap('..')).stderr).toBe(told)
    expect(at.shell('cd packages/x && "$@"', ['run', '--here', '--', 'true']).stderr).toBe(told)
    // The place itself is what it is, and links that stay inside are fine.
    symlinkSync('packages', join(at.root, 'inside'))
    expect(at.cordon(wrap('inside'))).toMatchObject({ code: 0 })
    const other = at.mkdir(join(at.home, 'other'))
    symlinkSync(other, join(at.root, 'packages/y'))
    expect(at.cordon(wrap(other))).toMatchObject({ code: 0 })
  })

  test('a person who means it goes there, unless secrets live there; links that stay inside, or begin outside, are fine', () => {
    const at = exchanged()
    const secrets = `cordon: no workspace at or above ${at.home}/.ssh\n  fix: start in a project's directory; secrets live here (~/.ssh). If you mean it: run \`cordon init\` here\n`
    const evil = ['run', '--', 'sh', '-c', 'echo evil >> authorized_keys']
    expect(at.shell('cd packages/x && cd -P . && "$@"', evil)).toMatchObject({ code: 125, stderr: secrets })
    expect(readFileSync(join(at.home, '.ssh/authorized_keys'), 'utf8')).toBe('mine\n')
    const other = at.mkdir(join(at.home, 'other'))
    symlinkSync(other, join(at.root, 'packages/y'))
    expect(at.shell('cd packages/y && cd -P . && "$@"', ['run', '--', 'pwd'])).toMatchObject({
      code: 0,
      stdout: `${other}\n`,
    })
    expect(at.cordon(['init']).code).toBe(0)
    at.mkdir(join(at.root, 'src'))
    symlinkSync('../src', join(at.root, 'packages/inside'))
    symlinkSync(at.root, join(at.home, 'project'))
    for (const way of ['packages/inside', `${at.home}/project/src`])
      expect(at.shell(`cd ${way} && "$@"`, ['run', '--', 'pwd'])).toMatchObject({
        code: 0,
        stdout: `${at.root}/src\n`,
        stderr: '',
      })
    // A PWD that does not name the current directory says nothing.
    expect(at.shell('PWD=/etc "$@"', ['run', '--', 'true'])).toMatchObject({ code: 0, stderr: '' })
  })

  test('the attack: a mark that a command made does not give the directories around to those below', () => {
    const at = new Place(person)
    rmSync(join(at.root, '.cordon'), { recursive: true })
    at.mkdir(join(at.root, 'sub'))
    at.write('secret', 's\n')
    const look = (): ReturnType<Place['run']> =>
      at.run(['--quiet', '--', 'cat', '../secret'], { cwd: join(at.root, 'sub'), env: { LC_ALL: 'C' } })
    expect(look()).toMatchObject({ code: 1, stdout: '' })
    at.run(['--', 'mkdir', '.cordon'])
    expect(existsSync(join(at.root, '.cordon'))).toBe(true)
    expect(look()).toMatchObject({ code: 1, stdout: '' })
    const notInEffect = `${at.root} is marked as a workspace, and not in effect; if it is yours: run \`cordon init\` in it`
    const cwd = join(at.root, 'sub')
    expect(at.run(['--', 'true'], { cwd })).toMatchObject({ code: 0, stderr: `warning: ${notInEffect}\n` })
    expect(at.cordon(['tool', 'ls'], { cwd })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `cordon: no workspace at or above ${cwd}\n  fix: ${notInEffect}, or work there\n`,
    })
    // A clone is usable: in its root at once, and below it when the person has said that it is theirs.
    expect(at.cordon(['tool', 'ls']).code).toBe(0)
    expect(at.cordon(['init']).code).toBe(0)
    expect(look()).toMatchObject({ code: 0, stdout: 's\n' })
  })

  test('the attack: init does not write its schema through a link that came with the directory', () => {
    const at = new Place(person)
    const victim = at.write(join(at.home, 'victim'), 'mine\n')
    symlinkSync(victim, join(at.root, '.cordon/config.schema.json'))
    expect(at.cordon(['init']).code).toBe(0)
    expect(readFileSync(victim, 'utf8')).toBe('mine\n')
    expect(lstatSync(join(at.root, '.cordon/config.schema.json')).isFile()).toBe(true)
  })
})
