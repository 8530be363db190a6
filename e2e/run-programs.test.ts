import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Options, PEOPLE, Place } from './harness/place.ts'

/** Issue 4: ordinary work in the default policy, with the workspace as the only writable place. */
describe.each(PEOPLE)('ordinary programs as $name', (person) => {
  const SYSTEM: Options = { env: { PATH: '/usr/local/bin:/usr/bin:/bin' } }

  /** Whether the person can start it outside; a machine without it says so in the report. */
  const has = (program: string, env: Readonly<Record<string, string>>): boolean => {
    const who = person.uid === undefined ? {} : { uid: person.uid, gid: person.gid! }
    const works =
      spawnSync(program, ['--version'], { ...who, env: { HOME: '/nowhere', ...env }, cwd: '/' }).status === 0
    if (!works) console.warn(`skipped: ${person.name} has no ${program}`)
    return works
  }

  test.runIf(has('git', SYSTEM.env!))('git init, commit and log', () => {
    const place = new Place(person)
    const script = `git init -q . && git config user.email a@example.com && git config user.name a &&
      echo one > file && git add file && git commit -qm first && git log --format=%s && git status --short`
    expect(place.run(['--', 'sh', '-c', script], SYSTEM)).toMatchObject({
      code: 0,
      stdout: 'first\n',
      stderr: '',
    })
  })

  test.runIf(has('npm', SYSTEM.env!))('npm test', () => {
    const place = new Place(person)
    place.write(
      'package.json',
      JSON.stringify({ name: 'x', scripts: { test: 'node --version > out && echo passed' } }),
    )
    expect(place.run(['--', 'npm', '--silent', 'test'], SYSTEM)).toMatchObject({
      code: 0,
      stdout: 'passed\n',
      stderr: '',
    })
  })

  test.runIf(has('python3', SYSTEM.env!))('a Python virtualenv is made and used', () => {
    const place = new Place(person)
    expect(place.run(['--', 'python3', '-m', 'venv', '--without-pip', 'v'], SYSTEM)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    })
    const script = 'import sys, json; print(sys.prefix, sys.prefix != sys.base_prefix)'
    expect(place.run(['--', 'v/bin/python', '-c', script], SYSTEM)).toMatchObject({
      code: 0,
      stdout: `${join(place.root, 'v')} True\n`,
    })
  })

  // Toolchains live in the real home, which is private and empty inside all the same.
  const RUST = { PATH: process.env['PATH'] ?? '', HOME: homedir() }
  test.runIf(has('cargo', RUST))('cargo build of a small crate', () => {
    const place = new Place(person)
    place.write('Cargo.toml', '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n')
    place.write('src/main.rs', 'fn main() { println!("built") }\n')
    expect(place.run(['--', 'cargo', 'build', '--offline', '--quiet'], { env: RUST })).toMatchObject({
      code: 0,
      stderr: '',
    })
    expect(place.run(['--', 'target/debug/small'], { env: RUST })).toMatchObject({ stdout: 'built\n' })
  })

  test('a script with #!/usr/bin/env', () => {
    const place = new Place(person)
    place.write('s.sh', '#!/usr/bin/env bash\necho "$BASH_VERSION" | grep -c . && echo "args $*"\n', 0o755)
    expect(place.run(['--', './s.sh', 'a', 'b c'], SYSTEM)).toMatchObject({
      code: 0,
      stdout: '1\nargs a b c\n',
    })
  })
})
