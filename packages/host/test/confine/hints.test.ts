import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AccessPolicy,
  CAPABILITIES,
  openAmbientRoot,
  parseAccessPolicy,
  parseRelPath,
  shellWord,
} from '@cordon/policy'
import { whyNotOutside } from '@cordon/sandbox'
import { describe, expect, test } from 'vitest'
import type { HintFacts } from '../../src/confine/hint.ts'
import { findHints } from '../../src/confine/hints.ts'
import { wayOut } from '../../src/outside/place.ts'
import { realName } from '../../src/real-name.ts'
import { findLimits } from '../../src/confine/limits.ts'
import { mentionedInCommand, mentionedInErrors } from '../../src/confine/mentions.ts'

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-hints-')))
const home = join(dir, 'home')
const root = join(home, 'work')
for (const path of ['.ssh', 'work/src', 'work/secret', '.cargo'])
  mkdirSync(join(home, path), { recursive: true })
for (const path of [
  '.ssh/id_rsa',
  '.gitconfig',
  '.npmrc',
  'work/src/a.ts',
  'work/.env',
  'work/run.sh',
  'work/secret/k',
])
  writeFileSync(join(home, path), '')

symlinkSync('../.ssh/id_rsa', join(root, 'key'))

const NARROW = parseAccessPolicy({
  fs: [
    { path: '.', read: true },
    { path: 'src', read: true, update: true },
    { path: '.env' },
    { path: 'secret' },
  ],
  net: [
    { host: 'ok.example.com', allow: true },
    { host: 'part.example.com', path_prefix: '/repo.git', allow: true },
    { host: 'b\u00fccher.example', allow: true },
  ],
  env: [{ name: 'GRANTED', read: true }],
})
const WIDE = parseAccessPolicy({
  fs: [{ path: '.', read: true, write: true, execute: true }],
  net: [{ host: 'denied.invalid' }],
  env: [{ name: 'GRANTED', read: true }],
})

const facts = (policy: AccessPolicy): HintFacts => ({
  root: openAmbientRoot(root),
  policy,
  outside: [],
  cwd: root,
  home,
  exists: (path) => existsSync(path),
  isGuarded: () => false,
  whyPinned: (path) => (path === join(root, 'src') ? 'it is pinned' : undefined),
  isNamed: () => false,
  isSensitive: (path) => path.includes('/.ssh/'),
  wayOut: (path) => wayOut(path, root),
  realName: (path) => realName(path) ?? path,
  isProgram: (path) => path.endsWith('/run.sh'),
  isVisible: (path) => /^\/(?:usr|etc|proc)(?:\/|$)/.test(path) || root.startsWith(path) || path === '/tmp',
  isTheWay: () => false,
  isSecret: (path) => path === '/etc/shadow',
  hasVariable: (name) => ['GRANTED', 'API_TOKEN', 'PATH', 'HOME'].includes(name),
  whyNever: (path, wanted) => whyNotOutside(path, { writes: wanted === 'write', home }),
  mayUse: () => true,
  canHoldHosts: true,
  hidesOutside: true,
  isKnown: (host) => host === 'known.example.com',
})

const said = (policy: AccessPolicy, text: string): string[] =>
  findHints([mentionedInErrors(text)], facts(policy)).map((hint) => hint.text)

const typed = (policy: AccessPolicy, ...argv: string[]): string[] =>
  findHints([mentionedInCommand(argv)], facts(policy)).map((hint) => hint.text)

const key = '~/.ssh/id_rsa exists on the host, and is not granted'

