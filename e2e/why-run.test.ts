import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { WITHOUT_NAMESPACES } from './harness/kernels.ts'
import { type Ended, Place } from './harness/place.ts'

/** What `why` says of a run, and what the run then does: one truth (SPEC 4.7). */

const place = new Place()
place.config(`
[conversation.tools.mine]
source = "local"
command = ["/bin/cat"]

[[profiles.makes.access.fs]]
path = "."
read = true
create = true
`)
place.write(join(place.home, '.config/cordon/config.toml'), '')

const why = (...words: string[]): Ended => place.cordon(['why', ...words])
/** What it suggests to type; empty: nothing. */
const suggested = (...words: string[]): string =>
  / {2}to allow it:\n {4}(.*)\n/.exec(why(...words).stdout)?.[1] ?? ''

describe('SPEC 4.3 the system', () => {
  test.each(['/etc/shadow', '/etc/gshadow'])(
    '%s: what not every user may read is withheld, and no flag named',
    (path) => {
      expect(why('run', 'read', path)).toMatchObject({
        code: 1,
        stdout: `denied: this command, read ${path}\n  because: it is withheld from every confined program: not every user may read it\n`,
      })
      expect(place.run(['--', 'cat', path]).code).toBe(1)
    },
  )

  test('any program reads what is installed; a shipped tool does not, and its mount is for it alone', () => {
    expect(why('mine', 'read', '/etc/hostname')).toMatchObject({
      code: 0,
      stdout:
        'allowed: tool mine, read /etc/hostname\n  because: it is part of the system: what every user may read, every program may\n',
    })
    expect(place.run(['--tool', 'mine', '--', 'cat', '/etc/hostname']).code).toBe(0)
    expect(why('mine', 'read', '/etc/shadow').code).toBe(1)
    expect(suggested('mine', 'read', '/etc/shadow')).toBe('')
    expect(why('fs_read_file', 'read', '/etc/hostname').code).toBe(1)
    expect(suggested('fs_read_file', 'read', '/etc/hostname')).toBe(
      'cordon mount add fs_read_file:hostname=/etc/hostname',
    )
    expect(why('unix_utils', 'read', '/etc/hostname').code).toBe(1)
    expect(why('nobody', 'read', '/etc/hostname').code).toBe(2)
  })
})

describe('SPEC 4.8 a flag that is always refused is never suggested', () => {
  test.each([
    [
      'read',
      '~/.local/share/cordon',
      'Cordon keeps its approvals and keys there, and no command may read them',
    ],
    [
      'update',
      '~/.config/cordon/config.toml',
      'Cordon keeps its own files there, and no command may write them',
    ],
  ] as const)('why run %s %s', (capability, path, never) => {
    const { code, stdout } = why('run', capability, path)
    expect(code).toBe(1)
    expect(stdout).toContain(`  note:    no flag grants it: ${never}\n`)
    expect(stdout).not.toContain('to allow it')
    const flag = capability === 'read' ? '--read' : '--write'
    expect(place.run([flag, path, '--', 'true']).code).toBe(125)
  })

  test('nor after a failure', () => {
    const { stderr } = place.run(['--', 'ls', join(place.home, '.local/share/cordon')])
    expect(stderr).toContain(
      '  hint: ~/.local/share/cordon exists on the host, and no flag grants it: Cordon keeps its approvals and keys there, and no command may read them\n',
    )
    expect(stderr).not.toContain('to allow it')
  })

  test('what is empty is no question', () => {
    for (const capability of ['read', 'net', 'env'])
      expect(why('run', capability, '')).toMatchObject({
        code: 2,
        stdout: '',
        stderr: 'cordon: there is nothing to ask about: the path, URL or name is empty\n',
      })
  })

  test('what does not exist is not read, and its directory is not granted for it', () => {
    expect(suggested('run', 'read', '~/nothing')).toBe('')
  })
})

describe('SPEC 4.10 what is guarded and not there is told, not held', () => {
  test.each(['.npmrc', '.git/config', '.husky/pre-commit'])('%s', (path) => {
    const because = `${path.split('/')[0]} is guarded, but not there yet: it is not held, and when somebody makes it you are told`
    for (const who of ['run', 'mine', 'npm']) {
      const { code, stdout } = why(who, 'create', path)
      expect([code, stdout]).toEqual([0, expect.stringContaining(`  because: ${because}\n`)])
    }
    const made = place.run(['--', 'sh', '-c', `mkdir -p $(dirname ${path}); echo a > ${path}`])
    expect(made.stderr).toContain('was made, which the host obeys or runs by itself later')
    expect(existsSync(join(place.root, path))).toBe(true)
    // Now it is there, and held.
    expect(why('run', 'update', path).code).toBe(1)
    expect(place.run(['--', 'sh', '-c', `echo b >> ${path}`]).code).not.toBe(0)
    rmSync(join(place.root, path.split('/')[0]!), { recursive: true })
  })

  test('a shipped tool keeps to the rules by itself', () => {
    expect(why('fs_create_file', 'create', '.npmrc').code).toBe(1)
  })
})

