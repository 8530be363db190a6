import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import { networkInterfaces } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Ended, Place, PROGRAM, SOMEBODY } from './harness/place.ts'

/** What stands behind `to allow it:` or `to keep it:`, and what is to be done first. */
const fixes = (stderr: string): readonly string[] =>
  [...stderr.matchAll(/^ {4}to (?:allow|keep) it: (.*)$/gm)].map(([, fix]) => fix!)
const firsts = (stderr: string): readonly string[] =>
  [...stderr.matchAll(/^ {4}to (?:allow|keep) it, first: (.*)$/gm)].map(([, first]) => first!)
const hints = (stderr: string): readonly string[] =>
  [...stderr.matchAll(/^ {2}hint: (.*)$/gm)].map(([, text]) => text!)

/** A repository in a directory of the home, with another one and a bare one beside it. */
class Repository extends Place {
  readonly app = `${this.home}/code/app`

  constructor() {
    super(SOMEBODY)
    for (const dir of ['code', 'code/app', 'code/other']) this.mkdir(`${this.home}/${dir}`)
    this.write(`${this.app}/a`, 'a\n')
    this.outside(
      `git config --global user.email a@b.example; git config --global user.name a
      for r in app other; do git init -q -b main ~/code/$r && cd ~/code/$r && echo x > x && git add . && git commit -qm x || exit 1; done
      git init -q --bare -b main ~/code/bare.git
      cd ~/code/app && git remote add origin ~/code/bare.git && git remote add rel ../bare.git && git push -q origin main`,
    )
    expect(this.at(['-q', '--', 'true']).code).toBe(0)
  }

  /** As the person, without Cordon. */
  outside(script: string): string {
    const ended = this.shell(`cd ~/code/app 2> /dev/null; ${script}`, [])
    if (ended.code !== 0) throw new Error(ended.stderr)
    return ended.stdout
  }

  at(args: readonly string[]): Ended {
    return this.run(args, { cwd: this.app })
  }

  /** As the person would: each command and each flag as it was printed, and the same command again. */
  pasted(stderr: string, command: readonly string[]): Ended {
    const first = firsts(stderr).map((each) => `${each} || exit 99; `)
    const script = `cd ~/code/app; ${first.join('')}n=$1 c=$2; shift 2; exec "$n" "$c" run ${fixes(stderr).join(' ')} -- "$@"`
    return this.shell(script, command)
  }
}