describe('SPEC 4.7 real messages and what they mean', () => {
  const file = join(home, '.ssh/id_rsa')
  test.each<[string, AccessPolicy, string, string[]]>([
    ['cat', WIDE, `cat: ${file}: No such file or directory`, [key]],
    ['cat with a tilde', WIDE, `cat: '~/.ssh/id_rsa': No such file or directory`, [key]],
    ['bash', WIDE, `bash: line 1: ${file}: No such file or directory`, [key]],
    ['ssh', WIDE, `Warning: Identity file ${file} not accessible: No such file or directory.`, [key]],
    ['python', WIDE, `FileNotFoundError: [Errno 2] No such file or directory: '${file}'`, [key]],
    ['node', WIDE, `Error: ENOENT: no such file or directory, open '${file}'`, [key]],
    ['git', WIDE, `fatal: could not read '${file}': No such file or directory`, [key]],
    [
      'cargo',
      WIDE,
      `error: could not load credentials from \`${join(home, '.cargo')}\`: not found`,
      ['~/.cargo exists on the host, and is not granted'],
    ],
    [
      'shadow',
      WIDE,
      'cat: /etc/shadow: Permission denied',
      ['/etc/shadow is withheld from every confined program'],
    ],
    [
      'sh, into the system',
      WIDE,
      'sh: 1: cannot create /etc/foo: Read-only file system',
      [
        '/etc is not granted to be written, and no flag grants it: /etc belongs to the system, or holds much more than one project',
      ],
    ],
    [
      'cat hidden',
      NARROW,
      'cat: .env: Permission denied',
      ['.env: read denied: the rule for .env does not grant read'],
    ],
    [
      'ls here',
      parseAccessPolicy({ fs: [{ path: 'src', read: true }] }),
      "ls: cannot open directory '.': Permission denied",
      ['.: read denied: no rule covers that path'],
    ],
    [
      'a host in another script',
      WIDE,
      'could not connect to https://b\u00fccher.example/x',
      ['network access to xn--bcher-kva.example is denied: no rule covers xn--bcher-kva.example:443'],
    ],
    [
      'ls hidden',
      NARROW,
      "ls: cannot open directory 'secret': Permission denied",
      ['secret: read denied: the rule for secret does not grant read'],
    ],
    [
      'touch',
      NARROW,
      "touch: cannot touch 'src/new': Permission denied",
      ['src/new: create denied: the rule for src does not grant create'],
    ],
    [
      'dash',
      NARROW,
      'sh: 1: cannot create build/x: Read-only file system',
      ['build/x: create denied: the rule for . does not grant create'],
    ],
    [
      'node EROFS',
      NARROW,
      "Error: EROFS: read-only file system, open 'package-lock.json'",
      ['package-lock.json: create denied: the rule for . does not grant create'],
    ],
    [
      'bash exec',
      NARROW,
      'bash: ./run.sh: Permission denied',
      ['run.sh: execute denied: the rule for . does not grant execute'],
    ],
    [
      'curl',
      WIDE,
      'curl: (6) Could not resolve host: example.com',
      ['network access to example.com is denied: no rule covers example.com:443'],
    ],
    [
      'git https',
      WIDE,
      "fatal: unable to access 'https://github.com/a/b.git/': Could not resolve host: github.com",
      ['network access to github.com is denied: no rule covers github.com:443'],
    ],
    [
      'npm',
      WIDE,
      'npm error request to https://packages.example.org/left-pad failed, reason: getaddrinfo EAI_AGAIN packages.example.org',
      ['network access to packages.example.org is denied: no rule covers packages.example.org:443'],
    ],
    [
      'cargo net',
      WIDE,
      'error: failed to get `serde`\nCaused by:\n  [6] Could not resolve hostname (Could not resolve host: index.crates.io)',
      ['network access to index.crates.io is denied: no rule covers index.crates.io:443'],
    ],
    [
      'node fetch',
      WIDE,
      'fetch http://a.example.com:8080/x\n[cause]: Error: getaddrinfo ENOTFOUND a.example.com',
      ['network access to a.example.com:8080 is denied: no rule covers a.example.com:8080'],
    ],
    [
      'bash -u',
      WIDE,
      'bash: line 1: API_TOKEN: unbound variable',
      ['the variable API_TOKEN is set on the host, and not granted'],
    ],
    [
      'python env',
      WIDE,
      "KeyError: 'API_TOKEN'",
      ['the variable API_TOKEN is set on the host, and not granted'],
    ],
    [
      'words',
      WIDE,
      'Error: environment variable API_TOKEN is not set',
      ['the variable API_TOKEN is set on the host, and not granted'],
    ],
  ])('%s', (_, policy, text, hints) => {
    expect(said(policy, text)).toEqual(hints)
  })
})

