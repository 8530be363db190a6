import { chmodSync, chownSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from '../harness/place.ts'

/** SPEC 2.1: a workspace's files do not say how they are held. */
describe.each(PEOPLE)('a confined command writes configuration, seen by $name', (person) => {
  test.each([
    ['.cordon/config.toml', '[sandbox]\nmode = "off"\n'],
    ['.cordon.toml', 'sandbox.mode = "warn"\n'],
    ['.cordon.toml', '[sandbox.limits]\nprocesses = 100000\n'],
  ])('%s with %j: the next command has no more than this one', (name, toml) => {
    const place = new Place(person)
    const secret = place.write(join(place.home, 'secret'), 'mine')
    place.run(['--', 'sh', '-c', `printf '%s' "$1" > ${name}`, 'sh', toml])
    place.write(name, toml) // whether or not the sandbox let it
    const next = place.run(['--', 'sh', '-c', `cat ${secret}; ulimit -u`])
    expect(next.stdout).not.toContain('mine')
    expect(next.stdout).not.toContain('100000')
    expect(existsSync(secret)).toBe(true)
  })

  test('the refusal names the place, and what it names works', () => {
    const place = new Place(person)
    place.config('# ours\n[sandbox]\nmode = "off"\n')
    const refused = place.cordon(['config', 'validate'])
    expect(refused).toMatchObject({
      code: 2,
      stdout: '',
      stderr:
        'cordon: error: `sandbox.mode`: the files of a workspace cannot set it, only a person can\n' +
        '  at .cordon/config.toml:3:1\n' +
        '  fix: take it out; if you want it: cordon config set --user-workspace sandbox.mode off\n',
    })
    place.config('')
    expect(place.cordon(['config', 'set', '--user-workspace', 'sandbox.mode', 'off']).code).toBe(0)
    expect(place.cordon(['config', 'explain', 'sandbox.mode']).stdout).toContain('sandbox.mode = "off"')
  })
})

const OTHER = 1 // `daemon` nearly everywhere; it need not exist
const profile = '[[profiles.x.access.fs]]\npath = "."\nread = true\nexecute = true\n'

/** SPEC 2.1: nor are they anybody's. Only root can make files of others, so only root runs these. */
describe.runIf(process.getuid?.() === 0).each(PEOPLE)(
  'files in the hands of others, refused by $name',
  (person) => {
    const refuses = (
      place: Place,
      what: string,
      options: { cwd?: string; env?: Record<string, string> } = {},
    ): void => {
      const ended = place.run(['--profile', 'x', '--', 'echo', 'ran'], options)
      expect(ended.stdout).toBe('')
      expect(ended.code).not.toBe(0)
      expect(ended.stderr).toContain(what)
    }
    const obeys = (place: Place, options: { cwd?: string; env?: Record<string, string> } = {}): void => {
      // Refused for another reason at most: that nobody has trusted it yet.
      const ended = place.run(['--profile', 'x', '--', 'echo', 'ran'], options)
      expect(ended.stderr).not.toMatch(/belongs to|can be written/)
    }

    test('a .cordon.toml that somebody put into a shared directory like /tmp', () => {
      const place = new Place(person)
      const shared = join(place.dir, 'shared')
      mkdirSync(shared)
      chmodSync(shared, 0o1777)
      const file = join(shared, '.cordon.toml')
      writeFileSync(file, profile)
      chownSync(file, OTHER, OTHER)
      refuses(place, "this one is everybody's", { cwd: shared })
      chmodSync(shared, 0o777)
      refuses(place, `the directory ${shared} above it can be written by every user`, { cwd: shared })
      chmodSync(shared, 0o755)
      refuses(
        place,
        'error: cannot read the config file: it belongs to the user with id 1, who could write anything there\n' +
          '  at .cordon.toml\n' +
          `  fix: if its content is yours: chown "$(id -un)" ${file}; or trust that user: CORDON_TRUST_UID=1\n`,
        { cwd: shared },
      )
      obeys(place, { cwd: shared, env: { CORDON_TRUST_UID: '1' } })
      if (person.uid === undefined) obeys(place, { cwd: shared, env: { SUDO_UID: '1' } })
      else refuses(place, 'belongs to the user with id 1', { cwd: shared, env: { SUDO_UID: '1' } })
      chownSync(file, 0, 0)
      obeys(place, { cwd: shared })
    })

    test('a directory on the way, and what others may write', () => {
      const place = new Place(person)
      place.init()
      place.write('a/b/.cordon.toml', profile)
      const cwd = join(place.root, 'a/b')
      obeys(place, { cwd })
      chownSync(join(place.root, 'a'), OTHER, OTHER)
      refuses(place, `the directory ${place.root}/a above it belongs to the user with id 1`, { cwd })
      place.give(join(place.root, 'a'))
      if (person.uid === undefined) chownSync(join(place.root, 'a'), 0, 0)
      chmodSync(join(cwd, '.cordon.toml'), 0o646)
      refuses(place, 'it can be written by every user', { cwd })
      chmodSync(join(cwd, '.cordon.toml'), 0o664)
      chownSync(join(cwd, '.cordon.toml'), person.uid ?? 0, OTHER)
      refuses(place, 'it can be written by the group with id 1, which is not yours alone', { cwd })
    })

    test('a link to a file of somebody else, or of one’s own', () => {
      const place = new Place(person)
      const elsewhere = place.write(join(place.dir, 'elsewhere.toml'), profile)
      symlinkSync(elsewhere, join(place.root, '.cordon.toml'))
      refuses(
        place,
        'cannot read the config file: it is a symbolic link, or reached through one\n  at .cordon.toml',
      )
    })
  },
)
