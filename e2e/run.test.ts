import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from './harness/place.ts'

describe.each(PEOPLE)('SPEC 4.8 cordon run as $name', (person) => {
  const place = new Place(person)

  test('passes the exit code on, and says nothing of its own', () => {
    expect(place.run(['--', 'sh', '-c', 'echo out; echo err >&2; exit 7'])).toMatchObject({
      code: 7,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
    })
  })

  test.each(['SIGTERM', 'SIGSEGV', 'SIGKILL', 'SIGINT', 'SIGABRT'] as const)(
    'dies by the signal that killed the program: %s',
    (signal) => {
      const ended = place.run(['--', 'sh', '-c', `kill -${signal.slice(3)} $$`])
      expect(ended).toMatchObject({ code: null, signal, stdout: '', stderr: '' })
    },
  )

  test('passes bytes through unchanged, in both directions', () => {
    const input = Buffer.from(Array.from({ length: 5_000_000 }, (_, i) => (i * 7919) % 256))
    const { bytes, code } = place.run(['--', 'cat'], { input })
    expect(code).toBe(0)
    expect(sha256(bytes)).toBe(sha256(input))
  })

  test('passes a large stderr through, in order and whole', () => {
    const script = 'i=0; while [ $i -lt 20000 ]; do echo "line $i" >&2; i=$((i+1)); done'
    const lines = place.run(['--', 'sh', '-c', script]).stderr.trimEnd().split('\n')
    expect(lines).toEqual(Array.from({ length: 20_000 }, (_, i) => `line ${i}`))
  })

  test('says why a granted path cannot be made, and that a mount waits for approval', () => {
    const unmade = new Place(person)
    unmade.config(
      '[profiles.p.access]\nfs = [{ path = ".", read = true }, { path = "build", read = true, write = true }]\n',
    )
    expect(unmade.run(['--profile', 'p', '--', 'mkdir', 'build'])).toMatchObject({
      code: 1,
      stderr:
        "mkdir: cannot create directory 'build': Read-only file system\n" +
        'cordon: the command ended with 1\n' +
        '  hint: build: the rule for build holds only once it exists, and . does not grant create\n' +
        '    to allow it: mkdir -p build\n',
    })
    const mounted = new Place(person)
    mounted.config(
      '[profiles.p.access]\nfs = [{ path = ".", read = true }, { path = "fork", external = true, read = true }]\n',
    )
    mounted.write(`${mounted.dir}/outside/f`, '')
    symlinkSync(`${mounted.dir}/outside`, join(mounted.root, 'fork'))
    expect(mounted.run(['-q', '--profile', 'p', '--', 'cat', 'fork/f']).stderr).toBe(
      'cat: fork/f: Not a directory\n',
    )
    expect(mounted.run(['--profile', 'p', '--', 'cat', 'fork/f']).stderr).toBe(
      'warning: profile p: the rule for fork leads to a target that is not approved; it grants nothing until it is\n' +
        '  at .cordon/config.toml:2:36\n' +
        'cat: fork/f: Not a directory\n' +
        'cordon: the command ended with 1\n' +
        '  hint: fork/f: read denied: where the mount fork leads is not approved, so it grants nothing (.cordon/config.toml:2:36)\n' +
        '    to allow it: cordon policy compile\n',
    )
  })

  test('sandbox.mode = "warn" runs what cannot be held, and says what that is', () => {
    const loose = new Place(person)
    const rest = 'read = true, write = true, execute = true'
    const fs = `[{ path = ".", ${rest} }, { path = "log", read = true, create = true }]`
    loose.config(`[profiles.p.access]\nfs = ${fs}\n`)
    loose.write('log/old', '')
    const args = ['--profile', 'p', '--', 'rm', 'log/old']
    expect(loose.run(args)).toMatchObject({ code: 125 })
    expect(loose.run(['--cfg', 'sandbox.mode=warn', ...args])).toMatchObject({
      code: 0,
      stderr:
        'warning: not held here: what the rule for log says of update, delete\n' +
        '  why: of what a wider rule grants, the kernel can take back all writing, or execute, or everything, and nothing between\n' +
        '  fix: write the narrower rule at the top, and wider ones below it\n' +
        'warning: the private /tmp inside is not writable: the rule for log, which lies in it, does not grant all writing, and below a writable directory the kernel could not withhold it\n',
    })
  })

  test('a script without a #! line is said to be one', () => {
    place.write('plain', 'echo hi\n', 0o755)
    expect(place.run(['--', './plain'])).toMatchObject({
      code: 126,
      stdout: '',
      stderr:
        `cordon: cannot start ${place.root}/plain: it is neither a program nor a script with a #! line: ` +
        'name its interpreter (ENOEXEC)\n',
    })
  })

  test('keeps the order of both streams when they are one', () => {
    const script = 'for i in 1 2 3 4 5 6 7 8; do echo out $i; echo err $i >&2; done'
    const { stdout } = spawnMerged(place, script)
    expect(stdout).toBe(Array.from({ length: 8 }, (_, i) => `out ${i + 1}\nerr ${i + 1}\n`).join(''))
  })

  test('SPEC 4.7 and when the command fails then, says how to see more, because nothing of it was looked at', () => {
    expect(spawnMerged(place, 'echo out; exit 3').stdout).toBe(
      "out\ncordon: the command ended with 3; if the sandbox may be why, see more with: cordon run --why -- sh -c 'echo out; exit 3'\n",
    )
  })

  test('a private home and /tmp, empty, writable and gone afterwards', () => {
    const script = 'ls -A ~; echo secret > ~/x; echo secret > /tmp/x; cat ~/x /tmp/x'
    expect(place.run(['--', 'sh', '-c', script])).toMatchObject({ code: 0, stdout: 'secret\nsecret\n' })
    expect(place.run(['--', 'sh', '-c', 'ls ~/x /tmp/x 2>/dev/null | wc -l'])).toMatchObject({
      stdout: '0\n',
    })
  })

  test('SPEC 4.6 only the minimal environment and what is granted', () => {
    const env = {
      LANG: 'C.UTF-8',
      LC_TIME: 'C',
      TZ: 'UTC',
      USER: 'somebody',
      TOKEN_A: 'a',
      TOKEN_B: 'b',
      LD_PRELOAD: '/nowhere.so',
      LD_AUDIT: '/nowhere.so',
      NODE_OPTIONS: '--no-warnings',
      BASH_ENV: '/nowhere',
      SSH_AUTH_SOCK: '/nowhere',
    }
    const names = (...flags: string[]): string[] =>
      place
        .run([...flags, '--', 'env', '-0'], { env })
        .stdout.split('\0')
        .map((line) => line.split('=')[0]!)
        .filter((name) => name !== '' && name !== 'NODE_COMPILE_CACHE' && !/_proxy$/i.test(name)) // SPEC 4.5
        .toSorted()
    // The last are constants, and go with the proxy's (decision 0267).
    const npm = ['npm_config_maxsockets', 'npm_config_update_notifier']
    const minimal = ['HOME', 'LANG', 'LC_TIME', 'PATH', 'TZ', 'USER', ...npm]
    expect(names()).toEqual(minimal)
    expect(names('--env', 'TOKEN_A')).toEqual([...minimal, 'TOKEN_A'].toSorted())
    expect(names('--env', 'TOKEN_*')).toEqual([...minimal, 'TOKEN_A', 'TOKEN_B'].toSorted())
    expect(names('--env', '*')).toEqual([...minimal, 'SSH_AUTH_SOCK', 'TOKEN_A', 'TOKEN_B'].toSorted())
    expect(names('--env', 'NODE_OPTIONS')).toEqual([...minimal, 'NODE_OPTIONS'].toSorted())
  })

  test('flags narrow: what is not named is not there', () => {
    place.write('src/a', 'a')
    place.write('secret', 's')
    const script = 'cat src/a; cat secret; echo x > src/b; echo y > build/out && cat build/out'
    place.mkdir(join(place.root, 'build'))
    expect(place.run(['--read', 'src', '--write', 'build', '--', 'sh', '-c', script])).toMatchObject({
      code: 0,
      stdout: 'ay\n',
    })
    expect(readFileSync(join(place.root, 'build/out'), 'utf8')).toBe('y\n')
  })

  test('a path is meant from where one stands, by whatever name one came there', () => {
    place.init()
    place.write('part/src/a', 'a')
    place.write('src/b', 'b')
    const part = join(place.root, 'part')
    const link = join(place.dir, 'link')
    symlinkSync(place.root, link)
    const seen = (...flags: string[]): string =>
      place.run([...flags, '--', 'sh', '-c', 'cat ../src/b src/a ../top 2> /dev/null'], { cwd: part }).stdout
    place.write('top', 't')
    expect(seen('--read', 'src')).toBe('a')
    expect(seen('--read', '.')).toBe('a')
    for (const typed of ['../src', join(place.root, 'src'), join(link, 'src')])
      expect([typed, seen('--read', 'src', '--read', typed)]).toEqual([typed, 'ba'])
    expect(seen('--read', '..')).toBe('bat')
    expect(place.run(['--read', 'src', '--', 'touch', 'src/new'], { cwd: part }).stderr).toMatch(
      /^ {4}to allow it: --write src$/m,
    )
  })

  test('--quiet keeps our own words back, never the program', () => {
    const args = ['--', 'sh', '-c', 'cat /etc/shadow; exit 9']
    const loud = place.run(args)
    expect(loud.stderr).toBe(
      'cat: /etc/shadow: Permission denied\n' +
        'cordon: the command ended with 9\n' +
        '  hint: /etc/shadow is withheld from every confined program\n',
    )
    expect(place.run(['--quiet', ...args])).toMatchObject({
      code: 9,
      stderr: 'cat: /etc/shadow: Permission denied\n',
    })
  })
})

