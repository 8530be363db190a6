import { parseProbe } from '../src/probe.ts'
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Capability } from '@cordon/policy'
import { findLauncher, LauncherMissingError, spawnConfined } from '@cordon/sandbox'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { encodeItems } from '../src/linux/encode.ts'
import { type Item } from '../src/linux/items.ts'
import { LaunchError, parseStatus } from '../src/status.ts'
import { BASE_ENV, IDENTITIES, reachableLauncher, makeWorld, planFor, run, removeWorlds } from './confine.ts'

afterAll(removeWorlds)
afterEach(() => void vi.unstubAllEnvs())

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
  expect(parseStatus('inside pid=42')).toEqual({ kind: 'inside', pid: 42 })
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
    'the sandbox could not be built, so nothing was started: bind "/home/u/w\\u{202e}": ELOOP: a link appeared on that path after it was checked\n  fix: try again',
  )
  expect(new LaunchError({ step: 'bind', errno: 'ENOSPC', item: { ...item, path: '/w' } }).message).toBe(
    'the sandbox could not be built, so nothing was started: bind /w: ENOSPC: rules and guarded paths need more mounts than the kernel permits (sysctl fs.mount-max)\n  fix: take some away; `cordon policy explain` lists them',
  )
  const exec: Item = { tag: 'exec', path: '/w/go' }
  const refused = (...withheld: Capability[]): string =>
    new LaunchError({ step: 'exec', errno: 'EACCES', item: exec, withheld }).message
  expect([refused('read'), refused('execute'), refused('read', 'execute'), refused()]).toEqual([
    'cannot start /w/go: no rule grants read there, which the kernel needs to start a program, or the file is not executable (EACCES)',
    'cannot start /w/go: no rule grants execute there, or the file is not executable (EACCES)',
    'cannot start /w/go: no rule grants read and execute there, or the file is not executable (EACCES)',
    'cannot start /w/go: the file is not executable (EACCES)',
  ])
  const script = (errno: string): string =>
    new LaunchError({ step: 'exec', errno, item: exec, interpreter: '/opt/i' }).message
  expect([script('EACCES'), script('ENOENT')]).toEqual([
    'cannot start /w/go: it, or its interpreter /opt/i, may not be executed (EACCES)',
    'cannot start /w/go: its interpreter /opt/i is not there inside the sandbox (ENOENT)',
  ])
  const absent = (...withheld: Capability[]): string =>
    new LaunchError({ step: 'exec', errno: 'ENOENT', item: exec, withheld }).message
  expect([absent('read', 'execute'), absent('execute')]).toEqual([
    'cannot start /w/go: no rule grants read and execute there, so it is not there inside the sandbox (ENOENT)',
    // A link that can be read, and leads to what is not there.
    'cannot start /w/go: the program or its interpreter is not there inside the sandbox (ENOENT)',
  ])
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
    `the sandbox could not be built, so nothing was started: bind ${world.root}/d: ELOOP: a link appeared on that path after it was checked\n  fix: try again`,
  )
})

/** The install step and what it builds, in a place of their own. */
function copyLauncher(): string {
  const place = mkdtempSync(join(dir, 'build-'))
  for (const part of ['build.js', 'src'])
    cpSync(join(LAUNCHER_DIR, part), join(place, part), { recursive: true })
  writeFileSync(join(place, 'package.json'), '{"type":"module"}')
  chmodSync(dir, 0o755)
  chmodSync(place, 0o755)
  return place
}

interface Built {
  readonly status: number | null
  readonly said: string
  readonly launcher: string
}

/** What the install step makes of `place`, with a compiler that does for some option what `cases` says, as in `sh`. */
function buildWith(
  cases: Readonly<Record<string, string>>,
  place = copyLauncher(),
  ...args: string[]
): Built {
  const cc = join(place, 'cc')
  const lines = Object.entries(cases).map(([option, does]) => `*' ${option} '*) ${does};;`)
  writeFileSync(cc, `#!/bin/sh\ncase " $* " in ${lines.join(' ')} esac\nexec ${CC} "$@"\n`, { mode: 0o755 })
  const { status, stderr } = spawnSync(process.execPath, [join(place, 'build.js'), ...args], {
    env: { ...process.env, CC: cc },
    encoding: 'utf8',
  })
  return { status, said: stderr, launcher: join(place, 'build/cordon-launch') }
}

const refuse = (option: string): string => `echo "no ${option}" >&2; exit 1`
const NO_STATIC = { '-static-pie': refuse('-static-pie'), '-static': refuse('-static') }

const probe = (launcher: string): string =>
  spawnSync(launcher, [], { argv0: 'cordon-probe', env: {}, encoding: 'utf8' }).stdout

/** Whether the kernel starts the system's dynamic linker for it. */
const isDynamic = (launcher: string): boolean =>
  spawnSync('readelf', ['--program-headers', launcher], { encoding: 'utf8' }).stdout.includes('INTERP')

