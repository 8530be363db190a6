import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from './harness/place.ts'

const CANARY = 'canary-4711'

/** The adversary controls the program and every file of the workspace; nothing outside it. */
describe.each(PEOPLE)('an adversary inside, run by $name', (person) => {
  test('reads no canary: home, other workspaces, /etc/shadow, the host’s environment', () => {
    const place = new Place(person)
    const other = new Place(person)
    place.write(join(place.home, '.ssh/id_rsa'), CANARY)
    const neighbour = other.write('secret', CANARY)
    const targets = [
      join(place.home, '.ssh/id_rsa'),
      neighbour,
      '/etc/shadow',
      `/proc/self/root${neighbour}`,
      `/proc/1/root${neighbour}`,
      `/proc/self/cwd/../home/.ssh/id_rsa`,
      `../home/.ssh/id_rsa`,
    ]
    symlinkSync(neighbour, join(place.root, 'link'))
    const script = `
      for f in ${targets.join(' ')} link; do cat "$f" 2>/dev/null; done
      ln ${neighbour} hard 2>/dev/null; cat hard 2>/dev/null
      cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep ${CANARY}
      grep -rs ${CANARY} / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr | head -n 3
      echo done`
    const ended = place.run(['--quiet', '--', 'sh', '-c', script], { env: { TOKEN: CANARY } })
    expect(ended).toMatchObject({ stdout: 'done\n', code: 0 })
  })

  test('writes nothing outside, and what it writes to the private places is gone', () => {
    const place = new Place(person)
    const targets = ['/etc/x', '/usr/local/x', '/x', '/run/x', '/var/x', '/dev/x']
    const own = [join(place.dir, 'x'), join(place.home, 'x'), '/tmp/cordon-x']
    const script =
      `for f in ${targets.join(' ')}; do echo x 2>/dev/null > $f && echo wrote $f; done; ` +
      `for f in ${own.join(' ')}; do echo x > $f; done`
    expect(place.run(['--quiet', '--', 'sh', '-c', `(${script}) 2>/dev/null`]).stdout).toBe('')
    expect([...targets, ...own].filter((file) => existsSync(file))).toEqual([])
  })

  test('leaves no setuid or setgid file', () => {
    const place = new Place(person)
    const script = `
import os, shutil, ctypes
shutil.copy('/bin/sh', 'sh')
fd = os.open('sh', os.O_RDONLY)
for f in (lambda: os.chmod('sh', 0o4755), lambda: os.fchmod(fd, 0o6755), lambda: os.chmod('sh', 0o2755),
          lambda: os.mknod('node', 0o104755), lambda: os.chmod('sh', 0o4755, dir_fd=os.open('.', 0)),
          lambda: os.open('empty', os.O_CREAT | os.O_RDWR, 0o4777)):
    try: f(); print('made')
    except PermissionError: print('refused')
print(ctypes.CDLL(None).syscall(452, -100, b'sh', 0o4755, 0))
os.chmod('sh', 0o755)
`
    const ended = place.run(['--', 'python3', '-c', script], { env: { PATH: '/usr/bin:/bin' } })
    expect(ended).toMatchObject({ stdout: 'refused\n'.repeat(6) + '-1\n', stderr: '', code: 0 })
    const modes = readdirSync(place.root).map((name) => lstatSync(join(place.root, name)).mode & 0o6000)
    expect(modes.every((mode) => mode === 0)).toBe(true)
  })

  test('a daemon does not survive, however it detaches', async () => {
    const place = new Place(person)
    const script = `
      beat() { while :; do date +%s%N > "$1"; sleep 0.02; done; }
      (setsid sh -c 'while :; do date +%s%N > a; sleep 0.02; done' >/dev/null 2>&1 &)
      (trap '' HUP TERM INT; beat b >/dev/null 2>&1 &)
      while [ ! -s a ] || [ ! -s b ]; do sleep 0.02; done; exit 3`
    expect(place.run(['--', 'sh', '-c', script])).toMatchObject({ code: 3 })
    const beats = () => ['a', 'b'].map((name) => readFileSync(join(place.root, name), 'utf8'))
    const before = beats()
    await sleep(200)
    expect(beats()).toEqual(before)
  })

  test('reaches no socket of the host: loopback, unix in the workspace, abstract', async () => {
    const place = new Place(person)
    const path = join(place.root, 'sock')
    const name = `\0cordon-e2e-${process.pid}`
    const reached: string[] = []
    const servers = await Promise.all([listen(path, reached), listen(name, reached), listen(0, reached)])
    chmodSync(path, 0o777)
    const port = (servers[2].address() as { port: number }).port
    const script = `
import socket
for family, address in ((socket.AF_UNIX, 'sock'), (socket.AF_UNIX, '\\0' + ${JSON.stringify(name.slice(1))}), (socket.AF_INET, ('127.0.0.1', ${port}))):
    try: socket.socket(family).connect(address); print('reached')
    except OSError: print('no')
`
    const { stdout } = await place.runMeanwhile(['--', 'python3', '-c', script], {
      env: { PATH: '/usr/bin:/bin' },
    })
    for (const server of servers) server.close()
    expect({ stdout, reached }).toEqual({ stdout: 'no\nno\nno\n', reached: [] })
  })

  test('a name that the workspace’s files chose does not redraw the terminal', () => {
    const place = new Place(person)
    place.write('.env', '')
    place.config(
      '[profiles."\\u001b[2Jci".access]\n' +
        'fs = [{ path = ".env", read = true }, { path = "out", external = true, read = true }]\n' +
        'net = [{ host = "a.example", path_prefix = "/\\u001b[2J", allow = false }]\n',
    )
    symlinkSync(place.dir, join(place.root, 'out'))
    const name = '\u001b[2Jci'
    const shown = String.raw`profile "\u001b[2Jci"`
    const ran = place.run(['--profile', name, '--', 'true'], { cwd: place.root })
    expect(ran.stderr.split('\n').slice(0, 3)).toEqual([
      `warning: ${shown}: the rule for out leads to a target that is not approved; it grants nothing until it is`,
      '  at .cordon/config.toml:2:39',
      `warning: ${shown} is granted read on .env, where secrets live (**/.env*)`,
    ])
    expect(place.cordon(['why', name, 'net', 'https://a.example/%1b%5b2J']).stdout).toBe(
      `denied: ${shown}, net https://a.example/%1b%5b2J\n` +
        String.raw`  really:  https://a.example:443/%1B%5B2J` +
        '\n' +
        String.raw`  because: the rule for "a.example/\u001b[2J" says no` +
        '\n  rule at: .cordon/config.toml:3:8\n  to allow it:\n' +
        String.raw`    cordon config set 'profiles."\u001b[2Jci".access.net' '+{ host = "a.example", scheme = "https", path_prefix = "/%1B%5B2J", allow = true }'` +
        '\n',
    )
    const explained = place.cordon(['policy', 'explain', name])
    expect(explained.stdout.split('\n')[0]).toBe(shown)
    expect(explained.stdout + explained.stderr).not.toContain('\u001b')
  })

  test('a link or a #! line in the workspace opens no place of the person’s own', () => {
    const place = new Place(person)
    const tool = place.write(
      join(place.home, 'tool/bin/run'),
      '#!/bin/sh\ncat "$(dirname "$0")/../lib/key"\n',
      0o755,
    )
    place.write(join(place.home, 'tool/lib/key'), CANARY)
    place.write('script', `#!${tool}\n`, 0o755)
    symlinkSync(tool, join(place.root, 'link'))
    const missing = { script: `its interpreter ${tool}`, link: 'the program or its interpreter' }
    for (const [name, what] of Object.entries(missing))
      expect(place.run(['--', `./${name}`])).toMatchObject({
        code: 127,
        stdout: '',
        stderr:
          `cordon: cannot start ${place.root}/${name}: ${what} is not there inside the sandbox (ENOENT)\n` +
          '  to allow it: --execute ~/tool/bin/run\n',
      })
    // The person may: it is them who typed it.
    expect(place.run(['--', tool])).toMatchObject({ code: 0, stdout: CANARY })
  })

  test('a workspace’s configuration cannot speak for the command that was given no profile', () => {
    const place = new Place(person)
    place.config('[profiles."cordon run".access]\nnet = [{ host = "evil.example", allow = true }]\n')
    expect(place.run(['--', 'true'])).toMatchObject({
      code: 125,
      stderr:
        'cordon: .cordon/config.toml:2:1: the profile "cordon run" is what the command has without --profile; give yours another name\n',
    })
  })

  test('what was made at a denied path is moved aside, and never through a link', () => {
    const place = new Place(person)
    const victim = place.write(join(place.home, 'victim/.env'), CANARY)
    place.config(
      '[profiles.p.access]\nfs = [{ path = ".", read = true, write = true, execute = true }, { path = "sub/.env" }, { path = ".env" }]\n',
    )
    const ended = place.run([
      '--profile',
      'p',
      '--',
      'sh',
      '-c',
      `ln -s ${join(place.home, 'victim')} sub; echo x > .env`,
    ])
    expect(ended.stderr).toBe(
      'cordon: the command ended with 0\n' +
        ['.env', 'sub']
          .map((name) => join(place.root, name))
          .map(
            (path) =>
              `  moved aside: ${path} was made while the command ran, although a rule denies it; it is now ${path}.denied-by-cordon-1: look at it, then it may be removed\n`,
          )
          .join(''),
    )
    expect(readFileSync(victim, 'utf8')).toBe(CANARY)
    expect(readdirSync(join(place.home, 'victim'))).toEqual(['.env'])
  })

  test('names with control characters do not redraw the terminal', () => {
    const place = new Place(person)
    place.write(join(place.home, 'a\u001b[2Jb'), '')
    const ended = place.run(['--', 'sh', '-c', 'exit 1', join(place.home, 'a\u001b[2Jb')])
    expect(ended.stderr).toBe(
      'cordon: the command ended with 1\n' +
        '  hint: "~/a\\u001b[2Jb" exists on the host, and is not granted\n' +
        "    to allow it: --read ~/$'a\\u001b[2Jb'\n",
    )
  })
})

async function listen(where: string | number, reached: string[]): Promise<Server> {
  const server = createServer((socket) => {
    reached.push(String(where))
    socket.destroy()
  })
  if (typeof where === 'number') server.listen(where, '127.0.0.1')
  else server.listen(where)
  await new Promise((done) => server.once('listening', done))
  return server
}