describe('a wrong command line', () => {
  const place = new Place()
  const usage = '(run with --help for the usage)\n'
  test.each([
    [[], `cordon: missing required argument 'command'\n${usage}`],
    [['--tol', 'x', '--', 'true'], `cordon: unknown option '--tol'\n(Did you mean --tool?)\n${usage}`],
    [
      ['--tool', 'fs_read_fil', '--', 'true'],
      'cordon: no tool or server is named "fs_read_fil"; did you mean fs_read_file?\n',
    ],
    [
      ['--profile', 'web', '--', 'true'],
      'cordon: no profile is named "web"; there are: claude, codex, gemini, opencode, copilot, git, npm, pip, uv, cargo, go, playwright\n',
    ],
    [['--profile', 'claud', '--', 'true'], 'cordon: no profile is named "claud"; did you mean claude?\n'],
    [
      ['--profile', 'clade', '--allow-net', 'a.example', '--', 'true'],
      'cordon: no profile is named "clade"; did you mean claude?\n',
    ],
    [
      ['--allow-net', 'a b', '--', 'true'],
      'cordon: --allow-net "a b": expected [scheme://]host[:port][/path], such as api.github.com/repos\n',
    ],
    [
      ['--allow-net', 'https://x.y/a?b=c', '--', 'true'],
      'cordon: --allow-net "https://x.y/a?b=c": a path has no query, fragment, .. or broken % escape\n' +
        '  fix: --allow-net https://x.y/a\n',
    ],
    [
      ['--allow-net', 'x.y/a/../b', '--', 'true'],
      'cordon: --allow-net "x.y/a/../b": a path has no query, fragment, .. or broken % escape\n',
    ],
    [
      ['--tool', 'a', '--profile', 'b', '--', 'true'],
      `cordon: option '--tool <name>' cannot be used with option '--profile <name>'\n${usage}`,
    ],
    [
      ['--read', '/', '--', 'true'],
      'cordon: --read /: that is all there is; name the directories that are needed\n',
    ],
    [
      ['--write', 'build', '--', 'true'],
      'cordon: --write build: there is no such file or directory, and what does not exist cannot be granted\n' +
        '  fix: make it first, or grant the directory it will be made in\n',
    ],
    [['--execute', '', '--', 'true'], 'cordon: --execute "": expected a path\n'],
    ...(['--read <path>', '--allow-net <host>', '--env <name>', '--profile <name>'] as const).map(
      (option): [string[], string] => [
        [option.split(' ')[0]!, '--', 'ls'],
        `cordon: option '${option}' argument '--' is invalid. its value is missing.\n${usage}`,
      ],
    ),
  ])('%j', (args, stderr) => {
    expect(place.run(args)).toMatchObject({ code: 125, stdout: '', stderr })
  })

  test('outside a workspace the current directory is one, except for a home', () => {
    const bare = place.mkdir(join(place.dir, 'bare'))
    expect(place.run(['--', 'sh', '-c', 'pwd; echo x > made; ls -A'], { cwd: bare })).toMatchObject({
      code: 0,
      stdout: `${bare}\nmade\n`,
    })
    for (const cwd of [place.home, place.dir])
      expect(place.run(['--', 'true'], { cwd })).toMatchObject({
        code: 125,
        stderr:
          `cordon: no workspace at or above ${cwd}\n` +
          "  fix: start in a project's directory; your home, and what is above it, would give away all you have\n",
      })
    mkdirSync(join(place.home, 'sub'))
    place.give(join(place.home, 'sub'))
    expect(place.run(['--', 'true'], { cwd: join(place.home, 'sub') })).toMatchObject({ code: 0 })
  })
})

