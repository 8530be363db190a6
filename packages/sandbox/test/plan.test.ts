import { expect, test } from 'vitest'
import {
  buildEnvironment,
  parseProbe,
  type Plan,
  sandboxProfile,
  UnenforceableError,
  UnplannableError,
} from '@cordon/sandbox'
import { parseAccessPolicy } from '@cordon/policy'
import { KERNEL, plan, SURVEY } from './survey.ts'

const RWX = { read: true, write: true, execute: true }

/** The items that speak of the workspace and the home, one a line. */
const about = ({ items }: Plan, prefix: string): readonly string[] =>
  items.flatMap((item) => {
    if (!('path' in item) || item.tag === 'left' || !item.path.startsWith(prefix)) return []
    const detail =
      item.tag === 'bind'
        ? item.attributes.join(',')
        : item.tag === 'allow'
          ? item.rights.join(',')
          : item.tag === 'cover'
            ? item.inside
            : ''
    return [`${item.tag} ${item.path} ${detail}`.trim()]
  })

const ALL =
  'read-file,read-dir,make-reg,make-dir,make-sym,make-fifo,make-sock,refer,write-file,truncate,remove-file,remove-dir,execute'

test('SPEC 4.2 without rules the workspace is bound back into a private home', () => {
  expect(about(plan({}), '/home')).toEqual([
    'dir /home',
    'dir /home/u',
    'private /home/u',
    'dir /home/u/w',
    'bind /home/u/w no-suid,no-dev',
    `allow /home/u ${ALL}`,
    `allow /home/u/w ${ALL}`,
  ])
})

test('SPEC 4.3 a narrower rule is a mount, and the directories above it are pinned', () => {
  const kinds = { 'a/src': 'dir', 'a/.env': 'file', vault: 'dir', 'vault/pub': 'dir' } as const
  const access = {
    fs: [
      { path: '.', ...RWX },
      { path: 'a/src', read: true },
      { path: 'a/.env' },
      { path: 'vault' },
      { path: 'vault/pub', ...RWX },
    ],
  }
  expect(about(plan(access, kinds), '/home/u/w')).toEqual([
    'dir /home/u/w',
    'bind /home/u/w no-suid,no-dev',
    'bind /home/u/w/a no-suid,no-dev',
    'cover /home/u/w/a/.env empty',
    'bind /home/u/w/a/src read-only,no-exec,no-suid,no-dev',
    'cover /home/u/w/vault bound-back',
    'dir /home/u/w/vault/pub',
    'bind /home/u/w/vault/pub no-suid,no-dev',
    'seal /home/u/w/vault',
    `allow /home/u/w ${ALL}`, // what is granted below it goes down the tree
  ])
})

test('SPEC 4.3 Landlock is told of a narrower rule where that grants more than what lies around it', () => {
  const kinds = new Map(
    ['src', 'src/out', 'src/out/old'].map((name) => [`/home/u/w/${name}`, 'dir' as const]),
  )
  const survey = { ...SURVEY, kinds, home: { given: '/home/v', canonical: '/home/v' } }
  const access = {
    fs: [
      { path: '.', read: true },
      { path: 'src', read: true, execute: true },
      { path: 'src/out', ...RWX },
      { path: 'src/out/old', read: true },
    ],
  }
  const items = about(plan(access, {}, { survey }), '/home/u/w')
  expect(items.filter((item) => item.startsWith('allow'))).toEqual([
    'allow /home/u/w read-file,read-dir',
    'allow /home/u/w/src read-file,read-dir,execute',
    `allow /home/u/w/src/out ${ALL}`,
  ])
})

test('SPEC 4.3 the secrets of the system are covered, and the root is sealed last', () => {
  const { items } = plan({})
  expect(items.filter((item) => 'path' in item && item.path.startsWith('/etc'))).toEqual([
    { tag: 'dir', path: '/etc', mode: 0o755 },
    { tag: 'bind', path: '/etc', attributes: ['read-only', 'no-suid', 'no-dev'] },
    { tag: 'cover-private', path: '/etc', when: 'last' },
    { tag: 'allow', path: '/etc', rights: ['read-file', 'read-dir', 'execute'] },
  ])
  expect(items.filter((item) => item.tag === 'seal').map((item) => item.path)).toEqual(['/proc', '/'])
})

