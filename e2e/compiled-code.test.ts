import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from './harness/place.ts'

const isRoot = process.getuid?.() === 0

/** Decision 0120: `cordon run` is started with what V8 made of it the last time. */
describe.each(PEOPLE)('compiled code, for $name', (person) => {
  test('what V8 made of the program is kept for the next start, and only its owner can write it', () => {
    const place = new Place(person)
    const cache = join(place.home, '.cache/cordon')
    const kept = (): string[] =>
      existsSync(cache) ? readdirSync(cache).filter((each) => each.startsWith('run-')) : []
    place.run(['--', 'true'])
    const [name = '', ...others] = kept()
    expect(others).toEqual([])
    // Damaged, it is not used, and made anew; what is old is forgotten then.
    const old = join(cache, 'run-old')
    writeFileSync(old, '')
    utimesSync(old, 1, 1)
    writeFileSync(join(cache, name), 'damaged')
    expect(place.run(['--', 'echo', 'fine'])).toMatchObject({ code: 0, stdout: 'fine\n' })
    expect(readFileSync(join(cache, name)).length).toBeGreaterThan(10_000)
    expect(existsSync(old)).toBe(false)
    // Nor is what is no file at all, in whose place nothing can be put.
    rmSync(join(cache, name))
    mkdirSync(join(cache, name))
    expect(place.run(['--', 'echo', 'fine'])).toMatchObject({ code: 0, stdout: 'fine\n', stderr: '' })
    rmdirSync(join(cache, name))
    writeFileSync(join(cache, name), '')
    expect(place.run(['--', 'echo', 'fine'])).toMatchObject({ code: 0, stdout: 'fine\n', stderr: '' })
  })

  test('what a start in another way has compiled is kept as well', () => {
    const place = new Place(person)
    const cache = join(place.home, '.cache/cordon')
    const size = (): number =>
      existsSync(cache)
        ? readdirSync(cache).reduce((sum, name) => sum + readFileSync(join(cache, name)).length, 0)
        : 0
    place.run(['--help'])
    expect(size()).toBe(0) // nearly nothing was used
    place.run(['--', 'true'])
    const first = size()
    place.run(['--', 'true'])
    expect(size()).toBe(first)
    place.run(['--', 'sh', '-c', 'echo /etc/shadow: Permission denied >&2; exit 1'])
    const second = size()
    expect(second).toBeGreaterThan(first)
    place.run(['--', 'false'])
    place.run(['--', 'true'])
    expect(size()).toBe(second)
  })

  test('decision 0490: configuration of one file, and that of directories below, are two ways', () => {
    const place = new Place(person)
    const waysKept = (): readonly string[] => {
      const cache = join(place.home, '.cache/cordon')
      const data = readFileSync(
        join(
          cache,
          readdirSync(cache).find((name) => name.startsWith('run-'))!,
        ),
      )
      const end = data.length - 1
      return data.toString('latin1', end - data[end]!, end).split(' ')
    }
    place.init()
    place.config('[sandbox.limits]\nprocesses = 100\n')
    place.run(['--', 'true'])
    expect(waysKept()).toEqual(['files', 'succeeds'])
    place.write('a/.cordon.toml', '[sandbox.limits]\nprocesses = 50\n')
    place.trust(join(place.root, 'a'))
    place.run(['--', 'true'], { cwd: join(place.root, 'a') })
    expect(waysKept()).toEqual(['files', 'succeeds', 'directories'])
  })

  test('without a place for it everything works', () => {
    const place = new Place(person)
    mkdirSync(join(place.home, '.cache'), { recursive: true })
    writeFileSync(join(place.home, '.cache/cordon'), '')
    expect(place.run(['--', 'echo', 'fine'])).toMatchObject({ code: 0, stdout: 'fine\n' })
  })
})

/** Compiled code is run with all rights: it is taken only from where nobody else can have put it. */
describe('where compiled code is kept', () => {
  const kept = (cache: string): boolean =>
    existsSync(cache) && readdirSync(cache).some((name) => name.startsWith('run-'))

  test.each(PEOPLE)('not in a workspace, marked or not, and not at a relative place, for $name', (person) => {
    const place = new Place(person)
    const sub = place.mkdir(join(place.root, 'sub'))
    const bare = place.mkdir(join(place.dir, 'bare'))
    for (const [cwd, cache] of [
      [sub, join(place.root, '.cache')],
      [bare, join(bare, '.cache')],
    ] as const) {
      expect(place.run(['--', 'true'], { cwd, env: { XDG_CACHE_HOME: cache } }).code).toBe(0)
      expect(kept(join(cache, 'cordon'))).toBe(false)
    }
    expect(place.run(['--', 'true'], { env: { XDG_CACHE_HOME: 'cache' } }).code).toBe(0)
    place.run(['--', 'true'], { env: { HOME: 'cache', XDG_DATA_HOME: place.home } })
    const made = ['.cache', 'cache'] // Cordon's own place is made where a command could make it (SPEC 4.10), and stays empty
    expect(
      readdirSync(place.root)
        .filter((name) => !made.includes(name))
        .toSorted(),
    ).toEqual(['.cordon', 'sub'])
    expect(kept(join(place.home, '.cache/cordon'))).toBe(true) // as if it had not been said
  })

  test.each(PEOPLE)('not where everybody can write, for $name', (person) => {
    const place = new Place(person)
    const cache = place.mkdir(join(place.dir, 'cache/cordon'))
    chmodSync(cache, 0o777)
    const env = { XDG_CACHE_HOME: dirname(cache) }
    expect(place.run(['--', 'true'], { env }).code).toBe(0)
    expect(readdirSync(cache)).toEqual([])
    chmodSync(cache, 0o700)
    chmodSync(dirname(cache), 0o777)
    expect(place.run(['--', 'true'], { env }).code).toBe(0)
    expect(readdirSync(cache)).toEqual([])
    chmodSync(dirname(cache), 0o1777)
    expect(place.run(['--', 'true'], { env }).code).toBe(0)
    expect(kept(cache)).toBe(true)
  })

  test.runIf(isRoot)('not in another’s home, which `sudo` may leave us', () => {
    const theirs = new Place(PEOPLE[1])
    const root = new Place(PEOPLE[0])
    expect(root.run(['--', 'true'], { env: { HOME: theirs.home } }).code).toBe(0)
    expect(readdirSync(theirs.home).filter((name) => name !== '.local')).toEqual([])
    mkdirSync(join(root.home, '.cache'))
    theirs.mkdir(join(root.home, '.cache/cordon'))
    expect(root.run(['--', 'true']).code).toBe(0)
    expect(readdirSync(join(root.home, '.cache/cordon'))).toEqual([])
  })
})

