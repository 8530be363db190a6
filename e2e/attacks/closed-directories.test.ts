import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, type Person, Place, SOMEBODY } from '../harness/place.ts'
import { Repository } from '../harness/repository.ts'

/**
 * SPEC 4.10, decision 0510. One command takes the permissions off a directory. The next one starts where nobody can see what
 * is in it, puts them back, and does what the first could not.
 */
const CLOSED = ['000', '600', '300']

/** What the second command tries first, wherever it is. */
const reopen = (dir: string): string => `chmod 700 ${dir} 2> /dev/null; `

const CANARY = 'canary'

/** The second command is not started, and the person is told what to do. Root is let in everywhere, so it sees what is there. */
function expectRefused(
  person: Person,
  ended: ReturnType<Place['run']>,
  { path, closed }: { readonly path: string; readonly closed: string },
): void {
  if (person.uid === undefined) return
  expect(ended).toMatchObject({
    code: 125,
    stdout: '',
    stderr: `cordon: cannot look at ${path}: ${closed} is closed to its owner, who is you\n  fix: chmod u+rwx ${closed}\n`,
  })
}

describe.each(PEOPLE)('a directory that was closed, as $name', (person) => {
  test.each(CLOSED)('does not lift a denial of a profile (%s)', (mode) => {
    const place = new Place(person)
    const tool = place.mkdir(join(place.home, 'tool'))
    place.write(join(tool, 'sub/key'), CANARY)
    place.write(
      join(place.home, '.config/cordon/config.toml'),
      '[profiles.p]\noutside = [{ path = "~/tool", read = true, write = true }, { path = "~/tool/sub/key" }]\n',
    )
    const sh = (script: string): ReturnType<Place['run']> =>
      place.run(['--profile', 'p', '--', 'sh', '-c', `cd ~/tool; ${script}`])
    expect(sh(`chmod ${mode} sub`).code).toBe(0)
    const ended = sh(`${reopen('sub')} cat sub/key`)
    expect(ended.stdout).toBe('')
    if (mode !== '300')
      expectRefused(person, ended, { path: join(tool, 'sub/key'), closed: join(tool, 'sub') })
  })

  test.each(CLOSED)('does not lift a denial of a tool (%s)', (mode) => {
    const place = new Place(person)
    place.write('sub/key', CANARY)
    place.config(`
[[conversation.tools.t.access.fs]]
path = "."
read = true
write = true
execute = true
[[conversation.tools.t.access.fs]]
path = "sub/key"
[conversation.tools.t]
source = "local"
command = "true"
`)
    const sh = (script: string): ReturnType<Place['run']> =>
      place.run(['--tool', 't', '--', 'sh', '-c', script])
    expect(sh(`chmod ${mode} sub`)).toMatchObject({ code: 0 })
    expect(sh(`${reopen('sub')} cat sub/key`).stdout).toBe('')
  })

  test.each(CLOSED)('does not show what Cordon keeps (%s)', (mode) => {
    const place = new Place(person)
    place.mkdir(join(place.root, 'sub'))
    place.write('sub/state/key', CANARY, 0o600)
    const env = { CORDON_PROVIDER_DIR: join(place.root, 'sub/state') }
    const sh = (script: string): ReturnType<Place['run']> => place.run(['--', 'sh', '-c', script], { env })
    expect(sh(`chmod ${mode} sub`).code).toBe(0)
    const ended = sh(`${reopen('sub')} cat sub/state/key`)
    expect(ended.stdout).toBe('')
    if (mode !== '300')
      expectRefused(person, ended, { path: join(place.root, 'sub/state'), closed: join(place.root, 'sub') })
  })

  test.each(CLOSED)('does not open what an agent obeys in it (%s)', (mode) => {
    const place = new Repository(person)
    place.write('.claude/settings.json', 'was')
    expect(place.sh(`chmod ${mode} .claude`).code).toBe(0)
    const ended = place.sh(`${reopen('.claude')} echo x > .claude/settings.json`)
    if (mode !== '300')
      expectRefused(person, ended, {
        path: `${place.real}/.claude/settings.json`,
        closed: `${place.real}/.claude`,
      })
    place.shell('chmod 700 .claude', [])
    expect(place.read('.claude/settings.json')).toBe('was')
  })

  test.each(CLOSED)('does not keep the hooks from being known that git is told to run (%s)', (mode) => {
    const place = new Repository(person)
    place.write('tools/hooks/pre-commit', 'was', 0o755)
    place.git('config core.hooksPath tools/hooks')
    const config = place.read('.git/config')
    expect(place.sh(`chmod ${mode} .git`).code).toBe(0)
    const ended = place.sh(`${reopen('.git')} echo x > tools/hooks/pre-commit; echo x > .git/config`)
    expect(place.read('tools/hooks/pre-commit')).toBe('was')
    if (mode !== '300')
      expectRefused(person, ended, { path: `${place.real}/.git/config`, closed: `${place.real}/.git` })
    place.shell('chmod 700 .git', [])
    expect(place.read('.git/config')).toBe(config) // and nobody moved it aside
    expect(place.has('.git/hooks')).toBe(true)
    expect(place.sh('git status --short').code).toBe(0)
  })

  test.each(CLOSED)('does not open a repository beside the workspace (%s)', (mode) => {
    const place = new Repository(person)
    const t = place.mkdir(join(place.home, 't'))
    place.git(`init -q ${t}/b`)
    const sh = (script: string): ReturnType<Place['run']> =>
      place.run(['--write', t, '--', 'sh', '-c', script])
    expect(sh(`chmod ${mode} ${t}/b`).code).toBe(0)
    const ended = sh(`${reopen(`${t}/b`)} echo x > ${t}/b/.git/hooks/pre-commit; echo fine > ${t}/c`)
    if (person.uid !== undefined || mode === '300') expect(readFileSync(join(t, 'c'), 'utf8')).toBe('fine\n') // that one alone is held, as a whole
    else
      expect(ended.stderr).toContain(
        'a directory on that path is closed to its owner\n  fix: open it (chmod u+rwx)',
      )
    place.shell(`chmod 700 ${t}/b`, [])
    expect(existsSync(join(t, 'b/.git/hooks/pre-commit'))).toBe(false)
  })
})