test('decision 0402: the launcher is told where to remember names, if there is a place for it', () => {
  const told = (namesKept?: string) =>
    plan({}, {}, { survey: { ...SURVEY, namesKept } }).items.filter(({ tag }) => tag === 'names')
  expect(told('/home/u/.local/share/cordon/names')).toEqual([
    { tag: 'names', path: '/home/u/.local/share/cordon/names' },
  ])
  expect(told()).toEqual([])
})

test('SPEC 4.3 secrets that were found when planning are covered by name', () => {
  const made = plan({}, {}, { survey: { ...SURVEY, secretsFound: 'now' } })
  expect(about(made, '/etc')).toEqual([
    'dir /etc',
    'bind /etc read-only,no-suid,no-dev',
    'cover /etc/shadow empty',
    'allow /etc read-file,read-dir,execute',
  ])
})

test('SPEC 4.3 a rule inside /etc lies above the covers', () => {
  const made = plan(
    {
      fs: [{ path: 'ca', read: true, external: true, approved_target: '/etc/ssl/private' }],
    },
    { '/etc/ssl/private': 'dir', ca: 'link' },
  )
  expect(
    made.items.flatMap((item) =>
      item.tag === 'cover-private'
        ? [item.when]
        : item.tag === 'bind' && item.path.startsWith('/etc/')
          ? [item.path]
          : [],
    ),
  ).toEqual(['in-turn', '/etc/ssl/private'])
})

test('SPEC 4.7 what neither Landlock nor a mount can hold is refused by name', () => {
  const access = {
    fs: [
      { path: '.', ...RWX },
      { path: 'log', read: true, create: true },
    ],
  }
  const kinds = { log: 'dir' } as const
  expect(() => plan(access, kinds)).toThrow(UnenforceableError)
  expect(messageOf(() => plan(access, kinds))).toBe(
    'this machine cannot enforce the policy:\n' +
      '  fs rule log: withholding update: a wider rule grants update; Landlock cannot take it back, and a mount could only take back all writing\n' +
      '  fs rule log: withholding delete: a wider rule grants delete; Landlock cannot take it back, and a mount could only take back all writing\n' +
      '  fix: change the rules, or run without these guarantees: cordon config set --user-workspace sandbox.mode warn',
  )
  expect(
    plan(access, kinds, { mode: 'warn' })
      .holders.filter((h) => h.held.by === 'not enforceable here')
      .map((h) => h.capability),
  ).toEqual(['update', 'delete'])
})

test('SPEC 4.3 a private home gives way to a rule below it that only Landlock can hold', () => {
  const made = plan({ fs: [{ path: '.', read: true, create: true }] })
  expect(made.notes).toEqual([
    'the private /home/u inside is not writable: the rule for ., which lies in it, does not grant all writing, and below a writable directory the kernel could not withhold it',
  ])
  expect(about(made, '/home/u')).toEqual([
    'dir /home/u',
    'private /home/u',
    'dir /home/u/w',
    'bind /home/u/w no-exec,no-suid,no-dev',
    'seal /home/u',
    'allow /home/u/w read-file,read-dir,make-reg,make-dir,make-sym,make-fifo,make-sock,refer',
  ])
})