/** Decision 0243: the shipped tools are started with what V8 made of them when they were built. */
describe('code of the shipped tools', () => {
  const DIST = join(import.meta.dirname, '../packages/cli/dist')
  const PARTS = ['tools-start.cjs', 'tools.cjs', 'tools.code']
  const CALL = JSON.stringify({
    context: { root: '/', action: 'run', access: null },
    tool: { name: 'fs_read_file', arguments: { path: 'etc/passwd' }, answers: {}, options: {} },
  })
  /** What the call says, and whether V8 took the code. */
  const call = (dir: string): { readonly reply: unknown; readonly rejected: string } => {
    const watch = `const { script } = require(${JSON.stringify(join(dir, 'tools-start.cjs'))})
process.on('exit', () => require('fs').writeSync(2, String(script.cachedDataRejected)))`
    const words = ['--no-rehash-snapshot', '-e', watch, 'fs_read_file', 'fs_read_file']
    const { stdout, stderr } = spawnSync(process.execPath, words, { input: CALL, encoding: 'utf8' })
    return { reply: JSON.parse(stdout), rejected: stderr }
  }
  const copy = (): string => {
    const dir = mkdtempSync(join(tmpdir(), 'cordon-code-'))
    for (const name of PARTS) copyFileSync(join(DIST, name), join(dir, name))
    return dir
  }

  test('V8 takes it, with the flags that the tools are started with', () => {
    expect(call(DIST)).toEqual({ reply: expect.objectContaining({ type: 'success' }), rejected: 'false' })
  })

  test('no module of Node is loaded for it that a start does not have anyway', () => {
    const watch = `const before = new Set(process.moduleLoadList)
require(${JSON.stringify(join(DIST, 'tools-start.cjs'))})
process.on('exit', () => require('fs').writeSync(2, process.moduleLoadList.filter((name) => !before.has(name)).join()))`
    const words = ['--no-rehash-snapshot', '-e', watch, 'fs_read_file', 'fs_read_file']
    const { stdout, stderr } = spawnSync(process.execPath, words, { input: CALL, encoding: 'utf8' })
    expect({ reply: JSON.parse(stdout), stderr }).toMatchObject({ reply: { type: 'success' }, stderr: '' })
  })

  test('without it, damaged or older than the program, it is not used, and the tools work', () => {
    const [missing, damaged, old] = [copy(), copy(), copy()]
    rmSync(join(missing, 'tools.code'))
    writeFileSync(join(damaged, 'tools.code'), 'damaged')
    utimesSync(join(old, 'tools.code'), 1, 1)
    const { reply } = call(DIST)
    expect([call(missing), call(damaged), call(old)]).toEqual([
      { reply, rejected: 'undefined' },
      { reply, rejected: 'true' },
      { reply, rejected: 'undefined' },
    ])
  })
})

/** Decisions 0242 and 0390: whatever a start loads, it loads every time. */
test('`cordon run` loads no module of Node that a start does not have anyway', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cordon-code-'))
  const watch = join(dir, 'watch.cjs')
  writeFileSync(
    watch,
    `const before = new Set(process.moduleLoadList)
const isNew = (name) => name.startsWith('NativeModule') && !before.has(name)
process.on('exit', () => require('fs').writeSync(2, process.moduleLoadList.filter(isNew).join()))`,
  )
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--require',
      watch,
      join(import.meta.dirname, '../packages/cli/bin/cordon.cjs'),
      'run',
      '-q',
      '--',
      'echo',
      'fine',
    ],
    { cwd: dir, env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' }, encoding: 'utf8' },
  )
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'fine\n', stderr: '' })
})

/** Decision 0350: what `node:vm` is made of, without the module. */
test.each([
  { version: process.version, loaded: false },
  { version: 'v24.0.0', loaded: true },
])('with Node $version `node:vm` is loaded: $loaded', ({ version, loaded }) => {
  const dir = mkdtempSync(join(tmpdir(), 'cordon-code-'))
  const watch = join(dir, 'watch.cjs')
  writeFileSync(
    watch,
    `Object.defineProperty(process, 'version', { value: '${version}' })
process.on('exit', () => require('fs').writeSync(2, String(process.moduleLoadList.includes('NativeModule vm'))))`,
  )
  const entry = join(import.meta.dirname, '../packages/cli/bin/cordon.cjs')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--require', watch, entry, 'run', '-q', '--', 'echo', 'fine'],
    { cwd: dir, env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' }, encoding: 'utf8' },
  )
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'fine\n', stderr: String(loaded) })
})