test('the launcher is static where the system has a static libc, and else dynamic, and it is said which', () => {
  const usual = buildWith({})
  expect(probe(usual.launcher)).toMatch(/^landlock \d+\nseccomp \d+\nnamespace-user \d+\n/)
  const fixed = buildWith({ '-static-pie': refuse('-static-pie') })
  // As musl-gcc does: it ends with success, and what it made cannot run.
  const broken = buildWith({
    '-static-pie': 'for out; do :; done; echo "#!/bin/false" > "$out"; chmod +x "$out"; exit',
  })
  const dynamic = buildWith(NO_STATIC)
  expect(
    [usual, fixed, broken, dynamic].map(({ status, said, launcher }) => [
      status,
      said,
      isDynamic(launcher),
      probe(launcher) === probe(usual.launcher),
    ]),
  ).toEqual([
    [0, '@cordon/sandbox: the launcher is static, at a random address\n', false, true],
    [0, '@cordon/sandbox: the launcher is static\n', false, true],
    [0, '@cordon/sandbox: the launcher is static\n', false, true],
    [0, '@cordon/sandbox: the launcher is dynamic, because there is no static libc\n', true, true],
  ])
})

test('attack: what the environment asks the dynamic linker for is not loaded into a dynamic launcher', async () => {
  const [who] = IDENTITIES
  const { launcher } = buildWith(NO_STATIC)
  const marker = join(dir, 'loaded')
  const source = join(dir, 'preload.c')
  const library = join(dir, 'preload.so')
  writeFileSync(
    source,
    `#include <fcntl.h>\n__attribute__ ((constructor)) static void loaded (void) { open ("${marker}", O_CREAT | O_WRONLY, 0644); }\n`,
  )
  expect(spawnSync(CC, ['-shared', '-fPIC', source, '-o', library]).status).toBe(0)
  const env = { LD_PRELOAD: library, LD_AUDIT: library }
  // It would be, if the launcher were given the environment: else this proves nothing.
  spawnSync(launcher, { env })
  expect(existsSync(marker)).toBe(true)
  rmSync(marker)
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const ready = { state: 'ready', path: launcher } as const
  vi.resetModules() // what the kernel can do is remembered
  const { probeKernel } = await import('@cordon/sandbox')
  const { stdout } = await run({
    who: who!,
    world: makeWorld(who!),
    script: 'echo ran',
    spawn: { launcher: ready },
  })
  expect([stdout, probeKernel(ready).landlockAbi > 0, existsSync(marker)]).toEqual(['ran\n', true, false])
})

test('a compiler that cannot build it is quoted, and the installation succeeds', () => {
  expect(buildWith({ '-O2': refuse('-O2') })).toMatchObject({
    status: 0,
    said: '@cordon/sandbox: the launcher cannot be built here:\nno -O2\n\n',
  })
})

test('a warning is an error in our own builds, and nobody else is kept from the launcher by one', () => {
  const place = copyLauncher()
  writeFileSync(join(place, 'src/warned.c'), 'static int never_used;\n')
  expect([buildWith(NO_STATIC, place).status, existsSync(join(place, 'build/cordon-launch'))]).toEqual([
    0,
    true,
  ])
  rmSync(join(place, 'build'), { recursive: true })
  const { status, said, launcher } = buildWith(NO_STATIC, place, '--strict')
  expect([status, said.includes('[-Werror=unused-variable]'), existsSync(launcher)]).toEqual([1, true, false])
})

test('without a compiler the installation succeeds with a note, and calls say what is missing', async () => {
  const empty = copyLauncher()
  const { status, stderr } = spawnSync(process.execPath, [join(empty, 'build.js')], {
    env: { PATH: empty },
    encoding: 'utf8',
  })
  expect([status, stderr, existsSync(join(empty, 'build/cordon-launch'))]).toEqual([
    0,
    '@cordon/sandbox: warning: no C compiler (ENOENT), so the launcher was not built and nothing can be confined; install one (apt install gcc libc6-dev, or the like), then: npm rebuild @cordon/sandbox\n',
    false,
  ])
  const launcher = findLauncher([join(empty, 'build/cordon-launch')])
  const [who] = IDENTITIES
  await expect(run({ who: who!, world: makeWorld(who!), spawn: { launcher } })).rejects.toThrow(
    new LauncherMissingError({
      state: 'missing',
      why: 'its launcher was not built when the package was installed',
      fix: 'install a C compiler (`apt install gcc libc6-dev` or the like) and run `npm rebuild @cordon/sandbox`',
    }),
  )
})

test('SPEC 4.7 without a launcher one thing is lost, and not for want of Landlock', () => {
  const { lost } = parseProbe({ state: 'missing', why: 'it was not built', fix: 'Build it.' }, '')
  expect(lost).toEqual([
    {
      guarantee: 'workspace-boundary',
      loss: 'nothing can be confined, so nothing runs',
      why: 'it was not built',
      fix: 'Build it.',
    },
  ])
})