test('SPEC 4.3 without namespaces a narrower rule and a host rule are refused, and the losses are named', () => {
  const kernel = { ...KERNEL, newRoot: { step: 'namespaces', errno: 'EPERM' } } as const
  const access = {
    fs: [{ path: '.', ...RWX }, { path: '.env' }],
    net: [{ host: 'example.com', allow: true }],
  }
  const kinds = { '.env': 'file' } as const
  expect(messageOf(() => plan(access, kinds, { kernel }))).toBe(
    'this machine cannot enforce the policy:\n' +
      (['read', 'create', 'update', 'delete', 'execute'] as const)
        .map(
          (c) =>
            `  fs rule .env: withholding ${c}: a wider rule grants ${c}, and without namespaces nothing can be mounted to take it back\n`,
        )
        .join('') +
      '  net rule example.com: without a network namespace the proxy cannot be the only way out\n' +
      '  fix: allow unprivileged user namespaces: `sysctl kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu, `sysctl user.max_user_namespaces=15000` elsewhere, `--security-opt seccomp=unconfined` in a container\n' +
      '  fix: change the rules, or run without these guarantees: cordon config set --user-workspace sandbox.mode warn',
  )
  expect(
    plan(access, kinds, { kernel, mode: 'warn' }).lost.map(({ guarantee, why }) => [guarantee, why]),
  ).toEqual(
    [
      'private-home-and-tmp',
      'narrower-rules',
      'host-rules',
      'file-metadata',
      'process-isolation',
      'process-cleanup',
    ].map((name) => [name, 'the kernel refused a new root at step namespaces (EPERM)']),
  )
  // Before Landlock's scopes nothing keeps signals inside.
  const isolationLost = (landlockAbi: number): unknown =>
    plan({}, {}, { kernel: { ...kernel, landlockAbi } }).lost.find(
      (each) => each.guarantee === 'process-isolation',
    )?.loss
  expect([6, 5].map(isolationLost)).toEqual([
    'other processes, their command lines and connections can be seen; they cannot be read otherwise, signalled or slowed',
    'other processes, their command lines and connections can be seen, and your own be ended by a signal; they cannot be read otherwise or slowed',
  ])
  // Where a system directory holds a secret and nothing can be mounted over it, its entries are granted singly.
  expect(about(plan({}, {}, { kernel }), '/etc')).toEqual(['allow /etc/passwd read-file,read-dir,execute'])
})

test('the root directory is no workspace', () => {
  const survey = { ...SURVEY, root: { given: '/', canonical: '/' } }
  expect(() => plan({}, {}, { survey })).toThrow(
    new UnplannableError(
      "/ cannot be a workspace: it holds much more than one project, and everything in it would be given away\n  fix: start in a project's directory",
    ),
  )
})

test('SPEC 4.7 one place under two names gets what both grant', () => {
  const target = { external: true, approved_target: '/data/x' }
  const made = plan(
    {
      fs: [
        { path: 'a', ...RWX, ...target },
        { path: 'b', read: true, ...target },
      ],
    },
    { '/data/x': 'dir' },
  )
  expect(about(made, '/data')).toEqual([
    'dir /data',
    'dir /data/x',
    'bind /data/x read-only,no-exec,no-suid,no-dev',
    'allow /data/x read-file,read-dir',
  ])
})

test('SPEC 4.4 the macOS profile denies first and lets the deeper rule override', () => {
  const access = {
    fs: [
      { path: '.', ...RWX },
      { path: 'say "hi"\\n', read: true },
      { path: 'vault' },
      { path: 'vault/pub', read: true },
      { path: 'fork', read: true, external: true, approved_target: '/data/fork' },
    ],
  }
  const profile = sandboxProfile(
    plan(access, { 'say "hi"\\n': 'file', vault: 'dir', 'vault/pub': 'dir', '/data/fork': 'dir' }),
  )
  expect(profile.split('\n').slice(0, 2)).toEqual(['(version 1)', '(deny default)'])
  expect(profile.split('\n').filter((line) => line.includes('/data') || line.includes('/home'))).toEqual([
    '(allow file-read-metadata (literal "/") (literal "/data") (literal "/home") (literal "/home/u") (literal "/home/u/w") (literal "/home/u/w/vault"))',
    '(deny file-read* file-write* process-exec file-map-executable (subpath "/data/fork"))',
    '(allow file-read* (subpath "/data/fork"))',
    '(deny file-read* file-write* process-exec file-map-executable (subpath "/home/u/w"))',
    '(allow file-read* file-write-create file-write-data file-write-mode file-write-owner file-write-times file-write-xattr file-write-flags file-write-unlink process-exec file-map-executable (subpath "/home/u/w"))',
    '(deny file-read* file-write* process-exec file-map-executable (literal "/home/u/w/say \\"hi\\"\\\\n"))',
    '(allow file-read* (literal "/home/u/w/say \\"hi\\"\\\\n"))',
    '(deny file-read* file-write* process-exec file-map-executable (subpath "/home/u/w/vault"))',
    '(deny file-read* file-write* process-exec file-map-executable (subpath "/home/u/w/vault/pub"))',
    '(allow file-read* (subpath "/home/u/w/vault/pub"))',
  ])
  expect(profile).not.toContain('network')
})