describe('SPEC 4.7 git and what lies outside: what is printed works as pasted', () => {
  let place: Repository
  beforeEach(() => {
    place = new Repository()
  })

  test.each<[string, readonly string[]]>([
    ['in the home', ['git', 'worktree', 'add', '../../wt']],
    ['in the home, with a branch', ['git', 'worktree', 'add', '-b', 'topic', '../../wt']],
    ['beside the repository', ['git', 'worktree', 'add', '../wt']],
    ['beside it, with a branch', ['git', 'worktree', 'add', '-b', 'topic', '../wt']],
  ])('a new worktree %s', (_, command) => {
    const lost = place.at(['--', ...command])
    expect(fixes(lost.stderr)).toHaveLength(1)
    expect(place.pasted(lost.stderr, command)).toMatchObject({ code: 0 })
    const made = command.includes('../wt') ? `${place.home}/code/wt` : `${place.home}/wt`
    expect(place.outside(`git -C ${made} status --short && git worktree list | wc -l`)).toBe('2\n')
  })

  test.each([
    ['../other', []],
    ['by its path', []],
    ['../other', ['-c', 'protocol.file.allow=always']],
  ])('a new submodule, %s: nothing helps, and that is said', (name, options) => {
    const from = name === 'by its path' ? `${place.home}/code/other` : name
    const { stderr, code } = place.at(['--', 'git', ...options, 'submodule', 'add', from, 'sub'])
    expect(code).not.toBe(0)
    expect(hints(stderr)).toEqual([
      'git keeps what a submodule obeys in .git/modules, which is guarded and not made inside: run it outside',
    ])
    expect(fixes(stderr)).toEqual([])
  })

  test.each<[string, readonly string[], string]>([
    ['fetch', ['git', 'fetch', 'origin'], '--read ~/code/bare.git'],
    ['fetch by a relative path', ['git', 'fetch', 'rel'], '--read ~/code/bare.git'],
    ['pull', ['git', 'pull', '-q', 'rel', 'main'], '--read ~/code/bare.git'],
    ['ls-remote', ['git', 'ls-remote', 'rel'], '--read ~/code/bare.git'],
    ['push', ['git', 'push', '-q', 'rel', 'main:new'], '--write ~/code/bare.git'],
    ['push to a path', ['git', 'push', '-q', '../other', 'main:new'], '--write ~/code/other'],
  ])('a repository outside that is a remote: %s', (_, command, flag) => {
    const { stderr } = place.at(['--', ...command])
    expect(fixes(stderr)).toEqual([flag])
    expect(place.pasted(stderr, command)).toMatchObject({ code: 0 })
  })

  test('a push to what is granted to be read only', () => {
    const command = ['git', 'push', '-q', 'rel', 'main:new']
    const { stderr } = place.at(['--read', '../bare.git', '--', ...command])
    expect(fixes(stderr)).toEqual(['--write ~/code/bare.git'])
    expect(place.pasted(stderr, command)).toMatchObject({ code: 0 })
  })

  test.each(['remove', 'prune'])(
    'worktree %s of what an earlier run made: nothing helps, and that is said',
    (what) => {
      expect(place.at(['--', 'git', 'worktree', 'add', '-q', 'wt']).code).toBe(0)
      if (what === 'prune') place.outside('rm -r wt')
      const { stderr, code } = place.at(['--', 'git', 'worktree', what, ...(what === 'remove' ? ['wt'] : [])])
      expect(code === 0).toBe(what === 'prune') // it complains, and succeeds
      const force = what === 'remove' ? ', with --force if it has begun to delete files' : ''
      expect(hints(stderr)).toEqual([
        `git keeps what a worktree obeys in .git/worktrees, which is guarded and not changed inside: run it outside${force}`,
      ])
      expect(fixes(stderr)).toEqual([])
      if (what === 'remove') expect(place.outside('git worktree remove --force wt; test ! -e wt')).toBe('')
    },
  )
})

describe('SPEC 4.5 an address that is asked for without the proxy', () => {
  const place = new Place(SOMEBODY)
  const connect = (family: string, address: string, port: number): readonly string[] => [
    'python3',
    '-c',
    `import socket; s = socket.socket(socket.${family}); s.settimeout(9); s.connect(("${address}", ${port})); s.sendall(b"GET / HTTP/1.0\\r\\nHost: ${address.includes(':') ? `[${address}]` : address}:${port}\\r\\n\\r\\n"); print(s.makefile().read()[-2:])`,
  ]

  test.each<[string, readonly string[], string]>([
    ['python', connect('AF_INET', '198.51.100.7', 8080), '198.51.100.7:8080'],
    ['python, IPv6', connect('AF_INET6', '2001:db8::7', 8080), "'[2001:db8::7]:8080'"],
    ['bash', ['bash', '-c', 'echo > /dev/tcp/198.51.100.7/25'], '198.51.100.7:25'],
    ['curl', ['curl', '-sS', '--noproxy', '*', 'http://198.51.100.7/'], 'http://198.51.100.7'],
    ['curl, IPv6', ['curl', '-sS', '--noproxy', '*', 'http://[2001:db8::7]/'], "'http://[2001:db8::7]'"],
    ['node', ['node', '-e', 'net.connect(81, "198.51.100.7")'], '198.51.100.7:81'],
    ['node, IPv6', ['node', '-e', 'net.connect(81, "2001:db8::7")'], "'[2001:db8::7]:81'"],
    ['fetch', ['node', '-e', 'fetch("http://198.51.100.7:82/x")'], '198.51.100.7:82'],
  ])('%s: the flag is told', (_, command, target) => {
    const { stderr } = place.run(['--', ...command])
    expect(fixes(stderr)).toEqual([`--allow-net ${target}`])
    expect(place.run(['--allow-net', target.replaceAll("'", ''), '--', 'true'])).toMatchObject({ code: 0 })
  })

  test('which is not known: a sentence', () => {
    place.write('app.py', 'import socket\nsocket.create_connection(("198.51." + "100.7", 80))\n')
    const { stderr } = place.run(['--', 'python3', 'app.py'])
    expect(hints(stderr)).toEqual([
      'an address was asked for that no rule allows, without the proxy, and the command does not say which: --allow-net ADDRESS:PORT would allow it',
    ])
  })

  test('of this machine: it works as pasted, also at a terminal, where nothing is heard of the error', async () => {
    const own = Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.family === 'IPv4' && !each.internal)?.address
    for (const address of ['127.0.0.1', '::1', ...(own === undefined ? [] : [own])]) {
      const server = createServer((_, response) => response.end('hi')).listen(0, address)
      await once(server, 'listening')
      const { port } = server.address() as { port: number }
      const command = connect(address === '::1' ? 'AF_INET6' : 'AF_INET', address, port)
      const target = address === '::1' ? `[::1]:${port}` : `${address}:${port}`
      const typed = `--allow-net ${address === '::1' ? `'${target}'` : target}`
      const held = await place.runMeanwhile(['--', ...command])
      expect(fixes(held.stderr)).toEqual([typed])
      const { screen } = place.terminal(['--', ...command], [])
      expect(screen).toContain(`to allow it: ${typed}`)
      expect(await place.runMeanwhile(['--allow-net', target, '--', ...command])).toMatchObject({
        code: 0,
        stdout: 'hi\n',
      })
      server.close()
    }
  })

  test('where nobody listens on the host there is none', () => {
    expect(hints(place.run(['--', 'curl', '-sS', 'http://127.0.0.1:9/']).stderr)).toEqual([])
  })
})

