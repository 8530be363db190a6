import { symlinkSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { WITHOUT_NAMESPACES } from './harness/kernels.ts'
import { type Ended, Place, SOMEBODY } from './harness/place.ts'

/** What stands behind `to allow it:`, of each hint. */
const fixes = (stderr: string): readonly string[] =>
  [...stderr.matchAll(/^ {4}to allow it: (.*)$/gm)].map(([, fix]) => fix!)

describe('SPEC 4.7 who complains is not what was denied', () => {
  const place = new Place(SOMEBODY)
  place.write('build.sh', '#!/bin/sh\necho x > out.o\n', 0o755)
  place.write('own.sh', '#!/bin/bash\necho x > out.o\nexit 3\n', 0o755)
  place.mkdir(`${place.root}/build`)

  test.each(['build.sh', 'own.sh'])('of the script %s no write is suggested', (script) => {
    const { stderr } = place.run([
      '--read',
      '.',
      '--execute',
      script,
      '--write',
      'build',
      '--',
      `./${script}`,
    ])
    expect(stderr).toContain('out.o: Read-only file system\n')
    expect(fixes(stderr)).toEqual(['--write .'])
  })

  test('nor is the shell’s own command a file to be made', () => {
    const { stderr } = place.run(['--read', '.', '--', 'bash', '-c', 'exec ./own.sh'])
    expect(fixes(stderr)).toEqual(['--execute own.sh'])
  })

  test('nor is a tool’s own program to be made writable', () => {
    place.config(`[conversation.tools.own]
source = "local"
command = ["./own.sh"]
access.fs = [{ path = ".", read = true }, { path = "own.sh", read = true, execute = true }]
`)
    const { stderr } = place.cordon(['tool', 'run', 'own'])
    expect(stderr).toContain('out.o')
    expect(stderr).not.toContain('path = "own.sh", read = true, update')
    expect(stderr.match(/cordon config set/g)).toHaveLength(1)
  })
})

describe('SPEC 4.7 a path that git names is one of its own repository', () => {
  const place = new Place(SOMEBODY)
  for (const name of ['cl', 'cl/sub', 'g']) place.mkdir(`${place.home}/${name}`)
  for (const name of ['cl', 'g']) expect(place.shell(`git init -q "${place.home}/${name}"`, []).code).toBe(0)
  const cwd = `${place.home}/cl`
  const g = `${place.home}/g`

  test.each([
    ['with -C', ['git', '-C', g, 'config', 'x.y', 'z']],
    ['after cd', ['sh', '-c', 'cd ~/g && git config x.y z']],
  ])('%s', (_, command) => {
    const held = place.run(['--write', g, '--', ...command], { cwd })
    expect(held).toMatchObject({ code: 4, stdout: '' })
    expect(fixes(held.stderr)).toEqual(['--write ~/g/.git/config'])
    const granted = place.run(['--write', g, '--write', `${g}/.git/config`, '--', ...command], { cwd })
    expect(granted).toMatchObject({ code: 0, stderr: '' })
    expect(spawnSync('git', ['config', '-f', `${g}/.git/config`, 'x.y'], { encoding: 'utf8' }).stdout).toBe(
      'z\n',
    )
  })

  test('below the top of the workspace’s own', () => {
    const sub = { cwd: `${cwd}/sub` }
    const held = place.run(['--', 'git', 'config', 'x.y', 'z'], sub)
    expect(fixes(held.stderr)).toEqual(['--write ../.git/config'])
    expect(place.run(['--write', '../.git/config', '--', 'git', 'config', 'x.y', 'z'], sub)).toMatchObject({
      code: 0,
      stderr: '',
    })
  })

  test('where it is not known which, none is named', () => {
    const { stderr } = place.run(['--write', g, '--', 'timeout', '9', 'git', '-C', g, 'config', 'x.y', 'w'], {
      cwd,
    })
    expect(stderr).toBe('error: could not write config file .git/config: Device or resource busy\n')
  })
})

describe('SPEC 4.7 a host that was looked up is suggested with the port that was typed', () => {
  const place = new Place(SOMEBODY)
  for (const name of ['psql', 'mysql', 'ssh'])
    place.write(
      name,
      '#!/usr/bin/python3\nimport socket\nimport sys\nsocket.getaddrinfo("a.example" if "ssh" in sys.argv[0] else "db.example", 1)\n',
      0o755,
    )

  test.each<[string, readonly string[], string]>([
    ['curl', ['curl', '-sS', '--noproxy', '*', 'http://a.example:28731/a/b'], 'http://a.example:28731/a/b'],
    ['curl without a path', ['curl', '-sS', '--noproxy', '*', 'http://a.example:28731'], 'a.example:28731'],
    ['fetch', ['node', '-e', 'fetch("http://a.example:28731/a/b")'], 'http://a.example:28731/a/b'],
    ['psql', ['./psql', '-h', 'db.example', '-p', '28731'], 'db.example:28731'],
    ['psql with its own port', ['./psql', '--host=db.example', 'x'], 'db.example:5432'],
    ['psql with words', ['./psql', 'host=db.example port=28731'], 'db.example:28731'],
    ['psql with a URL', ['./psql', 'postgresql://u@db.example/d'], 'db.example:5432'],
    ['mysql', ['./mysql', '-hdb.example', '-P28731'], 'db.example:28731'],
    [
      'git by ssh',
      ['git', '-c', 'core.sshCommand=./ssh', 'clone', '-q', 'ssh://git@a.example:28731/r.git'],
      'ssh://a.example:28731',
    ],
    ['ssh', ['./ssh', '-p', '28731', 'a.example'], 'ssh://a.example:28731'],
  ])('%s', (_, command, target) => {
    const { stderr } = place.run(['--', ...command])
    expect(fixes(stderr)).toEqual([`--allow-net ${target}`])
    // It is taken as it is printed.
    expect(place.run(['--allow-net', target, '--', 'true'])).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('SPEC 4.5 a port of the host is suggested by the name that was asked for', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]'])('%s', async (host) => {
    const place = new Place(SOMEBODY)
    const server = createServer((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nhi')).listen(
      0,
      host === '[::1]' ? '::1' : '127.0.0.1',
    )
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const command = ['--', 'curl', '-sS', `http://${host}:${port}/`]
    const held = await place.runMeanwhile(command)
    const flag = `${host}:${port}`
    expect(fixes(held.stderr)).toEqual([`--allow-net ${host === '[::1]' ? `'${flag}'` : flag}`])
    expect(await place.runMeanwhile(['--allow-net', flag, ...command])).toMatchObject({
      code: 0,
      stdout: 'hi',
    })
    server.close()
  })
})

describe('SPEC 4.8 what was to be written is suggested to be written', () => {
  const place = new Place(SOMEBODY)
  const shared = `${place.home}/shared`
  place.write(`${shared}/f`, 'x\n')
  place.write('a', '1')

  test.each<[string, readonly string[], string]>([
    ['dash', ['dash', '-c', 'echo 1 > ~/shared/f'], '~/shared/f'],
    ['bash', ['bash', '-c', 'echo 1 >> "$HOME"/shared/f'], '~/shared/f'],
    ['touch', ['touch', `${shared}/f`], '~/shared/f'],
    ['tee', ['sh', '-c', 'echo | tee ~/shared/f'], '~/shared/f'],
    ['python', ['python3', '-c', `open("${shared}/f", "w")`], '~/shared/f'],
    ['node', ['node', '-e', `fs.writeFileSync("${shared}/f", "")`], '~/shared/f'],
    // They remove or replace the entry, which takes its directory.
    ['rm', ['rm', `${shared}/f`], '~/shared'],
    ['sed', ['sed', '-i', 's/x/y/', `${shared}/f`], '~/shared'],
    ['cp', ['cp', 'a', `${shared}/`], '~/shared'],
    ['cp to a new name', ['cp', 'a', `${shared}/newname`], '~/shared'],
    ['mkdir', ['mkdir', `${shared}/sub`], '~/shared'],
    ['bash, new', ['bash', '-c', 'echo > ~/shared/new'], '~/shared'],
    ['ln', ['ln', '-s', 'a', `${shared}/l`], '~/shared'],
    ['mv', ['mv', 'a', `${shared}/b`], '~/shared'],
  ])('%s', (_, command, flag) => {
    const held = place.run(['--', ...command])
    expect(held.code).not.toBe(0)
    expect(fixes(held.stderr)).toEqual([`--write ${flag}`])
    expect(place.run(['--write', flag, '--', ...command])).toMatchObject({ code: 0, stderr: '' })
    place.write(`${shared}/f`, 'x\n')
    place.write('a', '1')
  })

  test('what would fail without a sandbox, too, has no flag, and what may have been read keeps --read', () => {
    expect(place.run(['--', 'rm', `${shared}/none`]).stderr).not.toContain('hint')
    expect(place.run(['--', 'touch', `${place.home}/none/x`]).stderr).not.toContain('hint')
    expect(place.run(['--', 'rm', '/usr/bin/none-such']).stderr).not.toContain('hint')
    expect(fixes(place.run(['--', 'cat', `${shared}/f`]).stderr)).toEqual(['--read ~/shared/f'])
    expect(fixes(place.run(['--', 'sed', 's/x/y/', `${shared}/f`]).stderr)).toEqual(['--read ~/shared/f'])
  })
})

describe('SPEC 4.7 what stands behind "to allow it" is a flag or a command, and works as pasted', () => {
  const place = new Place(SOMEBODY)
  place.write('x.sh', '#!/bin/sh\necho hi\n', 0o755)

  /** As the person would: the flag put behind `run`. */
  const pasted = (flag: string, args: readonly string[]): Ended =>
    place.shell(`n=$1 c=$2; shift 2; exec "$n" "$c" run ${flag} -- "$@"`, args)

  test('a program that may not be executed', () => {
    const { stderr } = place.run(['--read', '.', '--', 'sh', '-c', './x.sh'])
    expect(fixes(stderr)).toEqual(['--execute x.sh'])
    expect(pasted('--read . --execute x.sh', ['./x.sh'])).toMatchObject({ code: 0, stdout: 'hi\n' })
  })

  test('a limit', () => {
    const greedy = ['python3', '-c', 'x = "a" * (400 << 20)']
    const { stderr } = place.run(['--cfg', 'sandbox.limits.memory_mb=300', '--', ...greedy])
    const [fix = ''] = fixes(stderr)
    expect(fix).toBe('--cfg sandbox.limits.memory_mb=8192')
    expect(pasted(fix, greedy).code).toBe(0)
  })
})

describe('SPEC 4.7 nothing is suggested that cannot be held, or was refused on purpose', () => {
  const place = new Place(SOMEBODY)
  place.write(`${place.home}/.ssh/id_rsa`, 'key')
  place.write(`${place.home}/d/f`, 'x')
  place.write('w.txt', 'x')

  test('without namespaces no host can be allowed, and that is said', () => {
    const { stderr } = place.shell(WITHOUT_NAMESPACES, ['run', '-q', '--', 'true'])
    expect(stderr).toBe('')
    const curl = place.shell(WITHOUT_NAMESPACES, ['run', '--', 'curl', '-sS', 'http://some.example/'])
    expect(curl.code).toBe(6)
    expect(curl.stderr).toContain(
      '  hint: network access to some.example is denied: no rule covers some.example:443; without namespaces no host can be allowed on this machine, and cordon doctor says how to get them\n',
    )
    expect(fixes(curl.stderr)).toEqual([])
  })

  test('what the person said no to is not suggested again', () => {
    const key = `${place.home}/.ssh/id_rsa`
    const { screen, missed } = place.terminal(['--read', key, '--', 'cat', key], [['[y/N] ', 'n\r']])
    expect(missed, screen).toEqual([])
    expect(screen).toContain('  hint: ~/.ssh/id_rsa is not granted: that was asked, and the answer was no\n')
    expect(fixes(screen)).toEqual([])
  })

  test('what only root may do', () => {
    const { stderr } = place.run(['--', 'mount', '-t', 'tmpfs', 'x', '/mnt'])
    expect(stderr).toContain('mount: /mnt: ')
    expect(stderr).not.toContain('hint:')
  })

  test('what a profile denies', () => {
    place.write(
      `${place.home}/.config/cordon/config.toml`,
      '[profiles.p]\noutside = [{ path = "~/d", read = true }, { path = "~/d/f" }]\n' +
        'access.fs = [{ path = ".", read = true }, { path = "w.txt" }]\n',
    )
    const outside = place.run(['--profile', 'p', '--', 'cat', `${place.home}/d/f`])
    expect(outside.stderr).toContain('  hint: ~/d/f is denied by the rule at ')
    const inside = place.run(['--profile', 'p', '--', 'cat', 'w.txt'])
    expect(inside.stderr).toContain('  hint: w.txt: read denied: the rule for w.txt ')
    expect(fixes(outside.stderr + inside.stderr)).toEqual([])
  })
})

test('SPEC 4.11 which repository is the workspace is kept back by --quiet, and told the next time', () => {
  const place = new Place(SOMEBODY)
  const cwd = `${place.home}/r/sub`
  for (const dir of [`${place.home}/r`, cwd]) place.mkdir(dir)
  expect(place.shell(`git init -q "${place.home}/r"`, []).code).toBe(0)
  expect(place.run(['--quiet', '--', 'true'], { cwd })).toMatchObject({ code: 0, stderr: '' })
  expect(place.run(['--', 'true'], { cwd }).stderr).toBe(
    `warning: the workspace is ${place.home}/r, the git repository around here; with --here it is just this directory\n`,
  )
})

describe('SPEC 4.8 a program that cannot be started is told as that, with the flag', () => {
  const place = new Place(SOMEBODY)
  place.write('a/s', '#!/bin/sh\necho hi\n', 0o755)
  place.write(`${place.home}/own/interp`, '#!/bin/sh\necho interp\n', 0o755)
  place.write('a/u', `#!${place.home}/own/interp -x\n`, 0o755)

  test('no rule grants execute', () => {
    expect(place.run(['--read', 'a', '--', './a/s'])).toMatchObject({
      code: 126,
      stdout: '',
      stderr:
        `cordon: cannot start ${place.root}/a/s: no rule grants execute there, or the file is not executable (EACCES)\n` +
        '  to allow it: --execute a/s\n',
    })
    expect(place.run(['--read', 'a', '--execute', 'a/s', '--', './a/s'])).toMatchObject({
      code: 0,
      stdout: 'hi\n',
    })
  })

  test('no rule shows it, and its interpreter is there', () => {
    const ended = {
      code: 127,
      stdout: '',
      stderr:
        `cordon: cannot start ${place.root}/a/s: no rule grants read and execute there, so it is not there inside the sandbox (ENOENT)\n` +
        '  to allow it: --execute a/s\n',
    }
    place.mkdir(`${place.root}/b`)
    expect(place.run(['--read', 'b', '--', './a/s'])).toMatchObject(ended)
    expect(place.run(['--read', 'b', '--execute', 'a/s', '--', './a/s'])).toMatchObject({
      code: 0,
      stdout: 'hi\n',
    })
  })

  test('it is a link out of the workspace: no flag takes its name', () => {
    place.write(`${place.home}/own/led`, '#!/bin/sh\necho led\n', 0o755)
    symlinkSync(`${place.home}/own/led`, `${place.root}/a/led`)
    for (const flags of [[], ['--read', '.']])
      expect(place.run([...flags, '--', './a/led'])).toMatchObject({
        code: 127,
        stderr: expect.stringMatching(/\n {2}to allow it: --execute ~\/own\/led\n$/) as string,
      })
    const granted = ['--read', '.', '--execute', `${place.home}/own/led`, '--', './a/led']
    expect(place.run(granted)).toMatchObject({ code: 0, stdout: 'led\n' })
  })

  test('its interpreter is not inside', () => {
    expect(place.run(['--', './a/u'])).toMatchObject({
      code: 127,
      stdout: '',
      stderr:
        `cordon: cannot start ${place.root}/a/u: its interpreter ${place.home}/own/interp is not there inside the sandbox (ENOENT)\n` +
        '  to allow it: --execute ~/own/interp\n',
    })
    expect(place.run(['--execute', '~/own/interp', '--', './a/u'])).toMatchObject({
      code: 0,
      stdout: 'interp\n',
    })
  })
})