test('SPEC 4.6 the environment is rebuilt from the minimal set and the grants', () => {
  const host = {
    PATH: '/bin',
    HOME: '/h',
    USER: 'u',
    LANG: 'C',
    LC_ALL: 'C',
    TERM: 'x',
    TZ: 'UTC',
    SECRET: 's',
    AWS_KEY: 'k',
    LD_PRELOAD: '/evil.so',
    LD_DEBUG: 'all',
    NODE_OPTIONS: '--require=/evil',
    BASH_ENV: '/evil',
    MY_A: 'a',
    MY_B: 'b',
  }
  const names = (env: unknown): readonly string[] =>
    Object.keys(buildEnvironment(parseAccessPolicy({ env }), host))
  const minimal = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TERM', 'TZ']
  expect(names([])).toEqual(minimal)
  expect(
    names([
      { name: 'MY_*', read: true },
      { name: 'MY_B', read: false },
    ]),
  ).toEqual([...minimal, 'MY_A'])
  expect(names([{ name: '*', read: true }])).toEqual([...minimal, 'SECRET', 'AWS_KEY', 'MY_A', 'MY_B'])
  expect(names([{ name: 'LD_*', read: true }])).toEqual(minimal)
  expect(names([{ name: 'LD_PRELOAD', read: true }])).toEqual([...minimal, 'LD_PRELOAD'])
  expect(
    names([
      { name: 'PATH', read: false },
      { name: 'USER', read: false },
    ]),
  ).toEqual(['HOME', 'LANG', 'LC_ALL', 'TERM', 'TZ'])
})

test('a probe without answers counts as a kernel without anything', () => {
  const report = parseProbe(KERNEL.launcher, '')
  expect([report.landlockAbi, report.seccomp, report.newRoot]).toEqual([
    0,
    false,
    { step: 'launcher', errno: 'it gave no answer' },
  ])
  expect(report.lost.map((each) => each.guarantee)).toEqual([
    'workspace-boundary',
    'private-home-and-tmp',
    'narrower-rules',
    'host-rules',
    'file-metadata',
    'process-isolation',
    'process-cleanup',
    'capability-rules',
    'system-call-filter',
    'guard',
  ])
})

test('SPEC 4.3 enforce: with neither a new root nor Landlock nothing runs, also without rules', () => {
  const silent = parseProbe(KERNEL.launcher, '')
  expect(messageOf(() => plan({}, {}, { kernel: silent }))).toBe(
    'this machine cannot enforce the policy:\n' +
      '  nothing keeps a program from the files outside the workspace: the launcher did not say what this kernel can do\n' +
      '  fix: build the launcher again (`npm rebuild`): it may be older than the rest\n' +
      '  fix: change the rules, or run without these guarantees: cordon config set --user-workspace sandbox.mode warn',
  )
  const old = { ...KERNEL, landlockAbi: 0, newRoot: { step: 'unshare', errno: 'EPERM' } }
  expect(() => plan({}, {}, { kernel: old })).toThrow(UnenforceableError)
  expect(plan({}, {}, { kernel: old, mode: 'warn' }).lost[0]).toMatchObject({
    guarantee: 'workspace-boundary',
    why: 'the kernel permits neither a new root nor Landlock',
  })
  // Either of the two is enough.
  expect(plan({}, {}, { kernel: { ...old, landlockAbi: 3 } }).isolation).toBe('landlock-only')
  expect(plan({}, {}, { kernel: { ...old, newRoot: 'works' } }).isolation).toBe('namespaces')
})

function messageOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return 'nothing was thrown'
}

test.each([
  [{ update: true }, true],
  [{ update: true, delete: true }, true],
  [{ update: true, create: true }, true],
  [{ update: true, create: true, delete: true }, false],
])('SPEC 4.7 replacing by rename needs more than update: %j', (grants, said) => {
  const update = plan({ fs: [{ path: '.', ...grants }] }).holders.find((each) => each.capability === 'update')
  expect(update?.limits.some((limit) => limit.startsWith('replacing a file'))).toBe(said)
})

test('SPEC 4.7 a path that does not exist has no more than the region around it, whatever lies above that', () => {
  const access = {
    fs: [{ path: '.', read: true }, { path: 'd' }, { path: 'd/n', read: true }],
  }
  const read = plan(access, { d: 'dir', 'd/n': 'missing' }).holders.find(
    (each) => each.axis === 'fs' && each.rule.path === 'd/n' && each.capability === 'read',
  )
  expect(read?.limits).toContain('the path does not exist, so it cannot be granted: create it first')
})

test('SPEC 4.3 where no rule grants execute the private places do not either', () => {
  const flagsOf = ({ items }: Plan): readonly string[] =>
    items.flatMap((item) => (item.tag === 'flags' ? item.flags : []))
  const without = plan({ fs: [{ path: '.', read: true, write: true }] })
  expect(flagsOf(without)).toContain('no-execution')
  expect(about(without, '/tmp').at(-1)).toBe(`allow /tmp ${ALL.replace(',execute', '')}`)
  for (const fs of [
    [],
    [
      { path: '.', read: true },
      { path: 'bin', read: true, execute: true },
    ],
  ])
    expect(flagsOf(plan({ fs }, { bin: 'dir' }))).not.toContain('no-execution')
})

test('SPEC 4.3 of an installation that files chose, private parts are covered above its mount', () => {
  const app = { kind: 'bind', path: '/opt/app', is: 'dir', publicOnly: true } as const
  const survey = { ...SURVEY, runtime: [app], secrets: ['/etc/shadow', '/opt/app/etc/key'] }
  const covers = (more: Partial<typeof SURVEY> = {}, access: unknown = {}): readonly string[] =>
    plan(access, {}, { survey: { ...survey, ...more } }).items.flatMap((item) =>
      item.tag === 'cover-private'
        ? [`${item.path} ${item.when}`]
        : (item.tag === 'cover' || item.tag === 'bind') && /^\/(?:opt|etc)/.test(item.path)
          ? [`${item.tag} ${item.path}`]
          : [],
    )
  expect(covers()).toEqual(['bind /etc', '/etc last', 'bind /opt/app', '/opt/app last'])
  // The launcher's lists come in the order of the plan: when one has to be in turn, all are.
  const inside = { fs: [{ path: 'm', external: true, approved_target: '/opt/app/lib', read: true }] }
  const kinds = new Map([['/opt/app/lib', 'dir' as const]])
  expect(covers({ kinds }, inside)).toEqual([
    'bind /etc',
    '/etc in-turn',
    'bind /opt/app',
    '/opt/app in-turn',
    'bind /opt/app/lib',
  ])
  expect(covers({ secretsFound: 'now' })).toEqual([
    'bind /etc',
    'cover /etc/shadow',
    'bind /opt/app',
    'cover /opt/app/etc/key',
  ])
  // Nothing can be mounted over it: its other entries are granted one by one.
  const kernel = { ...KERNEL, newRoot: { step: 'namespaces', errno: 'EPERM' } } as const
  const around = { ...survey, aroundSecrets: ['/opt/app/bin'] }
  expect(about(plan({}, {}, { survey: around, kernel }), '/opt')).toEqual([
    'allow /opt/app/bin read-file,read-dir,execute',
  ])
})