describe('what is granted, shown or not to blame is not suggested', () => {
  test.each<[string, AccessPolicy, string]>([
    ['a granted path', WIDE, 'cat: src/a.ts: Permission denied'],
    ['a path that is nowhere', WIDE, `cat: ${home}/nothing: No such file or directory`],
    ['a mount that only root may make', WIDE, `mount: ${home}/.cargo: permission denied.`],
    ['a system path', WIDE, 'cat: /usr/bin/nothing: No such file or directory'],
    ['a private place', WIDE, 'cp: cannot stat /tmp: No such file or directory'],
    ['a directory above the workspace', WIDE, `ls: cannot open directory '${home}': Permission denied`],
    ['a stack trace', NARROW, `    at run (${root}/src/a.ts:3:1)\n    at ${home}/.npmrc`],
    ['a compiler error', NARROW, 'src/a.ts:3:1 - error TS2304: Cannot find name'],
    ['a URL in a message', WIDE, 'see https://docs.example.com/errors for help'],
    ['a granted host', NARROW, 'curl: (7) Failed to connect to ok.example.com: https://ok.example.com/'],
    [
      'a granted part of a host',
      NARROW,
      'fatal: https://part.example.com/repo.git/info/refs: could not connect',
    ],
    ['a host of which a part is granted', NARROW, 'Could not resolve host: part.example.com'],
    ['a granted host in another script', NARROW, 'could not connect to https://b\u00fccher.example/'],
    ['what the proxy already said', WIDE, 'Could not resolve host: known.example.com'],
    ['a granted variable', WIDE, 'GRANTED is not set'],
    ['a variable the host has not', WIDE, 'OTHER_TOKEN is not set'],
    ['a minimal variable', WIDE, 'PATH is not set'],
    ['a variable in passing', WIDE, 'using API_TOKEN from the vault'],
  ])('%s', (_, policy, text) => {
    expect(said(policy, text)).toEqual([])
  })
})

describe('the command line, when nothing else is known', () => {
  test('names what is outside or hidden', () => {
    expect(typed(WIDE, 'cat', join(home, '.ssh/id_rsa'))).toEqual([key])
    expect(typed(WIDE, 'ssh', '-i', join(home, '.ssh/id_rsa'), 'host')).toEqual([key])
    expect(typed(WIDE, 'tool', `--key=${join(home, '.ssh/id_rsa')}`)).toEqual([key])
    expect(typed(WIDE, 'sh', '-c', `cat <${join(home, '.ssh/id_rsa')}; ls ~/.ssh/id_rsa`)).toEqual([key])
    expect(typed(NARROW, 'cat', '.env')).toEqual(['.env: read denied: the rule for .env does not grant read'])
    expect(typed(WIDE, 'curl', 'https://example.com/x')).toEqual([
      'network access to example.com is denied: no rule covers example.com:443',
    ])
  })

  test('and not what is granted, though the program failed', () => {
    expect(typed(NARROW, 'node', 'src/a.ts', 'run.sh', '--flag', '/usr/bin')).toEqual([])
    expect(typed(WIDE, 'mount', '/dev/sda', join(home, '.cargo'))).toEqual([])
    expect(typed(NARROW, 'node', '-e', 'throw .env/away or src/a.ts away')).toEqual([])
  })
})

test('SPEC 4.7 the script that complains, and its line, are not what was denied; nor is the program', () => {
  const paths = (line: string) => [...new Set(mentionedInErrors(line).paths.map(({ path }) => path))]
  const script = '/home/u/my work/build.sh'
  for (const who of [
    `${script}: 2`,
    `${script}: line 2`,
    `${script}:2`,
    './build.sh: 12',
    'sub/build.sh: line 3',
  ])
    expect(paths(`${who}: cannot create out.o: Read-only file system`)).toEqual(['out.o'])
  expect(paths('./build.sh: line 2: out.o: Read-only file system')).toEqual(['out.o'])
  expect(paths('./build.sh: line 2: ./a/s: Permission denied')).toEqual(['./a/s'])
  expect(paths('src/a.c:3:10: fatal error: inc/b.h: Permission denied')).toEqual(['inc/b.h'])
  expect(paths('./bin/tool: cannot open out/x.o: Permission denied')).toEqual(['out/x.o'])
  expect(paths('/usr/bin/tee: out.o: Permission denied')).toEqual(['out.o'])
  expect(paths('bash: line 1: exec: /w/x.sh: cannot execute: Permission denied')).toEqual(['/w/x.sh'])
  expect(paths('ld: error: cannot open out.o: Permission denied')).toEqual(['out.o'])
  // Nothing else is named: then it is the path.
  expect(paths('./bin/tool: Permission denied')).toEqual(['./bin/tool'])
})

