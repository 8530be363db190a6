import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, type Person, Place } from '../harness/place.ts'

const CANARY = 'canary-of-a-key'

/** A workspace that lies around what Cordon keeps of this person, by a variable as in many dotfiles. */
class Around extends Place {
  readonly data = join(this.root, 'data/cordon')
  readonly key = join(this.data, 'workspace/other-abc/seals/key')
  readonly around = { XDG_DATA_HOME: join(this.root, 'data') }

  constructor(person: Person) {
    super(person)
    for (const dir of ['data', 'data/cordon', 'data/cordon/workspace', 'data/cordon/workspace/other-abc'])
      this.mkdir(join(this.root, dir))
    this.write(this.key, CANARY, 0o600)
    this.write(join(this.data, 'workspace/other-abc/journal-keys/1'), CANARY, 0o600)
    this.write(join(this.data, 'provider/key'), CANARY, 0o600)
  }

  sh(script: string, ...flags: readonly string[]): ReturnType<Place['run']> {
    return this.run([...flags, '--', 'sh', '-c', script], { env: this.around })
  }

  tool(name: string, args: object): ReturnType<Place['run']> {
    return this.cordon(['tool', 'run', name, '--args', JSON.stringify(args)], { env: this.around })
  }
}

describe.each(PEOPLE)('decision 0452 approvals and keys are nobody’s, as $name', (person) => {
  test('in a workspace that lies around them', () => {
    const place = new Around(person)
    const look =
      'cat data/cordon/workspace/*/seals/key data/cordon/provider/key; find data -type f; echo fine > a'
    const ended = place.sh(look)
    expect(ended.stdout).toBe('')
    expect(readFileSync(join(place.root, 'a'), 'utf8')).toBe('fine\n')
    expect(
      place.sh('mv data/cordon data/x; mv data x; ln data/cordon/provider/key k; cp -r data y; ls x y')
        .stdout,
    ).not.toContain('key')
    expect(readFileSync(place.key, 'utf8')).toBe(CANARY)
  })

  test('for the shipped tools, which say that no rule changes it', () => {
    const place = new Around(person)
    const path = 'data/cordon/provider/key'
    const refused = place.tool('fs_read_file', { path })
    expect(refused.stdout + refused.stderr).toContain(
      'because: Cordon keeps its approvals and keys there, and no command may read them',
    )
    expect(refused.stdout + refused.stderr).toContain('no rule can allow it')
    const others = [
      place.tool('fs_grep_files', { pattern: 'canary' }),
      place.tool('fs_list_files', { path: 'data/cordon/provider' }),
      place.tool('unix_utils', { util: 'cat', args: [path] }),
      place.tool('fs_move_file', { source: path, destination: 'k' }),
    ]
    for (const { stdout, stderr } of others) expect(stdout + stderr).not.toContain(CANARY)
    expect(existsSync(join(place.root, 'k'))).toBe(false)
    place.tool('fs_create_file', { path: 'data/cordon/planted', content: 'x' })
    expect(readdirSync(place.data)).not.toContain('planted')
  })

  test('whatever a rule or a flag says, and that is told', () => {
    const place = new Around(person)
    place.write(
      '.cordon/config.toml',
      '[profiles.p.access]\nfs = [{ path = ".", read = true }, { path = "data/cordon/provider", read = true, write = true, execute = true }]\n',
    )
    expect(place.cordon(['trust', '--yes'], { env: place.around }).code).toBe(0)
    expect(place.sh('cat data/cordon/provider/key', '--profile', 'p').stdout).toBe('')
    expect(place.sh('true', '--read', 'data/cordon/provider')).toMatchObject({
      code: 125,
      stderr:
        'cordon: --read data/cordon/provider: Cordon keeps its approvals and keys there, and no command may read them\n',
    })
    const why = place.cordon(['why', 'run', 'read', 'data/cordon/provider/key'], { env: place.around })
    expect(why.stdout).toContain('Cordon keeps its approvals and keys there')
    expect(why.stdout).not.toContain('--read')
    const explained = place.cordon(['policy', 'explain', 'fs_read_file'], { env: place.around })
    expect(explained.stdout).toMatch(/data\/cordon +no read +kernel +built-in, Cordon's own/)
    expect(place.sh('cat data/cordon/provider/key').stderr).not.toContain('--read')
  })

  test('through a mount that leads around them, or to them', () => {
    const place = new Place(person)
    for (const dir of ['.local', '.local/share', '.local/share/cordon']) place.mkdir(join(place.home, dir))
    place.write(join(place.home, '.local/share/cordon/provider/key'), CANARY, 0o600)
    place.init()
    symlinkSync(join(place.home, '.local'), join(place.root, 'm'))
    place.config(
      '[profiles.p.access]\nfs = [{ path = ".", read = true }, { path = "m", external = true, read = true, write = true }]\n',
    )
    const approved = place.terminal(
      ['--profile', 'p', '--', 'sh', '-c', 'ls -d m/share && cat m/share/cordon/provider/key'],
      [
        ['[y/N]', 'y\r'],
        ['[y/N]', 'y\r'],
      ],
    )
    expect(approved.screen).toContain('m/share')
    expect(approved.screen).not.toContain(CANARY)
  })

  test('also of a provider whose directory a variable names', () => {
    const place = new Place(person)
    const dir = join(place.root, 'provider')
    place.write(join(dir, 'key'), CANARY, 0o600)
    const env = { CORDON_PROVIDER_DIR: dir }
    expect(place.run(['--', 'sh', '-c', 'cat provider/key'], { env }).stdout).toBe('')
    expect(place.run(['--read', dir, '--', 'true'], { env }).code).toBe(125)
  })

  test('where they lie nobody works', () => {
    const place = new Around(person)
    place.mkdir(join(place.data, 'workspace/other-abc'))
    for (const dir of [place.data, join(place.data, 'workspace/other-abc')]) {
      const ended = place.run(['--here', '--', 'sh', '-c', 'find . -type f'], { env: place.around, cwd: dir })
      expect(ended).toMatchObject({ code: 125, stdout: '' })
      expect(ended.stderr).toContain('Cordon keeps its approvals and keys here')
    }
  })

  test('and the programs that Cordon installed there are started as before', () => {
    const place = new Around(person)
    place.write(join(place.data, 'mcp/packages/npm/x/run.sh'), '#!/bin/sh\necho ran\n', 0o755)
    const ended = place.sh(
      'data/cordon/mcp/packages/npm/x/run.sh; echo x > data/cordon/mcp/packages/npm/x/run.sh; ls data/cordon',
    )
    expect(ended.stdout).toBe('ran\n')
  })
})