describe('SPEC 4.3 private places', () => {
  test.each([
    ['/tmp/cordon-e2e-private', '/tmp'],
    ['/dev/shm/cordon-e2e-private', '/dev/shm'],
    ['~/private', 'home'],
  ])('%s can be made, and is gone at the end', (path, own) => {
    expect(why('run', 'create', path)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        `  because: the ${own} inside is private: what is made there is gone at the end\n`,
      ) as string,
    })
    expect(place.run(['--', 'sh', '-c', `: > ${path}`]).code).toBe(0)
    expect(existsSync(path.replace('~', place.home))).toBe(false)
  })
})

describe('SPEC 4.3 what every command has, without a rule', () => {
  const shared = join(place.home, 'shared')
  place.write(join(shared, 'f'), 'x')

  test.each([
    ['read', '/dev/null', 'cat /dev/null'],
    ['update', '/dev/null', ': > /dev/null'],
    ['read', '/dev/urandom', 'head -c1 /dev/urandom'],
    ['read', '/proc/cpuinfo', 'cat /proc/cpuinfo'],
    ['read', '/proc/self/status', 'cat /proc/self/status'],
    ['read', '~', 'ls ~'],
    ['read', '/tmp', 'ls /tmp'],
    ['read', '..', 'ls ..'],
    ['read', '/', 'ls /'],
  ])('%s %s works', (capability, path, script) => {
    expect(place.run(['--', 'sh', '-c', script]).code).toBe(0)
    const { code, stdout } = why('run', capability, path)
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^allowed: /)])
    // What is below /proc/self is the command's, and not that of `cordon why`.
    expect(stdout).not.toMatch(/\/proc\/\d/)
  })

  test.each([
    ['read', '/proc/self/root/etc/shadow', 'cat /proc/self/root/etc/shadow'],
    ['read', '/proc/1/environ', 'cat /proc/1/environ'],
    ['update', '/proc/self/comm', 'echo x > /proc/self/comm'],
    ['read', '/sys/kernel', 'ls /sys/kernel'],
    ['create', '/dev/new', ': > /dev/new'],
    ['create', '../new', ': > ../new'],
    ['create', '~/shared/new', ': > ~/shared/new'],
    ['read', '~/shared', 'ls ~/shared'],
  ])('%s %s does not', (capability, path, script) => {
    expect(place.run(['--', 'sh', '-c', script]).code).not.toBe(0)
    expect(why('run', capability, path).code).toBe(1)
  })

  test('a tool of a person has it, too', () => {
    for (const path of ['/dev/null', '~', '/proc/cpuinfo']) expect(why('mine', 'read', path).code).toBe(0)
    expect(why('fs_read_file', 'read', '/dev/null').code).toBe(1)
  })

  test.each([
    ['create', '~/shared/new', ': > ~/shared/new'],
    ['delete', '~/shared/f', 'rm ~/shared/f'],
  ])('%s %s: the flag that is named is for the directory, and works', (capability, path, script) => {
    expect(suggested('run', capability, path)).toBe('cordon run --write ~/shared -- COMMAND')
    expect(place.run(['--write', shared, '--', 'sh', '-c', script]).code).toBe(0)
  })
})

