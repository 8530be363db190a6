import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place, PROGRAM } from './harness/place.ts'

/** V8 compares the length of the source only, and Node a checksum of it: both are those of the real one. */
const POISON = `
const fs = require('node:fs'), vm = require('node:vm'), { crc32 } = require('node:zlib')
const source = fs.readFileSync('source.cjs', 'utf8'), plant = process.argv[2] + '//'
const planted = plant + 'x'.repeat(source.length - plant.length)
const parameters = ['exports', 'require', 'module', '__filename', '__dirname']
const { cachedData } = vm.compileFunction(planted, parameters, { produceCachedData: true })
const HEADER = 20
fs.rmSync('cache')
fs.symlinkSync('kept', 'cache')
for (const file of fs.globSync('kept/*/*')) {
  const kept = fs.readFileSync(file)
  const words = [0, 4, 8, 12, 16].map((at) => kept.readUInt32LE(at))
  if (!words.includes(crc32(source))) continue
  const head = Buffer.from(kept.subarray(0, HEADER)), body = kept.subarray(HEADER)
  head.writeUInt32LE(cachedData.length, 4 * words.indexOf(body.length))
  head.writeUInt32LE(crc32(cachedData), 4 * words.indexOf(crc32(body)))
  fs.writeFileSync(file, Buffer.concat([head, cachedData]))
  console.log('poisoned')
}
process.exit(3)
`

/** SPEC 4.8: the host stays until the command has ended. Attacks on what it still has to do then. */
describe.each(PEOPLE)('the host of a command, for $name', (person) => {
  /** A cordon of the project's own, as `npm install` in a workspace makes it. */
  function installIn(place: Place): { readonly node: string; readonly bin: string } {
    const dir = place.mkdir(join(place.root, 'node_modules/cordon'))
    for (const part of ['bin', 'dist', 'launcher'])
      cpSync(join(dirname(dirname(PROGRAM.cordon)), part), join(dir, part), { recursive: true })
    const own = spawnSync('chown', ['-R', `${statSync(place.root).uid}`, join(place.root, 'node_modules')])
    expect(own.status).toBe(0)
    return { node: PROGRAM.node, bin: join(dir, 'bin/cordon.cjs') }
  }

  const start = (place: Place, argv: readonly string[], env: Record<string, string> = {}) =>
    spawnSync(argv[0]!, argv.slice(1), {
      cwd: place.root,
      env: place.env(env),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 110_000,
      killSignal: 'SIGKILL',
      ...(person.uid === undefined ? {} : { uid: person.uid, gid: person.gid! }),
    })

  const PLANT = 'require("fs").writeFileSync(process.env.HOME + "/escaped", ""); process.exit(0)'

  // The proxy, and what makes certificates for it, are files of their own.
  test.each([[[]], [['--allow-net', 'example.com']], [['--allow-net', 'https://example.com/x']]])(
    'a command that rewrites the cordon of its workspace is not followed by what it wrote: %j',
    (flags) => {
      const place = new Place(person)
      const { node, bin } = installIn(place)
      // Asked for while it runs and while it is explained: connections, a refusal, a hint, a limit.
      const script =
        'for file in node_modules/cordon/*/cordon node_modules/cordon/*/*.cjs node_modules/cordon/launcher/build/*; do ' +
        'rm -f "$file"; echo "$1" > "$file"; done; ' +
        'curl -sS -m 5 https://example.com/x http://other.example/; cat ~/secret /nowhere/x; ' +
        'echo "Too many open files" >&2; exit 3'
      place.write(join(place.home, 'secret'), '')
      const { status, stderr } = start(place, [
        node,
        bin,
        'run',
        ...flags,
        '--',
        'sh',
        '-c',
        script,
        'sh',
        PLANT,
      ])
      expect(readFileSync(bin, 'utf8')).toBe(`${PLANT}\n`) // it is the workspace's file
      expect(stderr).toContain('hint: ~/secret exists on the host, and is not granted\n')
      expect([status, existsSync(join(place.home, 'escaped'))]).toEqual([3, false])
    },
  )

  test('nor is one that turns the link it was started by, or a file that Node was told to load', () => {
    const place = new Place(person)
    symlinkSync(PROGRAM.cordon, join(place.root, 'cordon'))
    place.write('loaded.cjs', '')
    const script = 'rm -f cordon; echo "$1" | tee cordon > loaded.cjs; exit 3'
    const command = ['run', '--', 'sh', '-c', script, 'sh', PLANT]
    expect(start(place, [PROGRAM.node, join(place.root, 'cordon'), ...command]).status).toBe(3)
    place.write('loaded.cjs', '')
    const loading = { NODE_OPTIONS: '--require ./loaded.cjs' }
    expect(start(place, [PROGRAM.node, PROGRAM.cordon, ...command], loading).status).toBe(3)
    place.write('loaded.cjs', '')
    const flagged = ['--require', './loaded.cjs', PROGRAM.cordon]
    expect(start(place, [PROGRAM.node, ...flagged, ...command]).status).toBe(3)
    expect(existsSync(join(place.home, 'escaped'))).toBe(false)
  })

  test.each(['itself', 'by a link'])(
    'nor is one that rewrites what V8 made of us, where Node was told to keep it: %s',
    (how) => {
      const place = new Place(person)
      const env = { NODE_COMPILE_CACHE: 'cache' }
      const kept = place.mkdir(join(how === 'itself' ? place.root : place.home, 'kept'))
      symlinkSync(kept, join(place.root, 'cache'))
      place.write('source.cjs', readFileSync(PROGRAM.cordon, 'utf8'))
      place.write('poison.cjs', POISON)
      // Kept at an end of Node's own, which a command that fails brings about.
      expect(start(place, [PROGRAM.node, PROGRAM.cordon, 'run', '--', 'false'], env).status).toBe(1)
      // What an attacker could make for himself; the test takes what is there.
      if (how === 'by a link') cpSync(kept, join(place.root, 'kept'), { recursive: true })
      expect(spawnSync('chown', ['-R', `${statSync(place.root).uid}`, join(place.root, 'kept')]).status).toBe(
        0,
      )
      const poison = ['run', '--', PROGRAM.node, 'poison.cjs', PLANT]
      expect(start(place, [PROGRAM.node, PROGRAM.cordon, ...poison], env)).toMatchObject({
        status: 3,
        stdout: 'poisoned\n',
      })
      expect(existsSync(join(place.home, 'escaped'))).toBe(false)
    },
  )

  test('a command that removes the cordon of its workspace ends as it did; where the person stands stays', () => {
    const place = new Place(person)
    const { node, bin } = installIn(place)
    const removing = [node, bin, 'run', '--', 'sh', '-c', 'rm -r node_modules; exit 3']
    expect(start(place, removing)).toMatchObject({ status: 3, stderr: '' })
    place.init()
    const gone = place.mkdir(join(place.root, 'gone'))
    const ended = place.run(['--', 'sh', '-c', 'rmdir ../gone 2> /dev/null; exit 4'], { cwd: gone })
    expect([ended.code, ended.stderr, existsSync(gone)]).toEqual([4, '', true])
  })

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

  test('a name too long to be looked up is no reason to fail in another way', () => {
    const place = new Place(person)
    const long = `/${'x'.repeat(125_000)}`
    expect(place.run(['--', 'sh', '-c', 'exit 4', 'sh', long])).toMatchObject({ code: 4, stderr: '' })
    const said = place.run([
      '--',
      'sh',
      '-c',
      'cat missing /nowhere/id_rsa "$1"; exit 5',
      'sh',
      long.slice(0, 9000),
    ])
    expect(said.code).toBe(5)
  })

  test('a stderr that cannot take what is written does not end the command; one that is closed does', () => {
    const place = new Place(person)
    const command = ['--', 'sh', '-c', 'echo a >&2; sleep 0.2; echo b >&2; echo done; exit 3']
    const args = ['run', ...command]
    for (const flags of [[], ['--allow-net', 'example.com']])
      expect(place.shell('"$@" 2> /dev/full', ['run', ...flags, ...command])).toMatchObject({
        code: 3,
        stdout: 'done\n',
      })
    const closed = place.shell('{ "$@"; echo $?; } 2>&1 >&3 3>&- | :', args)
    expect(closed.stdout).not.toContain('done')
  })
})

