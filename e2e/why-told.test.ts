import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Place } from './harness/place.ts'

/** What `why`, `policy explain` and `config set` tell of what a person wrote: one truth with the run (SPEC 4.7). */

describe('SPEC 4.8 a profile of the person’s own', () => {
  const place = new Place()
  place.init()
  expect(place.cordon(['profile', 'copy', 'claude', 'mine']).code).toBe(0)

  test('is explained with its places outside, as the shipped one is', () => {
    const explained = (...words: string[]): string => place.cordon(['policy', 'explain', ...words]).stdout
    const row = /\n {2}fs +\S*\/\.claude +read/
    expect(explained('claude')).toMatch(row)
    expect(explained('mine')).toMatch(row)
    expect(explained()).toMatch(row)
    expect(existsSync(join(place.home, '.claude'))).toBe(false)
  })

  test.each([
    [
      'profiles."cordon run".description',
      'the profile "cordon run" is what the command has without --profile; give yours another name',
    ],
    [
      'profiles.run.description',
      'a profile cannot be named "run": `cordon why run` is about a plain `cordon run`; give yours another name',
    ],
  ])('%s is refused when it is written', (key, why) => {
    const file = join(place.home, '.config/cordon/config.toml')
    const before = readFileSync(file, 'utf8')
    expect(place.cordon(['config', 'set', '--user', key, 'x'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `cordon: ${why}\n`,
    })
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect(place.run(['--', 'true']).code).toBe(0)
  })
})

describe('SPEC 4.10 what sandbox.guard of a file names', () => {
  const place = new Place()
  place.write('deploy.sh', '')
  place.config('[sandbox]\nguard = ["deploy.sh", "later.sh"]\n')

  test('has the file and line of that entry', () => {
    expect(place.cordon(['why', 'fs_modify_file', 'update', 'deploy.sh']).stdout).toContain(
      '  rule at: .cordon/config.toml:2:10\n',
    )
    expect(place.cordon(['why', 'fs_modify_file', 'update', '.cordon/config.toml']).stdout).toContain(
      '  rule at: built-in guard\n',
    )
  })

  test('tool show counts as policy explain does: what is there, and what the tool does not make', () => {
    const { stdout } = place.cordon(['policy', 'explain', 'fs_create_file'])
    const later = /built-in guard: (\d+) names where nothing is yet/.exec(stdout)?.[1]
    expect(stdout).toContain('  built-in guard: no create, update or delete: .cordon, deploy.sh\n')
    expect(place.cordon(['tool', 'show', 'fs_create_file']).stdout).toContain(
      `  built-in guard: 2 paths cannot be written, because the host obeys or runs them; ${later} names where nothing is yet cannot be made; cordon policy explain --json has all of them\n`,
    )
  })
})

test('SPEC 3.3 where nothing is marked, the mount that is suggested works as pasted', () => {
  const place = new Place()
  rmSync(join(place.root, '.cordon'), { recursive: true })
  place.write(join(place.home, 'shared/f'), 'hello')
  const { stdout } = place.cordon(['why', 'fs_read_file', 'read', '~/shared/f'])
  const command = / {2}to allow it:\n {4}(.*)\n/.exec(stdout)?.[1] ?? ''
  expect(command).toBe('cordon init && cordon mount add fs_read_file:f=~/shared/f')
  const pasted = command.replaceAll('cordon ', '"$@" ')
  expect(place.shell(pasted, [])).toMatchObject({ code: 0 })
  expect(place.cordon(['tool', 'run', 'fs_read_file', '--args', '{"path":"f"}']).stdout).toContain('hello')
})

describe('SPEC 4.7 where nothing is marked', () => {
  const unmarked = (): Place => {
    const place = new Place()
    rmSync(join(place.root, '.cordon'), { recursive: true })
    place.write('a', 'hello')
    place.write('.git/HEAD', 'ref: refs/heads/main\n')
    place.write('sub/f', '')
    return place
  }

  test.each([
    ['.', () => ''],
    ['sub', (root: string) => `cd ${root} && `],
  ])('the edit that is suggested in %s works as pasted', (cwd, there) => {
    const place = unmarked()
    const asked = ['why', 'fs_read_file', 'net', 'https://x.y']
    const { stdout } = place.cordon(asked, { cwd: join(place.root, cwd) })
    const command = / {2}to allow it:\n {4}(.*)\n/.exec(stdout)?.[1] ?? ''
    expect(command).toBe(
      `${there(place.root)}cordon init && cordon config set conversation.tools.fs_read_file.access.net '+{ host = "x.y", scheme = "https", allow = true }'`,
    )
    expect(place.shell(command.replaceAll('cordon ', '"$@" '), [])).toMatchObject({ code: 0 })
    expect(place.cordon(asked).code).toBe(0)
  })

  test('what a tool is allowed has the note that two of the commands that call it need a workspace', () => {
    const place = unmarked()
    expect(place.cordon(['why', 'fs_read_file', 'read', 'a'])).toMatchObject({
      code: 0,
      stdout: `allowed: tool fs_read_file, read a
  because: the rule for . grants read
  rule at: built-in default
  note:    no workspace is marked here: \`cordon tool run\` and \`cordon query\` need \`cordon init\` first
`,
    })
    place.init()
    expect(place.cordon(['why', 'fs_read_file', 'read', 'a']).stdout).not.toContain('note:')
  })
})

describe('SPEC 1.3 a link out of the workspace that is nobody’s mount', () => {
  const place = new Place()
  place.init()
  const shared = join(place.home, 'shared')
  place.write(join(shared, 'f'), 'hello')
  symlinkSync(shared, join(place.root, 'lnk'))
  symlinkSync('/etc/hostname', join(place.root, 'of-system'))
  const suggested = (...words: string[]): string =>
    / {2}to allow it:\n {4}(.*)\n/.exec(place.cordon(['why', ...words]).stdout)?.[1] ?? ''

  test.each([
    ['read', 'lnk/f', '--read', 'shared/f', 'cat lnk/f'],
    ['read', 'lnk', '--read', 'shared', 'ls lnk/'],
    ['create', 'lnk/new', '--write', 'shared', ': > lnk/new'],
    ['update', 'lnk/f', '--write', 'shared/f', 'echo hello > lnk/f'],
    ['delete', 'lnk/new', '--write', 'shared', 'rm lnk/new'],
  ])('why run %s %s names the flag that works', (capability, path, flag, granted, script) => {
    expect(place.run(['--', 'sh', '-c', script]).code).not.toBe(0)
    expect(suggested('run', capability, path)).toBe(`cordon run ${flag} ~/${granted} -- COMMAND`)
    expect(place.run([flag, join(place.home, granted), '--', 'sh', '-c', script]).code).toBe(0)
  })

  test('to what every command has is allowed, and the link itself may go', () => {
    expect(place.cordon(['why', 'run', 'read', 'of-system']).code).toBe(0)
    expect(place.run(['--', 'cat', 'of-system']).code).toBe(0)
    expect(place.cordon(['why', 'run', 'delete', 'lnk']).code).toBe(0)
  })

  test('a tool has it by a mount, which works as pasted', () => {
    expect(place.cordon(['why', 'fs_read_file', 'read', 'lnk/f']).stdout).toBe(
      'denied: tool fs_read_file, read lnk/f\n' +
        '  because: path escapes the workspace: lnk/f (lnk is a link out of it)\n' +
        '  to allow it:\n' +
        '    cordon mount add fs_read_file:lnk=~/shared\n',
    )
    expect(suggested('fs_modify_file', 'update', 'lnk/f')).toBe(
      'cordon mount add fs_modify_file:lnk=~/shared:rw',
    )
    expect(place.cordon(['mount', 'add', `fs_read_file:lnk=${shared}`]).code).toBe(0)
    const read = ['tool', 'run', 'fs_read_file', '--args', '{"path":"lnk/f"}']
    expect(place.cordon(read).stdout).toContain('hello')
    expect(place.cordon(['why', 'fs_read_file', 'read', 'lnk/f']).code).toBe(0)
  })

  test('none is suggested of what is never granted', () => {
    symlinkSync(join(place.home, '.local/share/cordon'), join(place.root, 'keys'))
    expect(suggested('run', 'read', 'keys')).toBe('')
    expect(suggested('fs_read_file', 'read', 'keys')).toBe('')
  })
})