test('says each thing once, and not too much', () => {
  const lines = Array.from({ length: 50 }, (_, i) => `Could not resolve host: h${i}.example.com`)
  expect(said(WIDE, [...lines, ...lines].join('\n'))).toHaveLength(5)
  expect(said(WIDE, 'Could not resolve host: a.example.com\n'.repeat(9))).toHaveLength(1)
})

test.each([
  ['a'.repeat(1 << 20)],
  ['a.'.repeat(1 << 19)],
  [`Permission denied ${'/a'.repeat(1 << 19)}`],
  [`resolve ${'a-'.repeat(1 << 19)}`],
  ['A_'.repeat(1 << 19)],
  ["Permission denied '".repeat(1 << 15)],
  ['ENOENT: : : : '.repeat(1 << 16)],
  ['http://'.repeat(1 << 17)],
  ['\u0000\u001b[2J\ud800'.repeat(1 << 17)],
])('one MiB of junk ends: %#', (junk) => {
  const hints = findHints([mentionedInErrors(junk), mentionedInCommand(['x', junk])], facts(NARROW))
  expect(hints.length).toBeLessThanOrEqual(5)
})

test('of a long output only the hosts near a complaint are meant', () => {
  const source = ['# see https://docs.example/x', 'proxies = "http://proxy/"', 'a', 'b', 'c']
  const trouble = ['OSError: could not connect', 'while asking http://db.example:81/', 'a', 'b']
  expect(mentionedInErrors([...source, ...trouble, ...source].join('\n')).hosts).toEqual([
    { scheme: 'http', host: 'db.example', port: '81', path: '/' },
  ])
})

test('a URL that git only writes down was asked for nothing; one that it goes to was', () => {
  const hosts = (...argv: string[]) => mentionedInCommand(argv).hosts.map(({ host }) => host)
  expect(hosts('git', 'remote', 'add', 'origin', 'https://example.com/r')).toEqual([])
  expect(hosts('/usr/bin/git', 'remote', 'set-url', 'origin', 'https://example.com/r')).toEqual([])
  expect(hosts('git', 'config', 'remote.origin.url', 'https://example.com/r')).toEqual([])
  expect(hosts('git', 'clone', 'https://example.com/r')).toEqual(['example.com'])
  expect(hosts('git', 'submodule', 'add', 'https://example.com/r')).toEqual(['example.com'])
})

test('the fix is one that works: for what is not there yet, the directory it would be made in', () => {
  const fixes = (text: string) => findHints([mentionedInErrors(text)], facts(NARROW)).map((hint) => hint.fix)
  expect(fixes("touch: cannot touch 'src/new': Permission denied")).toEqual(['--write src'])
  expect(fixes('sh: 1: cannot create build/x: Read-only file system')).toEqual(['--write .'])
  expect(fixes('sh: 1: cannot create notes: Read-only file system')).toEqual(['--write .'])
  expect(fixes('cat: .env: Permission denied')).toEqual(['--read .env'])
  expect(fixes('bash: ./run.sh: Permission denied')).toEqual(['--execute run.sh'])
  // What cannot be run was to be changed.
  expect(fixes('bash: package.json: Permission denied')).toEqual(['--write .'])
  expect(fixes('bash: key: Permission denied')).toEqual([undefined])
})

test('no flag is suggested that would be refused: for a link that leads out, and for a mount that waits', () => {
  const mount = parseAccessPolicy({ fs: [{ path: 'key', external: true, read: true }] })
  const hints = (policy: AccessPolicy) => findHints([mentionedInCommand(['cat', 'key'])], facts(policy))
  expect(hints(WIDE)).toEqual([
    {
      about: 'key',
      text: 'key: read denied: path escapes the workspace: key',
      fix: undefined,
      question: { axis: 'fs', capability: 'read', target: 'key' },
      audience: 'person',
    },
  ])
  expect(hints(mount)).toEqual([
    {
      about: 'key',
      text: 'key: read denied: where the mount key leads is not approved, so it grants nothing',
      fix: 'cordon policy compile',
      question: { axis: 'fs', capability: 'read', target: 'key' },
      audience: 'person',
    },
  ])
})