describe('SPEC 4.3 without user namespaces', () => {
  const bare = new Place()
  bare.write('.npmrc', '')
  const without = (...words: string[]): Ended => bare.shell(WITHOUT_NAMESPACES, words)

  test('SPEC 4.10 the guard is not held, and why says so', () => {
    expect(without('run', '--quiet', '--', 'sh', '-c', 'echo a > .npmrc').code).toBe(0)
    expect(without('why', 'run', 'update', '.npmrc')).toMatchObject({
      code: 0,
      stdout:
        'allowed: this command, update .npmrc\n' +
        '  because: .npmrc is guarded, but without user namespaces the kernel cannot take back what a wider rule grants; `cordon doctor` says how to get them\n' +
        '  rule at: built-in guard\n' +
        '  overruled: the rule for . (read, create, update, delete, execute) at built-in default\n',
    })
    expect(without('why', 'fs_modify_file', 'update', '.npmrc').code).toBe(1)
  })

  test.each([
    ['read', '/dev/null', 0],
    ['read', '/proc/cpuinfo', 0],
    ['read', '~', 1],
    ['read', '/tmp', 1],
  ] as const)('%s %s', (capability, path, code) => {
    expect(without('why', 'run', capability, path).code).toBe(code)
    const script = `test -d ${path} && exec ls ${path}; exec cat ${path}`
    expect(without('run', '--quiet', '--', 'sh', '-c', script).code === 0).toBe(code === 0)
  })

  test('SPEC 4.5 no host can be allowed, so no flag is named', () => {
    const never =
      'without user namespaces no host can be allowed: a command with such a rule is not started; `cordon doctor` says how to get them'
    expect(without('why', 'run', 'net', 'https://example.com/')).toMatchObject({
      code: 1,
      stdout: `denied: this command, net https://example.com/\n  really:  https://example.com:443/\n  because: no rule covers example.com:443\n  note:    ${never}\n`,
    })
    expect(without('why', 'npm', 'net', 'https://registry.npmjs.org/').stdout).toContain(
      `  because: ${never}\n`,
    )
    expect(without('run', '--profile', 'npm', '--', 'true').code).toBe(125)
  })
})

