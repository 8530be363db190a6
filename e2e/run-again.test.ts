import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from './harness/place.ts'

/** Decision 0094: after a failure `cordon run` is started again to explain it. The command has had the workspace until then. */
describe.each(PEOPLE)('started again after the command, by $name', (person) => {
  test.each([
    ['switched the sandbox off', '[sandbox]\nmode = "off"\n'],
    ['broke the configuration', 'not toml ['],
    ['made it a policy that cannot be compiled', '[[profiles.x.access.fs]]\npath = "../.."\nread = true\n'],
  ])('a command that %s is not run again, and ends as it did', (_, toml) => {
    const place = new Place(person)
    place.config('')
    const script = `echo ran >> count; cat > .cordon/config.toml; cat ${place.home}/.ssh/id_rsa; exit 3`
    const ended = place.run(['--', 'sh', '-c', script], { input: Buffer.from(toml) })
    expect([ended.code, ended.signal]).toEqual([3, null])
    expect(readFileSync(join(place.root, 'count'), 'utf8')).toBe('ran\n')
  })

  test('a command that removes its workspace’s marker, or itself, ends as it did', () => {
    const place = new Place(person)
    place.config('')
    place.write('self', '#!/bin/sh\nrm -rf .cordon self\nexit 4\n')
    chmodSync(join(place.root, 'self'), 0o755)
    expect(place.run(['--', './self']).code).toBe(4)
    expect(place.run(['--', 'sh', '-c', 'kill -USR1 $$'])).toMatchObject({ code: null, signal: 'SIGUSR1' })
  })

  test('nobody is there while the command runs: one process of ours, and not Node', () => {
    const place = new Place(person)
    const script = '"$@" & sleep 0.7; tr "\\0" " " < /proc/$!/cmdline; echo; readlink /proc/$!/exe; kill $!'
    const { stdout } = place.shell(script, ['run', '--', 'sleep', '30'])
    const [line = '', exe = ''] = stdout.split('\n')
    expect(line).toMatch(/^cordon .*cordon\.cjs run -- sleep 30 $/)
    expect(exe).toMatch(/cordon-launch$/)
  })

  test('what V8 made of the program is kept for the next start, and only its owner can write it', () => {
    const place = new Place(person)
    const cache = join(place.home, '.cache/cordon')
    const kept = (): string[] =>
      existsSync(cache) ? readdirSync(cache).filter((each) => each.startsWith('run-')) : []
    place.run(['--', 'true'])
    const [name = '', ...others] = kept()
    expect(others).toEqual([])
    // Damaged, it is not used, and made anew; what is old is forgotten then.
    const old = join(cache, 'run-old')
    writeFileSync(old, '')
    utimesSync(old, 1, 1)
    writeFileSync(join(cache, name), 'damaged')
    expect(place.run(['--', 'echo', 'fine'])).toMatchObject({ code: 0, stdout: 'fine\n' })
    expect(readFileSync(join(cache, name)).length).toBeGreaterThan(10_000)
    expect(existsSync(old)).toBe(false)
  })

  test('without a place for it everything works', () => {
    const place = new Place(person)
    mkdirSync(join(place.home, '.cache'), { recursive: true })
    writeFileSync(join(place.home, '.cache/cordon'), '')
    expect(place.run(['--', 'echo', 'fine'])).toMatchObject({ code: 0, stdout: 'fine\n' })
  })
})
