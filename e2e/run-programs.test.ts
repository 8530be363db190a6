import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Options, PEOPLE, Place, PROGRAM } from './harness/place.ts'

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
      stderr: `cordon: the command ended with 0\n  new: ${place.root}/.git was made, which the host obeys or runs by itself later\n`,
    })
  })

  test.runIf(has('npm', SYSTEM.env!))('npm test', () => {
    const place = new Place(person)
    place.write(
      'package.json',
      JSON.stringify({ name: 'x', scripts: { test: 'node --version > out && echo passed' } }),
    )
    // In a home that is always new npm would look for a newer npm each time, be refused, and that would be told.
    expect(place.run(['--', 'npm', '--silent', 'test'], SYSTEM)).toMatchObject({
      code: 0,
      stdout: 'passed\n',
      stderr: '',
    })
  })

  test.runIf(has('npm', SYSTEM.env!))('npm ci of more packages than npm has connections ends', () => {
    const place = new Place(person)
    const names = Array.from({ length: 40 }, (_, at) => `none-${at}`)
    const dependencies = Object.fromEntries(names.map((name) => [name, '1.0.0']))
    const locked = names.map((name) => [
      `node_modules/${name}`,
      { version: '1.0.0', resolved: `https://registry.npmjs.org/${name}/-/${name}-1.0.0.tgz` },
    ])
    const root = { name: 'x', version: '1.0.0', dependencies }
    place.write('package.json', JSON.stringify(root))
    place.write(
      'package-lock.json',
      JSON.stringify({
        ...root,
        lockfileVersion: 3,
        packages: Object.fromEntries([['', root], ...locked]) as unknown,
      }),
    )
    // npm lets a first SIGTERM pass.
    const command = ['--', 'timeout', '-s', 'KILL', '20', 'npm', 'ci', '--no-audit']
    for (const other of [[], ['--allow-net', 'api.example.com']]) {
      const ran = place.run([...other, ...command], SYSTEM)
      expect(ran).toMatchObject({ code: 1 })
      expect(ran.stderr).toContain('npm error code E403')
      expect(ran.stderr).toContain('to allow it: --allow-net https://registry.npmjs.org')
    }
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
  const lends = person.uid !== undefined && existsSync(join(homedir(), '.rustup/settings.toml'))

  /** Where only root has Rust, the person gets the same in the home, where rustup would have put it: bound, for it is large. */
  function withLentRust(place: Place, args: readonly string[]) {
    const [from, home] = [homedir(), place.home]
    for (const dir of ['.cargo/bin', '.rustup']) place.mkdir(join(home, dir))
    const script =
      'for dir in .cargo/bin .rustup; do mount --bind "$1/$dir" "$2/$dir"; mount -o remount,bind,ro "$2/$dir"; done; ' +
      'who=$3; shift 3; exec setpriv --reuid "$who" --regid "$who" --clear-groups "$@"'
    const command = [PROGRAM.node, PROGRAM.cordon, 'run', '--', ...args]
    return spawnSync(
      'unshare',
      ['-m', 'sh', '-ec', script, 'sh', from, home, String(person.uid), ...command],
      {
        cwd: place.root,
        env: place.env({ PATH: `${home}/.cargo/bin:${SYSTEM.env!['PATH']}` }),
        encoding: 'utf8',
        timeout: 110_000,
      },
    )
  }

  test.runIf(lends || has('cargo', RUST))('cargo build of a small crate', () => {
    const place = new Place(person)
    place.write('Cargo.toml', '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n')
    place.write('src/main.rs', 'fn main() { println!("built") }\n')
    const build = ['cargo', 'build', '--offline', '--quiet']
    if (lends) expect(withLentRust(place, build)).toMatchObject({ status: 0, stdout: '', stderr: '' })
    else expect(place.run(['--', ...build], { env: RUST })).toMatchObject({ code: 0, stdout: '', stderr: '' })
    expect(place.run(['--', 'target/debug/small'], SYSTEM)).toMatchObject({ code: 0, stdout: 'built\n' })
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