describe('SPEC 4.8 exit codes, as a shell’s', () => {
  const place = new Place()
  place.write('plain', 'text')
  place.write('script', '#!/no/such/interpreter\n', 0o755)
  place.write('unknown', 'no program, and no #! line\n', 0o755)
  place.mkdir(join(place.root, 'dir'))
  const NOT_STARTED = 'cordon: cannot start'
  test.each([
    [127, ['no-such-program'], 'cordon: cannot start no-such-program: it is in no directory of PATH\n'],
    [127, ['./missing'], 'cordon: cannot start ./missing: it does not exist\n'],
    [127, [''], 'cordon: cannot start "": it has no name\n'],
    [126, ['./plain'], 'cordon: cannot start ./plain: it is not executable\n'],
    [126, ['./dir'], 'cordon: cannot start ./dir: it is a directory\n'],
    [127, ['./plain/x'], 'cordon: cannot start ./plain/x: it does not exist\n'],
    [
      127,
      ['./script'],
      `${NOT_STARTED} ${place.root}/script: its interpreter /no/such/interpreter is not there inside the sandbox (ENOENT)\n`,
    ],
    [
      126,
      ['./unknown'],
      `${NOT_STARTED} ${place.root}/unknown: it is neither a program nor a script with a #! line: name its interpreter (ENOEXEC)\n`,
    ],
  ])('%i: %j', (code, command, stderr) => {
    expect(place.run(['--', ...command])).toMatchObject({ code, stdout: '', stderr })
  })

  test('126: what no rule grants execute to', () => {
    place.write('program', '#!/bin/sh\necho ran\n', 0o755)
    expect(place.run(['--read', '.', '--', './program'])).toMatchObject({
      code: 126,
      stdout: '',
      stderr:
        `${NOT_STARTED} ${place.root}/program: no rule grants execute there, or the file is not executable (EACCES)\n` +
        '  to allow it: --execute program\n',
    })
  })

  test('126: on PATH, and not executable', () => {
    const bin = place.mkdir(join(place.dir, 'bin'))
    const closed = place.write(join(bin, 'closed'), 'text')
    expect(place.run(['--', 'closed'], { env: { PATH: `${bin}:/usr/bin:/bin` } })).toMatchObject({
      code: 126,
      stderr: `cordon: cannot start closed: ${closed} is not executable\n`,
    })
  })

  test('128 + n for a caller that asks its shell; the command’s own 125, 126 and 127 are the command’s', () => {
    const seen = place.shell('"$@"; echo $?', ['run', '-q', '--', 'sh', '-c', 'kill -TERM $$'])
    expect(seen.stdout).toBe('143\n')
    for (const code of [0, 1, 2, 125, 126, 127, 255])
      expect(place.run(['-q', '--', 'sh', '-c', `exit ${code}`])).toMatchObject({ code, stderr: '' })
  })

  test('help is no failure', () => {
    expect(place.run(['--help'])).toMatchObject({ code: 0, stderr: '' })
    expect(place.run(['--help']).stdout).toMatch(
      /^Usage: cordon run \[options\] -- <command> \[args\.\.\.\]\n/,
    )
  })
})