describe('SPEC 4.8 shipped profiles answer, though no file declares them', () => {
  test('with their hosts, and the places that they have outside', () => {
    expect(why('npm', 'net', 'https://registry.npmjs.org/left-pad').code).toBe(0)
    expect(suggested('npm', 'net', 'https://example.com/a')).toBe(
      'cordon run --profile npm --allow-net https://example.com/a -- COMMAND',
    )
    expect(why('claude', 'update', '~/.claude/history').code).toBe(0)
    expect(why('claude', 'update', '~/.claude.json').code).toBe(0)
    expect(suggested('claude', 'read', '~/.config')).toBe(
      'cordon run --profile claude --read ~/.config -- COMMAND',
    )
    expect(existsSync(join(place.home, '.claude'))).toBe(false)
  })

  test('and are explained', () => {
    const { code, stdout } = place.cordon(['policy', 'explain', 'npm'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^profile npm\n/)
    expect(stdout).toContain('registry.npmjs.org')
  })
})

describe('SPEC 4.7 the flag that grants the least', () => {
  test('of a URL: its scheme, host and path', () => {
    expect(suggested('run', 'net', 'https://example.com/admin/users')).toBe(
      'cordon run --allow-net https://example.com/admin/users -- COMMAND',
    )
    expect(suggested('run', 'net', 'http://example.com:8080/a b'.replace(' ', '%20'))).toBe(
      'cordon run --allow-net http://example.com:8080/a%20b -- COMMAND',
    )
  })

  test('of what is not the web: the port, and no path, which nobody sees', () => {
    const flagOf = (target: string): string => suggested('run', 'net', target)
    expect(flagOf('git://github.com/a')).toBe('cordon run --allow-net git://github.com:9418 -- COMMAND')
    expect(flagOf('ssh://git@github.com/a')).toBe('cordon run --allow-net ssh://github.com -- COMMAND')
    expect(flagOf('db.internal:5432')).toBe('cordon run --allow-net db.internal:5432 -- COMMAND')
    expect(flagOf('example.com:443')).toBe('cordon run --allow-net https://example.com -- COMMAND')
    expect(why('run', 'net', 'gopher://old.example/')).toMatchObject({
      code: 1,
      stdout:
        'denied: this command, net gopher://old.example/\n  because: no rule covers old.example\n  note:    a rule for gopher needs a port: ask for gopher://old.example:PORT\n',
    })
    expect(place.run(['--allow-net', 'git://github.com/a', '--', 'true']).stderr).toBe(
      'warning: not held here: nothing reaches github.com\n' +
        '  why: its rule names a scheme that has no default port, and no port\n' +
        '  fix: name the port, such as github.com:9418 for git\n',
    )
  })

  test('the rule that refuses everything is nobody’s, and never shown', () => {
    expect(why('run', 'net', 'https://denied.invalid/').stdout).toBe(
      'denied: this command, net https://denied.invalid/\n  really:  https://denied.invalid:443/\n  because: no rule covers denied.invalid:443\n  to allow it:\n    cordon run --allow-net https://denied.invalid -- COMMAND\n',
    )
  })

  test('of a tunnel, whose path is not seen: what was typed', () => {
    const fix = (...command: string[]): string | undefined =>
      / {4}to allow it: (.*)\n/.exec(place.run(['--', ...command]).stderr)?.[1]
    expect(fix('curl', '-sS', 'https://a.example/admin/users')).toBe(
      '--allow-net https://a.example/admin/users',
    )
    expect(fix('curl', '-sS', 'https://a.example/')).toBe('--allow-net https://a.example')
    // Which of the two it was, nobody knows.
    expect(fix('curl', '-sS', 'https://a.example/x', 'https://a.example/y')).toBe(
      '--allow-net https://a.example',
    )
  })

  test('of a file that may only be made: writing', () => {
    const { stderr } = place.run(['--profile', 'makes', '--', 'sh', '-c', ': > made'])
    expect(/ {4}to allow it: (.*)\n/.exec(stderr)?.[1]).toBe('--write made')
  })
})

describe('SPEC 4.5 the network', () => {
  let server: Server
  let port = 0
  beforeAll(async () => {
    server = createServer((_, response) => response.end('hello'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
    return () => server.close()
  })

  test('what was allowed in vain is not said to be denied as well', () => {
    const { stderr } = place.run([
      '--allow-net',
      'nope.invalid/x',
      '--',
      'sh',
      '-c',
      'curl -sS https://nope.invalid/y 2>&1 >&2',
    ])
    expect(stderr).toMatch(/ {2}allowed, but: nope\.invalid cannot be resolved \(\w+\)\n$/)
  })

  test('another name of the same machine is named, with its flag', async () => {
    const get = ['--', 'curl', '-sS', `http://localhost:${port}/`]
    const { stderr } = await place.runMeanwhile(['--allow-net', `127.0.0.1:${port}`, ...get])
    expect(stderr).toContain(
      `  refused: 127.0.0.1:${port}: it is for localhost:${port}, another host than 127.0.0.1:${port}, where this tunnel leads\n` +
        `    to allow it: --allow-net localhost:${port}\n`,
    )
    const both = ['--allow-net', `127.0.0.1:${port}`, '--allow-net', `localhost:${port}`]
    expect(await place.runMeanwhile([...both, ...get])).toMatchObject({ code: 0, stdout: 'hello' })
  })
})

describe('SPEC 4.7 a flag is tried before it is named', () => {
  /** Where git guards what is missing, links lead to what is guarded, and guarded files lie in guarded directories. */
  function guardedPlace(): Place {
    const here = new Place()
    rmSync(join(here.root, '.cordon'), { recursive: true })
    const { code } = here.shell('cd "$HOME/../w" && git init -q .', [])
    expect(code).toBe(0)
    here.write('.npmrc', 'x\n')
    here.write('src/a', 'a\n')
    here.write('.vscode/settings.json', '{}\n')
    here.mkdir(join(here.root, '.claude'))
    symlinkSync('.npmrc', join(here.root, 'lnpm'))
    symlinkSync('../src', join(here.root, '.claude/commands'))
    symlinkSync(here.home, join(here.root, '.zshrc'))
    return here
  }
  const flagOf = (here: Place, ...words: string[]): string | undefined =>
    /cordon run (--write .*) -- COMMAND\n/.exec(here.cordon(['why', 'run', ...words]).stdout)?.[1]

  test.each([
    ['update', 'lnpm', '.npmrc', 'echo b >> lnpm'],
    ['update', '.claude/commands/a', 'src/a', 'echo b >> .claude/commands/a'],
    ['update', '.vscode/settings.json', '.vscode/settings.json', 'echo b >> .vscode/settings.json'],
    ['create', '.vscode/new', '.vscode', ': > .vscode/new'],
    ['delete', '.vscode/settings.json', '.vscode', 'rm .vscode/settings.json'],
    ['delete', '.npmrc', '.npmrc', 'rm .npmrc'],
  ])(
    '%s %s: it is for what was meant, works, and leaves the rest as it was',
    (capability, path, named, script) => {
      const here = guardedPlace()
      expect(here.run(['--', 'sh', '-c', script]).code).not.toBe(0)
      const flag = flagOf(here, capability, path)
      expect(flag).toBe(`--write ${here.root}/${named}`)
      const ended = here.run([...flag!.split(' '), '--', 'sh', '-c', `${script} && : > beside`])
      expect(ended).toMatchObject({ code: 0, stderr: '' })
    },
  )

  test('after a failure the hint names the file that was to be written in its place, and why the same', () => {
    const here = guardedPlace()
    const { stderr } = here.run(['--', 'tee', '.vscode/settings.json'])
    expect(stderr).toContain('    to allow it: --write .vscode/settings.json\n')
    expect(here.run(['--write', '.vscode/settings.json', '--', 'tee', '.vscode/settings.json']).code).toBe(0)
    const removed = here.run(['--', 'rm', '.vscode/settings.json']).stderr
    expect(removed).toContain('    to allow it: --write .vscode\n')
  })

  test.each([
    ['create', '.git/commondir'],
    ['create', '.git/config.worktree'],
    ['create', '.git/modules/x'],
    ['create', 'HEAD'],
    ['delete', '.zshrc'],
  ])('%s %s: none helps, and none is named', (capability, path) => {
    const { code, stdout } = guardedPlace().cordon(['why', 'run', capability, path])
    expect(code).toBe(1)
    expect(stdout).toContain('  note:    no flag grants it: it is for you to do, without Cordon\n')
    expect(stdout).not.toContain('to allow it')
  })

  test.each([
    ['lnpm', '.npmrc'],
    ['.claude/commands/a', 'src/a'],
    ['.claude/commands', 'src'],
  ])('--write %s, a link to what is guarded, is refused with the name that is meant', (typed, real) => {
    const here = guardedPlace()
    expect(here.run(['--write', typed, '--', 'true'])).toMatchObject({
      code: 125,
      stdout: '',
      stderr: `cordon: --write ${typed}: it leads by a link to ${real}, which is guarded\n  fix: --write ${here.root}/${real}, if you mean that\n`,
    })
    expect(here.run(['--read', typed, '--', 'cat', typed.endsWith('s') ? `${typed}/a` : typed]).code).toBe(0)
  })

  test.each(['~/.cache/cordon', '~/.local/share/cordon'])(
    'delete %s: nor for the directory around what is Cordon’s own',
    (path) => {
      const { code, stdout } = why('run', 'delete', path)
      expect(code).toBe(1)
      expect(stdout).toContain('  note:    no flag grants it: Cordon keeps its ')
      expect(stdout).not.toContain('to allow it')
    },
  )
})

describe('a directory of another user that nobody else may look into', () => {
  const here = new Place()
  const closed = process.getuid?.() === 0 ? join(here.dir, 'closed') : '/root'
  if (process.getuid?.() === 0) {
    mkdirSync(closed)
    chmodSync(closed, 0o700)
  }

  test('nothing is said to be made there, and nothing is remembered of it', () => {
    expect(here.run(['--write', closed, '--', 'true'])).toMatchObject({ code: 0, stderr: '' })
    expect(here.run(['--', 'true'])).toMatchObject({ code: 0, stderr: '' })
  })

  test.each([
    ['read', ''],
    ['create', '/x'],
  ])('why run %s: no flag is named that its permissions make vain', (capability, below) => {
    const { code, stdout } = here.cordon(['why', 'run', capability, `${closed}${below}`])
    expect(code).toBe(1)
    expect(stdout).toContain(`  note:    no flag grants it: the permissions of ${closed} do not let you\n`)
    expect(stdout).not.toContain('to allow it')
  })
})

describe('SPEC 4.7 what a run cannot do although the rules grant it', () => {
  const own = new Place()
  beforeAll(() => {
    own.write('.git/HEAD', 'ref: refs/heads/main\n')
    own.write('.git/config', '')
    own.write('plain', '')
    own.write(join(own.home, 'out/there'), '')
    own.write('.cordon/config.toml', '')
  })
  const asked = (...words: string[]): Ended => own.cordon(['why', 'run', ...words])

  test(
    'a directory with something in it that is held by a mount is not moved, and the hint says so, too',
    { timeout: 60_000 },
    () => {
      const because =
        /because: (\.git\/\S+ below it is held by a mount of its own, so it is not moved or removed)\n/
      const { code, stdout } = asked('delete', '.git')
      expect(code).toBe(1)
      const [, reason = 'nothing'] = because.exec(stdout) ?? []
      const { stderr } = own.run(['--why', '--', 'mv', '.git', 'g2'])
      expect(stderr).toContain('Device or resource busy')
      expect(stderr).toContain(`hint: .git: ${reason}\n`)
    },
  )

  test('a file without permission to be started, and what would be below a file', () => {
    expect(asked('execute', 'plain').stdout).toBe(
      'denied: this command, execute plain\n  because: the permissions of plain do not let you\n',
    )
    expect(own.run(['--', './plain']).code).toBe(126)
    chmodSync(join(own.root, 'plain'), 0o755)
    expect(asked('execute', 'plain').code).toBe(0)
    expect(asked('create', 'plain/x').stdout).toContain(
      '  because: plain is no directory, so there can be nothing below it\n',
    )
  })

  test('a file outside that is there is written by a flag for it', () => {
    const { stdout } = asked('create', join(own.home, 'out/there'))
    expect(stdout).toContain('  to allow it:\n    cordon run --write ~/out/there -- COMMAND\n')
    expect(stdout).not.toContain('no flag grants it')
  })
})
