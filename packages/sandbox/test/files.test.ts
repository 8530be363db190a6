import { spawn } from 'node:child_process'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { encodeItems } from '../src/linux/encode.ts'
import { type Item } from '../src/linux/items.ts'
import {
  attempts,
  BASE_ENV,
  give,
  IDENTITIES,
  reachableLauncher,
  planFor,
  makeWorld,
  run,
  scratchDir,
  removeWorlds,
} from './confine.ts'

afterAll(removeWorlds)

const RW = { read: true, write: true }
const RWX = { read: true, write: true, execute: true }

/** Below neither /tmp nor a home of the tests; who may not write to /opt has a checkout to write to. */
const FAR = isWritable('/opt') ? '/opt' : import.meta.dirname

function isWritable(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK)
    return true
  } catch {
    return false
  }
}

describe.each(IDENTITIES)('as $name', (who) => {
  test('a workspace that is granted works', async () => {
    const world = makeWorld(who, { 'a.txt': 'one\n', 'sub/run.sh': '#!/bin/sh\necho ran\n' })
    const { stdout, stderr, code } = await run({
      who,
      world,
      script:
        'cat a.txt; echo two >> a.txt; mkdir d; mv a.txt d/; ln -s d l; chmod +x sub/run.sh; sub/run.sh; rm -r sub; pwd',
    })
    expect([stdout, stderr, code]).toEqual([`one\nran\n${world.root}\n`, '', 0])
    expect(readdirSync(world.root).toSorted()).toEqual(['d', 'l'])
    expect(readFileSync(join(world.root, 'd/a.txt'), 'utf8')).toBe('one\ntwo\n')
  })

  test('a read-only workspace changes in no way', async () => {
    const world = makeWorld(who, { 'a.txt': 'one\n', 'd/b': '' })
    const lines = [
      'cat a.txt',
      'ls d',
      'echo x > a.txt',
      'echo x >> a.txt',
      'truncate -s 0 a.txt',
      'chmod 600 a.txt',
      'touch a.txt',
      'touch -d 2001-01-01 a.txt',
      'setfattr -n user.x -v 1 a.txt',
      'rm a.txt',
      'mv a.txt b.txt',
      'ln a.txt c.txt',
      'ln -s a.txt c.txt',
      'mkdir e',
      'rmdir d',
      'mkfifo p',
    ]
    const { stdout } = await run({
      who,
      world,
      access: { fs: [{ path: '.', read: true }] },
      script: attempts(...lines),
    })
    expect(stdout.trim().split('\n')).toEqual(lines.map((line, i) => `${i < 2 ? 'ok' : 'no'} ${line}`))
    expect(readFileSync(join(world.root, 'a.txt'), 'utf8')).toBe('one\n')
  })

  test('a read-only directory inside a writable workspace', async () => {
    const world = makeWorld(who, { 'src/a': 'a', 'out/b': 'b' })
    const lines = [
      'cat src/a',
      'echo x > out/c',
      'echo x > src/a',
      'rm src/a',
      'mv src src2',
      'rmdir src',
      'touch src/n',
      'chmod 700 src',
    ]
    const { stdout } = await run({
      who,
      world,
      access: {
        fs: [
          { path: '.', ...RWX },
          { path: 'src', read: true },
        ],
      },
      script: attempts(...lines),
    })
    expect(stdout.trim().split('\n')).toEqual(lines.map((line, i) => `${i < 2 ? 'ok' : 'no'} ${line}`))
  })

  test('a denied directory with a child that is granted again', async () => {
    const world = makeWorld(who, { 'vault/key': 'secret', 'vault/pub/a': 'a', 'vault/deep/er/b': 'b' })
    const lines = [
      'cat vault/pub/a',
      'echo x > vault/pub/n',
      'cat vault/deep/er/b',
      'cat vault/key',
      'ls vault',
      'ls vault/deep',
      'touch vault/x',
      'touch vault/deep/x',
      'mv vault v2',
      'mv vault/pub p2',
      'chmod 755 vault',
    ]
    const { stdout } = await run({
      who,
      world,
      access: {
        fs: [
          { path: '.', ...RWX },
          { path: 'vault' },
          { path: 'vault/pub', ...RW },
          { path: 'vault/deep/er', read: true },
        ],
      },
      script: attempts(...lines),
    })
    expect(stdout.trim().split('\n')).toEqual(lines.map((line, i) => `${i < 3 ? 'ok' : 'no'} ${line}`))
    expect(readdirSync(join(world.root, 'vault')).toSorted()).toEqual(['deep', 'key', 'pub'])
  })

  test('a hidden file cannot be read, replaced or renamed by any way round', async () => {
    const world = makeWorld(who, { 'app/.env': 'SECRET', 'app/x': 'x', 'other/': '' })
    const lines = [
      'cat app/.env',
      'cat /proc/self/root"$PWD"/app/.env',
      'cat /proc/1/root"$PWD"/app/.env',
      'cat /proc/self/cwd/app/.env',
      'echo x > app/.env',
      'rm -f app/.env',
      'mv app/.env e2',
      'mv app/x app/.env',
      'mv app app2',
      'mv app other/app',
      'ln app/.env hard',
      'cp app/.env copy',
      'chmod 644 app/.env',
      'mkdir swap; rmdir swap; ln -s app/.env soft; cat soft',
      'rm -rf app; cat app/.env',
      'mv other app3; ln -s app3 other; mv app/.env other/',
      'umount app/.env',
      'unshare -Urm true',
    ]
    const { stdout } = await run({
      who,
      world,
      access: { fs: [{ path: '.', ...RWX }, { path: 'app/.env' }] },
      script: attempts(...lines),
    })
    expect(stdout.trim().split('\n')).toEqual(lines.map((line) => `no ${line}`))
    expect(readFileSync(join(world.root, 'app/.env'), 'utf8')).toBe('SECRET')
  })

  test('a descriptor that the host left open is not inherited', async () => {
    const world = makeWorld(who, { '.env': 'SECRET' })
    const plan = planFor({ who, world, access: { fs: [{ path: '.', ...RWX }, { path: '.env' }] } })
    const fd = openSync(join(world.root, '.env'), 'r')
    const child = spawn(reachableLauncher().path, [], {
      argv0: 'cordon-launch',
      stdio: ['ignore', 'pipe', 'ignore', 'pipe', 'ignore', fd, 'ignore', 'ignore', 'ignore', fd],
      ...who.as,
    })
    const command = ['sh', '-c', 'ls /proc/self/fd; cat <&5; cat <&9; cat /dev/fd/*']
    const end: readonly Item[] = [
      { tag: 'cwd', path: world.root },
      { tag: 'exec', path: '/bin/sh' },
      ...command.map((word): Item => ({ tag: 'arg', text: word })),
      { tag: 'env', text: `PATH=${BASE_ENV.PATH}` },
    ]
    ;(child.stdio[3] as Writable).write(encodeItems([...plan.items, ...end]))
    child.stdio[3]?.on('data', () => {})
    const out = await text(child.stdout!)
    closeSync(fd)
    expect(out.split('\n')).toEqual(['0', '1', '2', '3', '']) // 3 is the directory that ls itself has open
  })

  test('a denied path that does not exist yet is reported and moved aside', async () => {
    const world = makeWorld(who, { 'd/': '' })
    const { createdDenied, plan } = await run({
      who,
      world,
      access: {
        fs: [
          { path: '.', ...RWX },
          { path: '.env' },
          { path: 'd/never' },
          { path: 'up/.env' },
          { path: 'link/x' },
        ],
      },
      script: 'echo planted > .env; mkdir up; echo planted > up/.env; ln -s d link; echo x > d/x',
    })
    expect(createdDenied.map(({ path, movedTo }) => [path, movedTo])).toEqual([
      [`${world.root}/.env`, `${world.root}/.env.denied-by-cordon-1`],
      [`${world.root}/link`, `${world.root}/link.denied-by-cordon-1`],
      [`${world.root}/up/.env`, `${world.root}/up/.env.denied-by-cordon-1`],
    ])
    expect(plan.holders.filter((h) => h.capability === 'create').map((h) => h.held.by)).toEqual([
      'kernel',
      'cooperative',
      'cooperative',
      'cooperative',
      'cooperative',
    ])
    expect(readdirSync(world.root).toSorted()).toEqual([
      '.env.denied-by-cordon-1',
      'd',
      'link.denied-by-cordon-1',
      'up',
    ])
    expect(readdirSync(join(world.root, 'd'))).toEqual(['x'])
  })

  test('home and /tmp are private, empty, writable, and gone afterwards', async () => {
    const world = makeWorld(who, { '~/.ssh/id_rsa': 'KEY', '~/other-workspace/a': 'a' })
    const name = `cordon-${who.name.replaceAll(' ', '-')}-${process.pid}`
    const { stdout } = await run({
      who,
      world,
      script: `ls -A ~ /tmp; cat ~/.ssh/id_rsa ~/other-workspace/a; echo x > ~/x && echo x > /tmp/${name} && echo x > /var/tmp/${name} && echo x > /dev/shm/${name} && cat ~/x /tmp/${name} /var/tmp/${name} /dev/shm/${name}`,
    })
    const scratch = world.dir.startsWith('/tmp/') ? `${world.dir.split('/')[2]}\n` : ''
    expect(stdout).toBe(`/tmp:\n${scratch}\n${world.home}:\nx\nx\nx\nx\n`)
    expect(
      [`/tmp/${name}`, `/var/tmp/${name}`, `/dev/shm/${name}`, join(world.home, 'x')].filter(existsSync),
    ).toEqual([])
  })

  test.each([
    ['under the home', (dir: string) => ({ root: join(dir, 'home/code/w'), home: join(dir, 'home') })],
    ['that is the home', (dir: string) => ({ root: join(dir, 'home'), home: join(dir, 'home') })],
    ['above the home', (dir: string) => ({ root: dir, home: join(dir, 'home') })],
    ['on another filesystem', (dir: string) => ({ root: scratchDir('/dev/shm'), home: join(dir, 'home') })],
    ['outside every private place', (dir: string) => ({ root: scratchDir(FAR), home: join(dir, 'home') })],
  ])('a workspace %s works the same', async (_name, place) => {
    const world = makeWorld(who)
    const { root, home } = place(world.dir)
    mkdirSync(join(root, 'ro'), { recursive: true })
    writeFileSync(join(root, 'ro/a'), 'a')
    writeFileSync(join(root, '.env'), 'SECRET')
    give(who, root)
    give(who, world.dir)
    const { stdout } = await run({
      who,
      world: { ...world, root, home },
      access: { fs: [{ path: '.', ...RWX }, { path: 'ro', read: true }, { path: '.env' }] },
      script: attempts('echo new > n', 'cat ro/a', 'echo x > ro/a', 'cat .env', 'mv .env e', 'mv ro r'),
    })
    expect(stdout).toBe(
      'ok echo new > n\nok cat ro/a\nno echo x > ro/a\nno cat .env\nno mv .env e\nno mv ro r\n',
    )
    expect(readFileSync(join(root, 'n'), 'utf8')).toBe('new\n')
  })

  test('a workspace behind a link keeps both names', async () => {
    const world = makeWorld(who, { a: 'a' })
    const link = join(world.home, 'proj')
    symlinkSync(world.root, link)
    const { stdout } = await run({
      who,
      world: { ...world, root: link },
      script: `pwd; cat a ${link}/a; echo b > ${link}/b`,
    })
    expect(stdout).toBe(`${world.root}\naa`)
    expect(readFileSync(join(world.root, 'b'), 'utf8')).toBe('b\n')
  })

  test('a mount is read at its link, and what leaves it is not', async () => {
    const world = makeWorld(who, { '~/fork/a': 'a', '~/fork/sub/b': 'b', '~/secret': 'KEY', 'd/': '' })
    symlinkSync(join(world.home, 'fork'), join(world.root, 'fork'))
    symlinkSync(join(world.home, 'secret'), join(world.home, 'fork/escape'))
    symlinkSync(join(world.home, 'secret'), join(world.root, 'direct'))
    give(who, world.dir)
    const lines = [
      'cat fork/a',
      'cat fork/sub/b',
      'cat ~/fork/a',
      'cat fork/escape',
      'cat direct',
      'cat fork/../secret',
      'echo x > fork/a',
      'rm fork',
      'mv fork f2',
      'mv d fork',
    ]
    const { stdout } = await run({
      who,
      world,
      access: {
        fs: [
          { path: '.', ...RWX },
          { path: 'fork', read: true, external: true, approved_target: join(world.home, 'fork') },
        ],
      },
      script: attempts(...lines),
    })
    expect(stdout.trim().split('\n')).toEqual(lines.map((line, i) => `${i < 3 ? 'ok' : 'no'} ${line}`))
  })

  test('only what a rule names exists when the root has none', async () => {
    const world = makeWorld(who, { 'a/x': 'x', 'b/y': 'y', c: 'c' })
    const { stdout } = await run({
      who,
      world,
      access: {
        fs: [
          { path: 'a', ...RW },
          { path: 'c', read: true },
        ],
      },
      script: 'ls -A; cat a/x c; echo n > a/n && ls a; touch t; cat b/y',
    })
    expect(stdout).toBe('xcn\nx\n')
    expect(readdirSync(world.root).toSorted()).toEqual(['a', 'b', 'c'])
  })

  test('execute is withheld where no rule grants it', async () => {
    const world = makeWorld(who, { 'run.sh': '#!/bin/sh\necho ran', 'bin/run.sh': '#!/bin/sh\necho ran' })
    const lines = [
      'chmod +x run.sh bin/run.sh',
      'bin/run.sh',
      './run.sh',
      'cp /bin/true t; ./t',
      '/lib64/ld-linux-x86-64.so.2 ./t',
    ]
    const { stdout } = await run({
      who,
      world,
      access: {
        fs: [
          { path: '.', ...RW },
          { path: 'bin', ...RWX },
        ],
      },
      script: attempts(...lines),
    })
    expect(stdout.trim().split('\n')).toEqual(lines.map((line, i) => `${i < 2 ? 'ok' : 'no'} ${line}`))
  })

  test('the secrets of /etc are unreadable, the rest is not', async () => {
    const world = makeWorld(who)
    const { stdout } = await run({
      who,
      world,
      script:
        'cat /etc/passwd > /dev/null && echo passwd; cat /etc/shadow /etc/gshadow /etc/sudoers /etc/ssl/private/* 2>/dev/null; find /etc ! -perm -004 -type f -readable 2>/dev/null',
    })
    expect(stdout).toBe('passwd\n')
  })

  test('a hard link made before cannot be told apart, one made inside is refused', async () => {
    const world = makeWorld(who, { '.env': 'SECRET' })
    linkSync(join(world.root, '.env'), join(world.root, 'older'))
    const { stdout } = await run({
      who,
      world,
      access: { fs: [{ path: '.', ...RWX }, { path: '.env' }] },
      script: attempts('cat older', 'ln .env newer', 'cat .env'),
    })
    expect(stdout).toBe('ok cat older\nno ln .env newer\nno cat .env\n')
  })
})