test('SPEC 4.7 where no host can be held, no flag for one is named', () => {
  const without = { ...facts(WIDE), canHoldHosts: false }
  expect(findHints([mentionedInErrors('Could not resolve host: a.example.com')], without)).toMatchObject([
    {
      text: 'network access to a.example.com is denied: no rule covers a.example.com:443; without namespaces no host can be allowed on this machine, and cordon doctor says how to get them',
      fix: undefined,
    },
  ])
})

test('SPEC 4.9 what a rule denies on purpose, or a person said no to, is not suggested again', () => {
  const file = join(home, '.ssh/id_rsa')
  const denied = (origin: string) =>
    findHints([mentionedInErrors(`cat: ${file}: Permission denied`)], {
      ...facts(WIDE),
      outside: [
        { outside: true, path: parseRelPath(file.slice(1)), grants: new Set(), external: false, origin },
      ],
    }).map(({ text, fix }) => [text, fix])
  expect(denied('config.toml:2:3')).toEqual([
    ['~/.ssh/id_rsa is denied by the rule at config.toml:2:3', undefined],
  ])
  expect(denied('--read ~/.ssh/id_rsa')).toEqual([
    ['~/.ssh/id_rsa is not granted: that was asked, and the answer was no', undefined],
  ])
  const policy: AccessPolicy = {
    ...NARROW,
    fs: NARROW.fs.map((rule) => ({ ...rule, origin: 'config.toml:1:1' })),
  }
  expect(findHints([mentionedInErrors('cat: .env: Permission denied')], facts(policy))).toMatchObject([
    { fix: undefined },
  ])
})

test('SPEC 4.8 what is granted by itself is not replaced: saving by a rename needs its directory, where that can be granted', () => {
  const mounted = (target: string): AccessPolicy => ({
    ...WIDE,
    fs: [
      {
        path: parseRelPath('m'),
        grants: new Set(CAPABILITIES),
        external: true,
        approvedTarget: target,
      },
    ],
  })
  const hint = (target: string, text: string) =>
    findHints([mentionedInErrors(text)], facts(mounted(target))).map(({ fix, place }) => [fix, place?.path])
  const node = (path: string): string => `EBUSY: resource busy or locked, rename '${path}.1.tmp' -> '${path}'`
  const inCargo = join(home, '.cargo/notes.json')
  expect(hint(inCargo, node(inCargo))).toEqual([['--write ~/.cargo', join(home, '.cargo')]])
  // GNU sed names its temporary file alone.
  const sed = `sed: cannot rename ${home}/.cargo/sedAB12cd: Device or resource busy`
  expect(hint(inCargo, sed)).toEqual([['--write ~/.cargo', join(home, '.cargo')]])
  const inHome = join(home, 'notes.json')
  expect(hint(inHome, node(inHome))).toEqual([[undefined, undefined]])
  expect(findHints([mentionedInErrors(node(inHome))], facts(mounted(inHome)))[0]!.text).toBe(
    '~/notes.json is granted by itself, so it is written in place and not replaced: saving by a rename needs its directory, which is not to be granted; keep it in a directory of its own',
  )
})

test('SPEC 4.7 a URL that git only writes down says nothing about the network; one that it fetches does', () => {
  const url = 'https://github.com/a/b'
  const hostsOf = (...words: string[]): unknown =>
    mentionedInCommand(['/usr/bin/git', ...words]).hosts.map(({ host }) => host)
  expect(hostsOf('remote', 'add', 'origin', url)).toEqual([])
  expect(hostsOf('remote', 'set-url', 'origin', url)).toEqual([])
  expect(hostsOf('config', 'remote.origin.url', url)).toEqual([])
  expect(hostsOf('remote', 'add', '-f', 'origin', url)).toEqual(['github.com'])
  expect(hostsOf('submodule', 'add', url)).toEqual(['github.com'])
  expect(hostsOf('clone', url)).toEqual(['github.com'])
  expect(mentionedInCommand(['curl', 'remote', 'add', url]).hosts).toHaveLength(1)
})