describe('decision 0475 what a command leaves for the look of the next one', () => {
  const siblings = (): { readonly place: Repository; readonly t: string } => {
    const place = new Repository(SOMEBODY)
    const t = place.mkdir(join(place.home, 't'))
    place.git(`init -q ${t}/a/b`)
    return { place, t }
  }

  test('a directory that looks like a bare repository is looked below', () => {
    const { place, t } = siblings()
    const sh = (script: string): ReturnType<Place['run']> =>
      place.run(['--write', t, '--', 'sh', '-c', `cd ${t}/a; ${script}`])
    sh('touch HEAD; mkdir objects refs')
    sh('echo x > b/.git/hooks/pre-commit')
    expect(existsSync(join(t, 'a/b/.git/hooks/pre-commit'))).toBe(false)
  })

  test('a place that became too large is refused, whatever was made a repository in it', () => {
    const { place, t } = siblings()
    place.run(['--write', t, '--', 'git', 'init', '-q', t])
    for (let i = 0; i < 20_100; i++) mkdirSync(join(t, `many/${i}`), { recursive: true })
    const ended = place.run(['--write', t, '--', 'echo', 'ran'])
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr).toContain('it has more directories or repositories than are looked through')
  })

  test('a repository that a command makes around others does not take the guard off them', () => {
    const { place, t } = siblings()
    const sh = (script: string): ReturnType<Place['run']> => place.run(['--', 'sh', '-c', script], { cwd: t })
    expect(sh('git init -q').stderr).toContain(`${t}/.git was made`)
    sh('echo x > a/b/.git/hooks/pre-commit')
    expect(existsSync(join(t, 'a/b/.git/hooks/pre-commit'))).toBe(false)
  })
})