describe('SPEC 4.3 sandbox.mode', () => {
  test('off runs with all rights, and the person who said so is reminded, also with --quiet', () => {
    const place = new Place()
    const file = place.write(join(place.home, 'notes'), 'mine')
    place.write(join(place.home, '.config/cordon/config.toml'), '# mine\n[sandbox]\nmode = "off"\n')
    expect(place.run(['--quiet', '--', 'sh', '-c', `cat ${file}; exit 4`])).toMatchObject({
      code: 4,
      stdout: 'mine',
      stderr:
        'warning: the sandbox is off (sandbox.mode = "off" at ~/.config/cordon/config.toml:3:1): ' +
        'the command runs with all your rights\n',
    })
  })

  test('off by the person is one plain line, and signals and codes still pass', () => {
    const place = new Place()
    const off = ['--cfg', 'sandbox.mode=off']
    const line =
      'warning: the sandbox is off (sandbox.mode = "off" at --cfg sandbox.mode=off): the command runs with all your rights\n'
    expect(place.run([...off, '--', 'sh', '-c', 'kill -TERM $$'])).toMatchObject({
      signal: 'SIGTERM',
      stderr: line,
    })
    expect(place.run([...off, '--', 'no-such-program'])).toMatchObject({
      code: 127,
      stderr: `${line}cordon: cannot start no-such-program: it is in no directory of PATH\n`,
    })
    place.write('plain', 'text')
    expect(place.run([...off, '--', './plain'])).toMatchObject({
      code: 126,
      stderr: `${line}cordon: cannot start ./plain: it is not executable\n`,
    })
  })

  test('warn by the person: the sandbox is as strong as it can be', () => {
    const place = new Place()
    const file = place.write(join(place.home, 'notes'), 'mine')
    const ended = place.run([
      '--cfg',
      'sandbox.mode=warn',
      '--',
      'sh',
      '-c',
      `test -e ${file} || echo absent`,
    ])
    expect(ended).toMatchObject({ code: 0, stdout: 'absent\n', stderr: '' })
  })
})

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Both streams into one pipe, as `2>&1` does. */
const spawnMerged = (place: Place, script: string): { stdout: string } =>
  place.shell(`"$@" 2>&1 | cat`, ['run', '--', 'sh', '-c', script])

test.each(PEOPLE)('SPEC 4.8 flags for one path add up, as $name', (person) => {
  const at = new Place(person)
  at.write('x.sh', '#!/bin/sh\necho made > made && cat made\n', 0o755)
  expect(at.run(['--write', '.', '--execute', '.', '--', './x.sh'])).toMatchObject({
    code: 0,
    stdout: 'made\n',
  })
  expect(at.run(['--execute', '.', '--write', '.', '--', './x.sh'])).toMatchObject({
    code: 0,
    stdout: 'made\n',
  })
  expect(at.run(['--write', '.', '--', './x.sh']).code).toBe(126)
})
