import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type Socket } from 'node:net'
import { join } from 'node:path'
import { type Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { LaunchError, type LauncherState, spawnConfined } from '@cordon/sandbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeItems } from '../src/linux/encode.ts'
import {
  attempts,
  BASE_ENV,
  give,
  IDENTITIES,
  type Identity,
  makeWorld,
  planFor,
  processesWith,
  reachableLauncher,
  removeWorlds,
  type Request,
  run,
  scratchDir,
  start,
  type World,
} from './confine.ts'

afterAll(removeWorlds)

/**
 * Issue 4: the launcher under the address and undefined-behaviour sanitizers, all of it and not the parser alone. Every plan
 * goes through the usual launcher and the sanitised one; what the host sees must be the same, and a report of a sanitizer
 * ends the process that made it, so that it cannot be the same after one.
 */
const SOURCES = fileURLToPath(new URL('../launcher/src', import.meta.url))
const CC = process.env['CC'] ?? 'cc'
const FLAGS = ['-g', '-O1', '-Wall', '-Wextra', '-Werror', '-std=c11', '-D_GNU_SOURCE']
const SANITIZERS = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-fno-omit-frame-pointer']

/** Reads one byte too many in the process that FAULT names, to prove that a report would be seen. */
const FAULTS = `
#include <stdlib.h>
#include <string.h>
struct plan;
static volatile char seen;
static char wanted[16];
static int at;
__attribute__ ((constructor)) static void remember (void) {
  if (getenv ("FAULT")) strncpy (wanted, getenv ("FAULT"), sizeof wanted - 1);
  if (getenv ("AT")) at = atoi (getenv ("AT"));
}
static void fault (const char *where) {
  char *one = calloc (8, 1);
  if (strcmp (wanted, where) == 0) seen = one[at];
  free (one);
}
int __real_plan_read (int, unsigned char **, size_t *);
int __wrap_plan_read (int fd, unsigned char **bytes, size_t *size) { fault ("supervisor"); return __real_plan_read (fd, bytes, size); }
void __real_init_run (const struct plan *);
void __wrap_init_run (const struct plan *plan) { fault ("pid 1"); __real_init_run (plan); }
void __real_confine_and_exec (const struct plan *, int);
void __wrap_confine_and_exec (const struct plan *plan, int gate) { fault ("tool"); __real_confine_and_exec (plan, gate); }
`
const WRAPPED = ['plan_read', 'init_run', 'confine_and_exec'].map((name) => `-Wl,--wrap=${name}`)

let sanitised: LauncherState
let faulty: LauncherState

beforeAll(() => {
  const dir = scratchDir()
  writeFileSync(join(dir, 'faults.c'), FAULTS)
  const cc = (...args: string[]): void => {
    const { status, stderr } = spawnSync(CC, args, { cwd: dir, encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
  }
  const names = readdirSync(SOURCES).filter((name) => name.endsWith('.c'))
  cc(...FLAGS, ...SANITIZERS, '-c', ...names.map((name) => join(SOURCES, name)), 'faults.c')
  const objects = names.map((name) => name.replace(/c$/, 'o'))
  cc(...SANITIZERS, ...objects, '-o', 'sanitised')
  cc(...SANITIZERS, ...WRAPPED, ...objects, 'faults.o', '-o', 'faulty')
  const ready = (name: string): LauncherState => {
    chmodSync(join(dir, name), 0o755)
    return { state: 'ready', path: join(dir, name) }
  }
  sanitised = ready('sanitised')
  faulty = ready('faulty')
})

/** pid 1 has no stderr of its own, so reports go to a file: at a path that is the same before and after pivot_root. */
function sanitizerEnv({ root }: World): Record<string, string> {
  const log = `log_path=${root}/sanitizer:abort_on_error=1`
  return { ASAN_OPTIONS: `${log}:detect_leaks=0`, UBSAN_OPTIONS: `${log}:print_stacktrace=1` }
}

/** The launcher gets no environment from the host, so who needs one is started by a script that sets it. */
function inWorld(
  launcher: LauncherState,
  world: World,
  more: Readonly<Record<string, string>> = {},
): LauncherState {
  if (launcher.state === 'missing') return launcher
  const path = join(scratchDir(), 'launcher')
  const set = Object.entries({ ...sanitizerEnv(world), ...more }).map(
    ([name, value]) => `export ${name}='${value}'`,
  )
  writeFileSync(path, ['#!/bin/bash', ...set, `exec -a cordon-launch ${launcher.path}`, ''].join('\n'))
  chmodSync(path, 0o755)
  return { state: 'ready', path }
}

function reportsIn({ root }: World): readonly string[] {
  const names = readdirSync(root).filter((name) => name.startsWith('sanitizer.'))
  return names.map((name) => readFileSync(join(root, name), 'utf8'))
}

type Scene = Omit<Request, 'who' | 'world'> & {
  readonly files?: Readonly<Record<string, string>>
  /** What changes between the survey and the start. */
  readonly prepare?: (world: World) => void
}

/** All that the host can tell of a run, without what differs between two worlds. */
async function outcomeOf(who: Identity, scene: Scene, launcher: LauncherState): Promise<unknown> {
  const world = makeWorld(who, scene.files)
  scene.prepare?.(world)
  give(who, world.dir)
  const spawnOptions = { ...scene.spawn, launcher: inWorld(launcher, world) }
  const outcome = await run({ ...scene, who, world, spawn: spawnOptions }).then(
    ({ stdout, stderr, code, signal, createdDenied, pressure }) => ({
      stdout,
      stderr,
      code,
      signal,
      pressure,
      moved: createdDenied.map(({ path, movedTo }) => [path, movedTo]),
    }),
    (error: unknown) => (error instanceof LaunchError ? { failed: error.message } : Promise.reject(error)),
  )
  expect(reportsIn(world)).toEqual([])
  return JSON.parse(JSON.stringify(outcome).replaceAll(world.dir, '<dir>'))
}

const RWX = { read: true, write: true, execute: true }

const serve: Request['spawn'] = {
  onSocket: ({ serves }, handle) => {
    if (serves === 'proxy') handle.on('connection', (socket: Socket) => socket.end('from host'))
    handle.unref()
  },
}

/** The sanitizer's shadow counts as data: with the usual limit in force not even a failed exec could be reported. */
const ROOM_TO_REPORT = { memory: 2 ** 46 }

const SCENES: Readonly<Record<string, Scene>> = {
  'the default policy': {
    files: { a: 'one', '~/.ssh/id_rsa': 'KEY' },
    script: 'cat a ~/.ssh/id_rsa; echo b > b; cat b; cat /etc/shadow; ls -A ~ /dev; pwd; exit 7',
  },
  'rules that narrow, deny and grant again, and a mount': {
    files: {
      '.env': 'S',
      'src/a': 'a',
      'vault/key': 'k',
      'vault/pub/a': 'p',
      '~/fork/f': 'f',
      'x/y/z/.env': 'S',
    },
    prepare: (world) => symlinkSync(join(world.home, 'fork'), join(world.root, 'fork')),
    access: {
      fs: [
        { path: '.', ...RWX },
        ...['.env', 'vault', 'x/y/z/.env', 'not-yet', 'up/not-yet'].map((path) => ({ path })),
        { path: 'src', read: true },
        { path: 'vault/pub', ...RWX },
      ],
    },
    script: `${attempts('cat .env', 'cat src/a', 'echo x > src/a', 'ls vault', 'cat vault/pub/a', 'mv x x2', 'cat fork/f')}
      echo planted > not-yet; mkdir up; ln -s /etc up/not-yet`,
  },
  'rules for parts only': {
    files: { 'a/x': 'x', 'b/y': 'y', c: 'c' },
    access: {
      fs: [
        { path: 'a', ...RWX },
        { path: 'c', read: true },
      ],
    },
    script: 'ls -A; cat a/x c b/y; touch t',
  },
  'sockets handed to the host, addresses of its own, and files from memory': {
    access: {
      net: ['example.com', '10.0.0.5', '[fd00::5]', 'localhost'].map((host) => ({ host, allow: true })),
    },
    argv: [
      '/usr/bin/python3',
      '-c',
      "import socket; print(socket.create_connection(('127.0.0.1', 3128), 60).recv(20)); print(open('/run/cordon/x').read())",
    ],
    spawn: { ...serve, files: new Map([['/run/cordon/x', 'text\n'.repeat(20_000)]]) },
  },
  'unix sockets of its own, and the session kept': {
    plan: { unixSockets: 'private' },
    argv: [
      '/usr/bin/python3',
      '-c',
      "import socket, os; s = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); print(os.getsid(0) == os.getpid())",
    ],
    spawn: { terminal: 'keep' },
  },
  'Landlock alone': {
    files: { a: 'a', '~/x': 'x' },
    plan: { simulate: { userns: false } },
    script: `${attempts('cat a', 'cat ~/x', 'echo b > b', 'touch /tmp/x', 'unshare -Ur true')}; exit 4`,
  },
  'Landlock alone, with daemons to kill': {
    plan: { simulate: { userns: false } },
    script: 'for i in 1 2 3 4 5 6 7 8 9; do (setsid sleep 4711 >/dev/null 2>&1 &); done; sleep 0.1; exit 3',
  },
  'limits of files, processes, memory and /tmp': {
    plan: { limits: { processes: 60, memory: 256 * 1024 * 1024, tmp: 4 * 1024 * 1024, files: 64 } },
    script: 'ulimit -n; head -c 9000000 /dev/zero > /tmp/x; ulimit -d',
  },
  'death by a signal': { script: 'kill -SEGV $$' },
  'a daemon left behind': { script: '(setsid sleep 4711 >/dev/null 2>&1 &); echo done' },
  'a directory that is not there': { spawn: { cwd: '/nowhere' } },
  'a program that may not be executed': {
    files: { run: '#!/bin/sh\n' },
    access: { fs: [{ path: '.', read: true }] },
    prepare: ({ root }) => chmodSync(join(root, 'run'), 0o755),
    argv: ['./run'],
    plan: { limits: ROOM_TO_REPORT },
  },
  'an interpreter that is not there': {
    files: { run: '#!/no/such/interpreter\n' },
    prepare: ({ root }) => chmodSync(join(root, 'run'), 0o755),
    argv: ['./run'],
    plan: { limits: ROOM_TO_REPORT },
  },
}

describe.each(IDENTITIES)('the sanitised launcher as $name', (who) => {
  test.each(Object.entries(SCENES))('does the same and no sanitizer complains: %s', async (_name, scene) => {
    const [usual, checked] = await Promise.all([
      outcomeOf(who, scene, reachableLauncher()),
      outcomeOf(who, scene, sanitised),
    ])
    expect(checked).toEqual(usual)
    expect(await processesWith('sleep\x004711')).toEqual([])
  })

  test('does the same and no sanitizer complains: signals from the host', async () => {
    for (const [sent, end] of [
      ['SIGTERM', { code: 5, signal: null }],
      ['SIGWINCH', { code: 6, signal: null }],
      ['SIGKILL', { code: null, signal: 'SIGKILL' }],
    ] as const)
      for (const launcher of [reachableLauncher(), sanitised]) {
        const world = makeWorld(who)
        const script = "trap 'exit 5' TERM; trap 'exit 6' WINCH; echo ready; while :; do sleep 0.05; done"
        const confined = start({ who, world, script, spawn: { launcher: inWorld(launcher, world) } })
        confined.stdout!.once('data', () => confined.kill(sent))
        expect(await confined.exit).toMatchObject(end)
        expect(reportsIn(world)).toEqual([])
      }
  })

  test('does the same and no sanitizer complains: a link put in the way after planning', async () => {
    for (const launcher of [reachableLauncher(), sanitised]) {
      const world = makeWorld(who, { 'd/a': 'a' })
      const fs = [
        { path: '.', read: true },
        { path: 'd', ...RWX },
      ]
      const plan = planFor({ who, world, access: { fs } })
      rmSync(join(world.root, 'd'), { recursive: true })
      symlinkSync('/etc', join(world.root, 'd'))
      const confined = spawnConfined(plan, {
        argv: ['sh'],
        env: BASE_ENV,
        launcher: inWorld(launcher, world),
        ...(who.as ? { as: who.as } : {}),
      })
      await expect(confined.exit).rejects.toMatchObject({ step: 'bind', errno: 'ELOOP' })
    }
  })

  test('a fault in any of its three processes would have been seen', async () => {
    for (const FAULT of ['supervisor', 'pid 1', 'tool']) {
      const world = makeWorld(who)
      const launcher = inWorld(faulty, world, { FAULT, AT: '8' })
      const { code, stderr } = await run({ who, world, spawn: { launcher } })
      expect({ FAULT, failed: code !== 0 }).toEqual({ FAULT, failed: true })
      // Whichever sanitizer saw it first.
      expect([...reportsIn(world), stderr].join('')).toMatch(/heap-buffer-overflow|insufficient space/)
    }
  })
})

test('the sanitised launcher answers the probe like the usual one', () => {
  const ask = (launcher: LauncherState): unknown => {
    if (launcher.state === 'missing') return undefined
    const { stdout, stderr, status } = spawnSync(launcher.path, [], {
      argv0: 'cordon-probe',
      encoding: 'utf8',
      env: { ASAN_OPTIONS: 'detect_leaks=0:abort_on_error=1' },
    })
    return { stdout, stderr, status }
  }
  expect(ask(sanitised)).toEqual(ask(reachableLauncher()))
})

/** Bytes on the launcher's socket, as nobody would send them; what it said, and how it ended. */
async function feed(
  launcher: LauncherState,
  bytes: Buffer,
  world: World,
  end: 'end' | 'stay',
): Promise<string> {
  if (launcher.state === 'missing') return ''
  const child = spawn(launcher.path, [], {
    argv0: 'cordon-launch',
    cwd: '/',
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    env: sanitizerEnv(world),
  })
  const channel = child.stdio[3] as Duplex
  channel.on('error', () => {})
  channel.write(bytes)
  if (end === 'end') channel.end()
  const closed = new Promise<string>((done) =>
    child.once('close', (code, signal) => done(`${code} ${signal}`)),
  )
  const [said, ended] = await Promise.all([text(channel).catch(() => ''), closed])
  return `${said.replaceAll(/^(?:usage|inside) .*\n/gm, '')}${ended}`
}

test('plans that are cut off, altered or made up end both launchers in the same way', async () => {
  const who = IDENTITIES[0]!
  const world = makeWorld(who, { '.env': 'S', 'vault/pub/a': 'p', 'src/a': 'a' })
  const fs = [{ path: '.', ...RWX }, { path: '.env' }, { path: 'vault' }, { path: 'vault/pub', ...RWX }]
  const plan = planFor({ who, world, access: { fs }, argv: ['/bin/true'] })
  const whole = encodeItems([
    ...plan.items.filter((item) => item.tag !== 'limit'),
    { tag: 'limit', limit: 'core', value: 0 },
    { tag: 'cwd', path: '/' },
    { tag: 'exec', path: plan.survey.exe },
    { tag: 'arg', text: 'true' },
  ])
  const both = async (bytes: Buffer, end: 'end' | 'stay'): Promise<readonly string[]> =>
    Promise.all([reachableLauncher(), sanitised].map((launcher) => feed(launcher, bytes, world, end)))
  expect(await both(whole, 'stay')).toEqual(Array(2).fill('exit code=0\n0 null'))
  const seen = new Set<string>()
  const compare = async (bytes: Buffer, end: 'end' | 'stay'): Promise<void> => {
    const [usual, checked] = await both(bytes, end)
    expect(checked).toBe(usual)
    seen.add(usual!.split(' ').slice(0, 2).join(' '))
  }
  for (let i = 0; i < 10; i++) await compare(whole.subarray(0, Math.floor((whole.length * i) / 10)), 'end')
  // In turn a field of a record and a character of a string; sizes are left alone mostly, the parser would stop at them.
  const [records, strings] = [12, 12 + 24 * whole.readUInt32LE(8)]
  for (let i = 0; i < 80; i++) {
    const altered = Buffer.from(whole)
    const record = records + 24 * ((i * 7) % ((strings - records) / 24))
    const at = i % 2 === 0 ? record + ((i * 3) % 18) : strings + ((i * 7919) % (whole.length - strings))
    altered[at]! ^= 1 << (i % 8)
    await compare(altered, 'stay')
  }
  await compare(Buffer.from([255, 255, 255, 255]), 'end')
  expect(reportsIn(world)).toEqual([])
  // The alterations must have gone further than the parser, or this compared little.
  expect(seen.size).toBeGreaterThan(6)
})
