import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findLauncher, LauncherMissingError, spawnConfined } from '@cordon/sandbox'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeItems } from '../src/linux/encode.ts'
import { type Item } from '../src/linux/items.ts'
import { LaunchError, parseStatus } from '../src/status.ts'
import { BASE_ENV, IDENTITIES, reachableLauncher, makeWorld, planFor, run, removeWorlds } from './confine.ts'

afterAll(removeWorlds)

/** As launcher/build.js chooses it. */
const CC = process.env['CC'] ?? 'cc'
const LAUNCHER_DIR = fileURLToPath(new URL('../launcher', import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'cordon-parser-'))
const parser = join(dir, 'parser')

const SANITIZED =
  '-g -O1 -Wall -Wextra -Werror -std=c11 -D_GNU_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=all'.split(
    ' ',
  )

beforeAll(() => {
  const { status, stderr } = spawnSync(CC, [...SANITIZED, 'test-parser.c', 'src/plan.c', '-o', parser], {
    cwd: LAUNCHER_DIR,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
  return () => rmSync(dir, { recursive: true })
})

/** What the sanitised parser says of each plan, or how it died. */
function parse(plans: readonly Uint8Array[]): readonly string[] {
  const framed = plans.map((plan) => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(plan.length)
    return Buffer.concat([length, plan])
  })
  const { status, stdout, stderr } = spawnSync(parser, { input: Buffer.concat(framed), encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  return stdout.trim().split('\n')
}

const anyItem: fc.Arbitrary<Item> = fc.oneof(
  fc.record({
    tag: fc.constantFrom('file', 'seal', 'cwd', 'exec', 'devpts'),
    path: fc.string().map((s) => `/${s.replaceAll('\0', '')}`),
  }),
  fc.record({
    tag: fc.constant('link' as const),
    path: fc.constant('/l'),
    target: fc.string().map((s) => s.replaceAll('\0', '')),
  }),
  fc.record({
    tag: fc.constant('dir' as const),
    path: fc.constant('/d'),
    mode: fc.integer({ min: 0, max: 0o777 }),
  }),
  fc.record({ tag: fc.constant('tmp-size' as const), bytes: fc.nat() }),
)

test('the parser reads what the host writes', () => {
  fc.assert(
    fc.property(fc.array(anyItem, { maxLength: 30 }), (items) => {
      expect(parse([encodeItems(items).subarray(4)])).toEqual([`0 -1 ${items.length}`])
    }),
    { numRuns: 20 },
  )
})

test('truncated, altered and random plans are refused without reading past them', () => {
  const whole = encodeItems([
    { tag: 'flags', flags: ['namespaces'] },
    { tag: 'dir', path: '/a/b', mode: 0o755 },
    { tag: 'link', path: '/l', target: 'there' },
    { tag: 'exec', path: '/bin/true' },
  ]).subarray(4)
  const truncated = Array.from({ length: whole.length }, (_, end) => Buffer.from(whole.subarray(0, end)))
  expect(new Set(parse(truncated).map((line) => line.split(' ')[0]))).toEqual(new Set(['74'])) // EBADMSG
  const altered = Array.from({ length: whole.length * 8 }, (_, bit) => {
    const copy = Buffer.from(whole)
    copy[bit >> 3]! ^= 1 << (bit & 7)
    return copy
  })
  expect(parse(altered)).toHaveLength(altered.length)
  const random = fc.sample(fc.uint8Array({ maxLength: 300 }), { numRuns: 500, seed: 1 })
  const header = Buffer.from(whole.subarray(0, 4))
  expect(parse(random.map((bytes) => Buffer.concat([header, bytes])))).toHaveLength(500)
})

test('paths that are not absolute, and tags that do not exist, are refused', () => {
  const relative = encodeItems([{ tag: 'exec', path: 'bin/true' }]).subarray(4)
  const unknown = encodeItems([{ tag: 'exec', path: '/x' }]).subarray(4)
  unknown.writeUInt32LE(99, 8)
  expect(parse([relative, unknown])).toEqual(['22 0 0', '22 0 0']) // EINVAL at item 0
})

test('a string ends where its length says, and only there', () => {
  const plan = (): Buffer => encodeItems([{ tag: 'exec', path: '/bin/true' }]).subarray(4)
  const early = plan()
  early[early.indexOf('/bin/true') + 4] = 0
  const never = plan()
  never[never.indexOf('/bin/true') + 9] = 0x41
  expect(parse([early, never])).toEqual(['74 0 0', '74 0 0']) // EBADMSG at item 0
})

test('the launcher refuses a plan it cannot read, and says so', () => {
  const { status, output } = spawnSync(join(LAUNCHER_DIR, 'build/cordon-launch'), ['/bin/true'], {
    stdio: ['ignore', 'pipe', 'pipe', 'ignore'],
  })
  expect([status, output[1]?.toString()]).toEqual([125, ''])
})

test('each line of the report is parsed, and nothing else', () => {
  expect(parseStatus('failed bind item=7 errno=13')).toEqual({
    kind: 'failed',
    step: 'bind',
    item: 7,
    errno: 'EACCES',
  })
  expect(parseStatus('exit code=3')).toEqual({ kind: 'exit', code: 3 })
  expect(parseStatus('exit signal=11')).toEqual({ kind: 'signal', signal: 'SIGSEGV' })
  expect(parseStatus('usage peak_kib=2 tmp_full=1')).toEqual({
    kind: 'usage',
    peakBytes: 2048,
    tmpFull: true,
  })
  expect(parseStatus('exit code=3 ')).toBeUndefined()
})

test('a failed step names the item and what to do', () => {
  const item: Item = { tag: 'bind', path: '/home/u/w\u202e', attributes: [] }
  expect(new LaunchError({ step: 'bind', errno: 'ELOOP', item }).message).toBe(
    'the sandbox could not be built, so nothing was started: bind "/home/u/w\\u{202e}": ELOOP. A link appeared on that path after it was checked: try again.',
  )
})

test('a directory swapped for a link after planning is not followed', async () => {
  const [who] = IDENTITIES
  const world = makeWorld(who!, { 'd/a': 'a' })
  const outside = makeWorld(who!, { secret: 'KEY' })
  const access = {
    fs: [
      { path: '.', read: true },
      { path: 'd', read: true, write: true },
    ],
  }
  const plan = planFor({ who: who!, world, access })
  rmSync(join(world.root, 'd'), { recursive: true })
  symlinkSync(outside.root, join(world.root, 'd'))
  const confined = spawnConfined(plan, {
    argv: ['sh', '-c', 'cat d/secret'],
    env: BASE_ENV,
    launcher: reachableLauncher(),
  })
  await expect(confined.exit).rejects.toThrow(
    `the sandbox could not be built, so nothing was started: bind ${world.root}/d: ELOOP. A link appeared on that path after it was checked: try again.`,
  )
})

/** The install step and what it builds, in a place of their own. */
function copyLauncher(): string {
  const place = mkdtempSync(join(dir, 'build-'))
  for (const part of ['build.js', 'src', 'libc'])
    cpSync(join(LAUNCHER_DIR, part), join(place, part), { recursive: true })
  writeFileSync(join(place, 'package.json'), '{"type":"module"}')
  return place
}

/** Built by a compiler that does not know the options of `refused`. */
function buildWith(refused: readonly string[]): { readonly said: string; readonly launcher: string } {
  const place = copyLauncher()
  const cc = join(place, 'cc')
  const cases = refused.map((option) => `*' ${option} '*) echo "no ${option}" >&2; exit 1;;`).join(' ')
  writeFileSync(cc, `#!/bin/sh\ncase " $* " in ${cases} esac\nexec ${CC} "$@"\n`, { mode: 0o755 })
  const { status, stderr } = spawnSync(process.execPath, [join(place, 'build.js')], {
    env: { ...process.env, CC: cc },
    encoding: 'utf8',
  })
  expect(status).toBe(0)
  return { said: stderr, launcher: join(place, 'build/cordon-launch') }
}

const probe = (launcher: string): string =>
  spawnSync(launcher, [], { argv0: 'cordon-probe', encoding: 'utf8' }).stdout

test('the launcher needs no libc, and uses one where the compiler cannot do without', () => {
  const own = buildWith([])
  expect(own.said).toBe('')
  expect(probe(own.launcher)).toMatch(/^landlock \d+\nseccomp \d+\nnamespace-user \d+\n/)
  const built = [own, buildWith(['-nostdlib']), buildWith(['-static'])]
  expect(built.map(({ said, launcher }) => [said, probe(launcher)])).toEqual(
    built.map(() => ['', probe(own.launcher)]),
  )
  const text = built.map(({ launcher }) => readFileSync(launcher, 'latin1'))
  expect(text.map((each) => each.includes('GLIBC_'))).toEqual([false, true, true])
}, 60_000)

test('a compiler that cannot build it is quoted, and the installation succeeds', () => {
  expect(buildWith(['-O2']).said).toBe('@cordon/sandbox: the launcher does not compile here:\nno -O2\n\n')
})

/** Functions of launcher/libc that a test can put beside those of the system's libc. */
const REPLACED =
  `memcpy memset memchr explicit_bzero strlen strcmp strncmp strcpy strchr strrchr strstr malloc calloc
  realloc free qsort snprintf dprintf strtol atoi environ getenv setenv unsetenv`.split(/\s+/)

test('what stands in for libc does what libc does', () => {
  const cc = (...args: string[]): void => {
    const { status, stderr } = spawnSync(CC, [...SANITIZED, ...args], { cwd: dir, encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
  }
  const renamed = REPLACED.map((name) => `-D${name}=ours_${name}`)
  cc(...renamed, '-c', join(LAUNCHER_DIR, 'libc/text.c'), join(LAUNCHER_DIR, 'libc/memory.c'))
  cc(join(LAUNCHER_DIR, 'test-libc.c'), 'text.o', 'memory.o', '-o', 'test-libc')
  const seed = Math.floor(Math.random() * 2 ** 31)
  const { stdout, stderr } = spawnSync(join(dir, 'test-libc'), [String(seed)], { encoding: 'utf8' })
  expect([seed, stdout, stderr]).toEqual([seed, '20000 rounds\n', ''])
}, 60_000)

test('without a compiler the installation succeeds with a note, and calls say what is missing', async () => {
  const empty = copyLauncher()
  const { status, stderr } = spawnSync(process.execPath, [join(empty, 'build.js')], {
    env: { PATH: empty },
    encoding: 'utf8',
  })
  expect([status, stderr, existsSync(join(empty, 'build/cordon-launch'))]).toEqual([
    0,
    '@cordon/sandbox: no C compiler (ENOENT): confined calls will refuse to run until it is built\n',
    false,
  ])
  const launcher = findLauncher([join(empty, 'build/cordon-launch')])
  const [who] = IDENTITIES
  await expect(run({ who: who!, world: makeWorld(who!), spawn: { launcher } })).rejects.toThrow(
    new LauncherMissingError({
      state: 'missing',
      why: 'its launcher was not built when the package was installed',
      fix: 'Install a C compiler (`apt install gcc libc6-dev` or the like) and run `npm rebuild @cordon/sandbox`.',
    }),
  )
})