test('a granted path that does not exist is not there to be granted: the directory above decides', () => {
  const policy = parseAccessPolicy({
    fs: [
      { path: '.', read: true },
      { path: 'build/out', read: true, write: true },
    ],
  })
  const asked = "mkdir: cannot create directory 'build/out/x': Read-only file system"
  expect(findHints([mentionedInErrors(asked)], facts(policy))).toEqual([
    {
      about: 'build/out/x',
      text: 'build/out/x: the rule for build/out holds only once it exists, and . does not grant create',
      fix: 'mkdir -p build/out',
      audience: 'anyone',
    },
  ])
  expect(said(WIDE, "touch: cannot touch 'new': Permission denied")).toEqual([])
})

test('a path with a rule of its own is not removed, whatever the rule grants: that is said, and no capability that it lacks', () => {
  const own = (grants: object): AccessPolicy => parseAccessPolicy({ fs: [{ path: 'src/a.ts', ...grants }] })
  const text =
    'src/a.ts has a rule of its own, so it can be changed in place, and not be removed or replaced: that is for a rule of src'
  for (const error of ['Read-only file system', 'Device or resource busy'])
    expect(said(own({ read: true, write: true }), `rm: cannot remove 'src/a.ts': ${error}`)).toEqual([text])
  expect(said(own({ delete: true }), `rm: cannot remove 'src/a.ts': Device or resource busy`)).toEqual([
    `${text}, and it does not grant update`,
  ])
  // Where what is around it grants the same, nothing is mounted there.
  const same = parseAccessPolicy({
    fs: [
      { path: 'src', write: true },
      { path: 'src/a.ts', write: true },
    ],
  })
  expect(said(same, `rm: cannot remove 'src/a.ts': Device or resource busy`)).toEqual([])
})

test('SPEC 4.7 a directory that a mount keeps where it is, when it was to be moved or removed', () => {
  const pinned = { about: 'src', text: 'src: it is pinned', fix: undefined, audience: 'anyone' }
  const hints = (text: string) => findHints([mentionedInErrors(text)], facts(WIDE))
  expect(hints("mv: cannot move 'src' to 's2': Device or resource busy")).toEqual([pinned])
  expect(hints("rm: cannot remove 'src': Device or resource busy")).toEqual([pinned])
  expect(hints("rm: cannot remove 'work': Device or resource busy")).toEqual([])
  expect(hints("cat: 'src': Permission denied")).toEqual([])
})

test('a fix is pasted into a shell, which runs nothing of a name that somebody else chose', () => {
  const names = ['$(touch pwned)', 'a b;c', "it's", 'esc\u001b[2J$(id)', '"`id`"']
  for (const name of names) writeFileSync(join(root, name), '')
  const mentions = {
    paths: names.map((path) => ({ path, trouble: 'read-only' as const })),
    hosts: [],
    variables: [],
  }
  expect(findHints([mentions], facts(NARROW)).map(({ fix }) => fix)).toEqual([
    "--write '$(touch pwned)'",
    "--write 'a b;c'",
    "--write 'it'\\''s'",
    "--write $'esc\\u001b[2J$(id)'",
    '--write \'"`id`"\'',
  ])
  for (const name of [...names, 'é\u2028\u{e0001}\\', ''])
    expect(spawnSync('bash', ['-c', `printf %s ${shellWord(name)}`], BASH).stdout).toBe(name)
  writeFileSync(join(home, '$(id)'), '')
  expect(findHints([mentionedInCommand(['cat', join(home, '$(id)')])], facts(NARROW))).toMatchObject([
    {
      fix: `--read ~/'$(id)'`,
      audience: 'person',
    },
  ])
})

test.each([
  ['dash', 'sh: 0: Cannot fork', 'processes'],
  ['bash', 'bash: fork: retry: Resource temporarily unavailable', 'processes'],
  ['busybox', "sh: can't fork: Resource", 'processes'],
  ['grep', 'grep: memory exhausted', 'memory_mb'],
  ['java', 'java.lang.OutOfMemoryError: unable to create native thread', 'memory_mb'],
  ['python', 'OSError: [Errno 24] Too many open files', 'open_files'],
])('a limit in the words of %s', (_, text, limit) => {
  const limits = { memory: 2 ** 30, processes: 9, files: 9, tmp: 2 ** 20 }
  expect(findLimits(text, limits).map(({ about }) => about)).toEqual([limit])
})

const BASH = { encoding: 'utf8', env: { LC_ALL: 'C.UTF-8', PATH: process.env['PATH'] } } as const