/** What a caller may leave out, or say in bytes that Node cannot. */
describe.each(PEOPLE)('a caller who is $name', (person) => {
  test('words that are not UTF-8 are refused: the command would get others', () => {
    const place = new Place(person)
    const script = 'word="$(printf "caf\\351")"; "$@" "$word"; echo $?; "$@" "$(printf "caf\\357\\277\\275")"'
    const { stdout, stderr } = place.shell(script, ['run', '--', 'echo'])
    expect(stdout).toBe('125\ncaf\uFFFD\n')
    expect(stderr).toBe('cordon: an argument is not UTF-8, and would be taken for another: caf\uFFFD\n')
  })

  test('a directory whose name is not UTF-8 is not taken for another of nearly the same name', () => {
    const place = new Place(person)
    place.init()
    const script =
      'd="$(printf "caf\\351")"; e="$(printf "caf\\357\\277\\275")"; mkdir "$d" "$e"; ' +
      '(cd "$d"; "$@" touch d; echo $?); (cd "$e"; "$@" touch e; echo $?); ls "$d" "$e" | grep -c "^[de]$"'
    const { stdout, stderr } = place.shell(script, ['run', '--'])
    expect(stdout).toBe('125\n0\n1\n')
    expect(stderr).toBe(
      `cordon: the name of the current directory is not UTF-8, and would be read as another: ${place.root}/caf\uFFFD\n` +
        '  fix: rename it, or work elsewhere\n' +
        `warning: the guard does not see everything: ${place.root} has directories whose names are not valid UTF-8, so repositories in them are not guarded\n`,
    )
  })

  test('a directory that is gone, and a home that nobody knows, are said', () => {
    const place = new Place(person)
    const gone = place.shell('mkdir gone; cd gone; rmdir ../gone; "$@"', ['run', '--', 'true'])
    expect([gone.code, gone.stderr]).toEqual([
      125,
      'cordon: the current directory does not exist any more\n  fix: change to one that does\n',
    ])
    const homeless = place.shell('unset HOME; "$@"', ['run', '--', 'echo', 'fine'])
    if (person.uid === undefined) expect(homeless.code).toBe(0)
    else
      expect([homeless.code, homeless.stderr]).toEqual([
        125,
        'cordon: there is no home: HOME is not an absolute path, and nobody knows this user\n  fix: set HOME\n',
      ])
  })
})