describe('SPEC 4.8 a tool’s rule on a single file, and a program that saves by a rename', () => {
  const place = new Place(SOMEBODY)
  const tools: Readonly<Record<string, string>> = {
    whole: '[{ path = "src/f", read = true, write = true }]',
    update: '[{ path = "src/f", read = true, update = true }]',
    around: '[{ path = "src", read = true }, { path = "src/f", read = true, write = true }]',
    started: '[{ path = "src/f", read = true, update = true, execute = true }]',
    top: '[{ path = "top", read = true, write = true }]',
  }
  const fileOf = (tool: string): string => (tool === 'top' ? 'top' : 'src/f')
  beforeEach(() => {
    for (const file of ['src/f', 'src/other', 'top']) place.write(file, 'x\n')
    place.config(
      Object.entries(tools)
        .map(
          ([name, rules]) =>
            `[conversation.tools.${name}]\nsource = "local"\ncommand = ["sed", "-i", "s/x/y/", "${fileOf(name)}"]\naccess.fs = ${rules}\n`,
        )
        .join(''),
    )
  })

  test.each(Object.keys(tools))('the flags, %s', (tool) => {
    const command = ['sed', '-i', 's/x/y/', fileOf(tool)]
    const { stderr } = place.run(['--tool', tool, '--', ...command])
    expect(fixes(stderr)).toHaveLength(1)
    const script = `n=$1 c=$2; shift 2; exec "$n" "$c" run --tool ${tool} ${fixes(stderr)[0]!} -- "$@"`
    expect(place.shell(script, command)).toMatchObject({ code: 0, stderr: '' })
  })

  test('the flag for the directory alone was not enough', () => {
    const command = ['sed', '-i', 's/x/y/', 'src/f']
    const { stderr } = place.run(['--tool', 'update', '--write', 'src', '--', ...command])
    expect(fixes(stderr)).toEqual(['--write src/f'])
  })

  test.each(Object.keys(tools))('the edits, %s', (tool) => {
    const { stderr, code } = place.cordon(['tool', 'run', tool])
    expect(code).toBe(1)
    const commands = [...stderr.matchAll(/^ +cordon (config set .*)$/gm)].map(([, command]) => command!)
    expect(commands.length).toBeGreaterThan(0)
    for (const command of commands)
      expect(place.shell(`n=$1 c=$2; exec "$n" "$c" ${command}`, []).code).toBe(0)
    expect(place.cordon(['tool', 'run', tool])).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('SPEC 4.7 a link out of the workspace, and links behind it', () => {
  const place = new Place(SOMEBODY)
  const target = `${place.home}/work/target`
  place.write(`${target}/f`, 'f\n')
  place.write(`${place.home}/work/elsewhere/e`, 'e\n')
  const link = (to: string, path: string): void => symlinkSync(to, path)
  link('../elsewhere/e', `${target}/out`)
  link('../elsewhere', `${target}/outdir`)
  link('f', `${target}/in`)
  link(target, `${place.home}/alias`)
  link(target, `${place.root}/m`)
  link(`${place.home}/alias`, `${place.root}/twice`)
  link('m', `${place.root}/again`)
  place.config(
    '[conversation.tools.t]\nsource = "local"\ncommand = ["cat", "m/out"]\naccess.fs = [{ path = "own", read = true }]\n',
  )
  place.write('own', 'own\n')
  expect(place.cordon(['mount', 'add', `t:m=${target}`]).code).toBe(0)

  const suggested = (text: string): string => / {2}to allow it:\n {4}(.*)\n/.exec(text)?.[1] ?? ''
  const pasted = (flags: string, command: readonly string[]): Ended =>
    place.shell(`n=$1 c=$2; shift 2; exec "$n" "$c" run ${flags} -- "$@"`, command)

  test.each([
    ['m/f', '--read ~/work/target/f'],
    ['m/in', '--read ~/work/target/in'],
    ['m/out', '--read ~/work/target/out'],
    ['m/outdir/e', '--read ~/work/target/outdir/e'],
    ['twice/f', '--read ~/alias/f'],
    ['twice/out', '--read ~/alias/out'],
    ['again/out', '--read ~/work/target/out'],
  ])('%s: the hint and why name the flag that works', (path, flag) => {
    const { stderr } = place.run(['--', 'cat', path])
    expect(fixes(stderr)).toEqual([flag])
    expect(pasted(flag, ['cat', path])).toMatchObject({ code: 0 })
    expect(suggested(place.cordon(['why', 'run', 'read', path]).stdout)).toBe(`cordon run ${flag} -- COMMAND`)
  })

  test('what is to be written', () => {
    const command = ['sh', '-c', 'echo e > m/outdir/e']
    const { stderr } = place.run(['--', ...command])
    expect(pasted(fixes(stderr).join(' '), command)).toMatchObject({ code: 0 })
    const asked = suggested(place.cordon(['why', 'run', 'create', 'm/outdir/new']).stdout)
    expect(asked).toBe('cordon run --write ~/work/target/outdir -- COMMAND')
    expect(pasted('--write ~/work/target/outdir', ['touch', 'm/outdir/new'])).toMatchObject({ code: 0 })
  })

  test('SPEC 4.9 the attack: a link that a command left to a key leads to no flag for the key', () => {
    place.write(`${place.home}/.ssh/id_rsa`, 'key')
    link(`${place.home}/.ssh/id_rsa`, `${place.root}/settings`)
    expect(fixes(place.run(['--', 'cat', 'settings']).stderr)).toEqual([])
  })

  test('a tool’s mount, and a link in it that leaves it', () => {
    const flag = '--read ~/work/target/out'
    expect(fixes(place.run(['--tool', 't', '--', 'cat', 'm/out']).stderr)).toEqual([flag])
    expect(pasted(`--tool t ${flag}`, ['cat', 'm/out'])).toMatchObject({ code: 0, stdout: 'e\n' })
    expect(place.cordon(['why', 't', 'read', 'm/out']).stdout).toBe(
      'denied: tool t, read m/out\n' +
        '  because: path escapes the workspace: m/out (it leaves the approved target of the mount m), by the link m/out\n' +
        '  to allow it:\n' +
        '    cordon mount add t:e=~/work/elsewhere/e\n',
    )
    expect(place.shell('n=$1 c=$2; exec "$n" "$c" mount add t:e=~/work/elsewhere/e', []).code).toBe(0)
    expect(place.cordon(['why', 't', 'read', 'm/out']).code).toBe(0)
    expect(place.cordon(['tool', 'run', 't'])).toMatchObject({ code: 0, stdout: 'e\n' })
  })

  test('a shipped tool has it by the name of another mount', () => {
    expect(place.cordon(['mount', 'add', `fs_read_file:m=${target}`]).code).toBe(0)
    const { stdout } = place.cordon(['why', 'fs_read_file', 'read', 'm/outdir/e'])
    const [, command = ''] = /by a mount of its own it is elsewhere: cordon (.*)\n/.exec(stdout) ?? []
    expect(command).toBe('mount add fs_read_file:elsewhere=~/work/elsewhere')
    expect(place.shell(`n=$1 c=$2; exec "$n" "$c" ${command}`, []).code).toBe(0)
    expect(place.cordon(['why', 'fs_read_file', 'read', 'elsewhere/e']).code).toBe(0)
  })
})

describe('SPEC 4.8 a run inside a run', () => {
  const place = new Place(SOMEBODY)
  const cordon = join(dirname(PROGRAM.cordon), 'cordon')
  place.write('a', 'a\n')
  place.write(`${place.home}/shared/f`, 'f\n')
  const inside = (...args: readonly string[]): readonly string[] => [cordon, 'run', ...args]
  const pasted = (flags: string, command: readonly string[]): Ended =>
    place.shell(`n=$1 c=$2; shift 2; exec "$n" "$c" run ${flags} -- "$@"`, command)
  const [needed = ''] = fixes(place.run(['--', ...inside('--', 'cat', 'a')]).stderr)

  test('what Cordon itself needs is one line, and works as pasted', () => {
    expect(needed).toMatch(/^--execute \S+( --execute \S+)?$/)
    expect(pasted(needed, inside('--', 'cat', 'a'))).toMatchObject({ code: 0, stdout: 'a\n' })
  })

  test('a place is granted by both', () => {
    const file = `${place.home}/shared/f`
    const { stderr } = pasted(needed, inside('--', 'cat', file))
    expect(hints(stderr)).toEqual([
      '~/shared/f exists on the host, and is not granted; the `cordon run` inside needs the flag, too',
    ])
    const [flag = ''] = fixes(stderr)
    expect(
      pasted(`${needed} ${flag}`, inside(...flag.replace('~', place.home).split(' '), '--', 'cat', file)),
    ).toMatchObject({ code: 0, stdout: 'f\n' })
  })

  test.each<[string, readonly string[]]>([
    ['a host', ['curl', '-sS', 'http://a.example/']],
    ['an address', ['python3', '-c', 'import socket; socket.create_connection(("198.51.100.7", 80))']],
    ['a unix socket', ['python3', '-c', 'import socket; socket.socket(socket.AF_UNIX)']],
  ])('%s: the inner one says that it has no network, and no flag is named', (_, command) => {
    const { stderr, code } = pasted(needed, inside('--', ...command))
    expect(code).not.toBe(0)
    expect(hints(stderr)).toEqual([
      'a `cordon run` inside another one has no network and no sockets: start it outside of that one',
    ])
    expect(fixes(stderr)).toEqual([])
  })
})

describe('SPEC 4.7 a directory with a rule of its own that is removed', () => {
  const place = new Place()
  const rules = (around: string): string =>
    `[conversation.tools.mine]\nsource = "local"\ncommand = ["true"]\naccess.fs = [{ path = ".", read = true, ${around} }, { path = "src/deep", read = true }]\n`

  test.each([
    ['write = true', [], ['--write src/deep']],
    ['write = true', ['--write', 'src'], ['--write src/deep']],
    ['update = true', [], ['--write src --write src/deep']],
    ['update = true', ['--write', 'src'], ['--write src/deep']],
  ])('%s, %j: its own rule decides, and no flag is named that was given', (around, given, expected) => {
    place.config(rules(around))
    for (const dir of ['src', 'src/deep']) place.mkdir(join(place.root, dir))
    const flags = ['--tool', 'mine', ...given]
    const { stderr } = place.run([...flags, '--', 'rmdir', 'src/deep'])
    expect(fixes(stderr)).toEqual(expected)
    const added = fixes(stderr).flatMap((fix) => fix.split(' '))
    expect(place.run([...flags, ...added, '--', 'rmdir', 'src/deep'])).toMatchObject({ code: 0 })
  })
})
