import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from '../harness/place.ts'

/** A file that `--cfg` names is in the workspace, where commands write (docs/decisions/0128). */
describe.each(PEOPLE)('SPEC 2.1 --cfg with a file of the workspace, as $name', (person) => {
  const OFF = `printf '[sandbox]\\nmode = "off"\\n' > ci/cordon.toml`
  const waits = (at: Place, state: string): string => {
    const cfg = `--cfg ${at.root}/ci/cordon.toml`
    return (
      'cordon: nobody has trusted what these files of the workspace say, and this command needs it\n' +
      `  ci/cordon.toml (${state})\n` +
      `  fix: run \`cordon trust ${cfg}\`, which shows what they would grant; without a terminal \`cordon trust show ${cfg}\`, then \`cordon trust --yes ${cfg}\`\n`
    )
  }

  test('the attack: what a command wrote into it does not turn the next one’s sandbox off', () => {
    const at = new Place(person)
    at.mkdir(join(at.root, 'ci'))
    at.write('ci/cordon.toml', '')
    const escape = ['run', '--cfg', 'ci/cordon.toml', '--', 'sh', '-c', `touch ${at.dir}/home/OUT`]
    expect(at.cordon(escape)).toMatchObject({ code: 125, stdout: '', stderr: waits(at, 'new') })
    expect(at.cordon(['trust', '--yes', '--cfg', 'ci/cordon.toml'])).toMatchObject({
      code: 0,
      stdout: 'trusted ci/cordon.toml\n  nothing\n',
      stderr: '',
    })
    expect(at.run(['--cfg', 'ci/cordon.toml', '--', 'sh', '-c', OFF])).toMatchObject({ code: 0 })
    expect(at.cordon(escape)).toMatchObject({
      code: 125,
      stdout: '',
      stderr: waits(at, 'changed since it was trusted'),
    })
    // Trusted by mistake, it still cannot: the sandbox is a person's.
    expect(at.cordon(['trust', '--yes', '--cfg', 'ci/cordon.toml']).code).toBe(0)
    expect(at.cordon(escape)).toMatchObject({
      code: 125,
      stdout: '',
      stderr:
        'cordon: error: `sandbox.mode`: the files of a workspace cannot set it, only a person can\n' +
        '  at ci/cordon.toml:2:1\n' +
        '  fix: take it out; if you want it: cordon config set --user-workspace sandbox.mode off\n',
    })
    expect(existsSync(join(at.home, 'OUT'))).toBe(false)
  })

  test('by a link from elsewhere it is the same file; a file elsewhere is the person’s word', () => {
    const at = new Place(person)
    at.write('ci/cordon.toml', '[sandbox]\nmode = "off"\n')
    symlinkSync(join(at.root, 'ci/cordon.toml'), join(at.home, 'link.toml'))
    expect(at.run(['--cfg', join(at.home, 'link.toml'), '--', 'true'])).toMatchObject({
      code: 125,
      stderr: waits(at, 'new'),
    })
    at.write(join(at.home, 'mine.toml'), '[sandbox]\nmode = "off"\n')
    expect(at.run(['--cfg', join(at.home, 'mine.toml'), '--', 'echo', 'on'])).toMatchObject({
      code: 0,
      stdout: 'on\n',
    })
  })
})
