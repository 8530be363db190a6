import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type CanonicalPath, parseRelPath } from '@cordon/policy'
import { ApprovalStore, sha256, type Workspace } from '@cordon/workspace'
import { expect, test } from 'vitest'
import { freshWorkspace, HOLDER } from './fixture.ts'

const NOW = new Date('2026-05-26T13:00:00.123Z')
const rule = parseRelPath
const target = (path: string): CanonicalPath => path as CanonicalPath

const storeOf = (workspace: Workspace): ApprovalStore =>
  new ApprovalStore(workspace, { holder: HOLDER, uid: process.getuid?.(), now: () => NOW })

async function fresh(): Promise<{ workspace: Workspace; store: ApprovalStore }> {
  const { workspace } = await freshWorkspace()
  return { workspace, store: storeOf(workspace) }
}

/** As a person who pre-seeds by hand would. */
function seed(workspace: Workspace, text: string): void {
  mkdirSync(workspace.local, { recursive: true })
  writeFileSync(join(workspace.local, 'approvals.json'), text)
}

test('SPEC 3.2 the file has its documented shape, mode 0600, and no temp file beside it', async () => {
  const { workspace, store } = await fresh()
  await store.approve(rule('fork'), target('/code/forks/serde-yaml'))
  expect(readFileSync(store.file, 'utf8')).toBe(`{
  "mounts": [
    {
      "rule_path": "fork",
      "canonical_target": "/code/forks/serde-yaml",
      "approved_at": "2026-05-26T13:00:00Z"
    }
  ]
}
`)
  expect(statSync(store.file).mode & 0o777).toBe(0o600)
  expect(readdirSync(workspace.local).sort()).toEqual([
    'approvals.json',
    'locks',
    'sessions',
    'workspace.json',
  ])
})

test('SPEC 3.2 lookup: approved, unknown, or known with another target', async () => {
  const { store } = await fresh()
  await store.approve(rule('fork'), target('/code/a'))
  const approvals = await store.read()
  expect(approvals.lookup(rule('fork'), target('/code/a'))).toBe('approved')
  expect(approvals.lookup(rule('fork'), target('/etc'))).toEqual({ was: '/code/a' })
  expect(approvals.lookup(rule('fork/sub'), target('/code/a'))).toBe('unknown')
  expect(approvals.warnings).toEqual([])
})

test('approving another target replaces the first, approving the same again writes nothing', async () => {
  const { store } = await fresh()
  await store.approve(rule('fork'), target('/code/a'))
  await store.approve(rule('fork'), target('/code/b'))
  expect((await store.read()).mounts.map((m) => m.canonical_target)).toEqual(['/code/b'])
  const { ino } = statSync(store.file)
  await store.approve(rule('fork'), target('/code/b'))
  expect(statSync(store.file).ino).toBe(ino)
})

test('revoking forgets one rule path and says what it was', async () => {
  const { store } = await fresh()
  await store.approve(rule('a'), target('/code/a'))
  await store.approve(rule('b'), target('/code/b'))
  expect(await store.revoke(rule('a'))).toEqual([
    { rule_path: 'a', canonical_target: '/code/a', approved_at: '2026-05-26T13:00:00Z' },
  ])
  expect(await store.revoke(rule('a'))).toEqual([])
  expect((await store.read()).mounts.map((m) => m.rule_path)).toEqual(['b'])
})

test('a store that was never written is empty, and reading it makes nothing', async () => {
  const { workspace, store } = await fresh()
  expect((await store.read()).mounts).toEqual([])
  expect(() => statSync(join(workspace.local, 'approvals.json'))).toThrow('ENOENT')
})

test('hand-editing pre-seeds, and everything it holds survives a change', async () => {
  const { workspace, store } = await fresh()
  const odd = { rule_path: 'x', canonical_target: 'relative', approved_at: '' }
  const kept = { rule_path: './keep//me', canonical_target: '/k', approved_at: 'then', note: 'mine' }
  seed(workspace, JSON.stringify({ version: 3, plugins: [{ name: 'p' }], mounts: [kept, odd, 17] }))
  const approvals = await store.read()
  expect(approvals.lookup(rule('keep/me'), target('/k'))).toBe('approved')
  expect(approvals.warnings).toEqual([
    `an approval is ignored: ${store.file}: mounts[1] is not a rule path with an absolute target`,
    `an approval is ignored: ${store.file}: mounts[2] is not a rule path with an absolute target`,
  ])
  await store.approve(rule('fork'), target('/f'))
  expect(JSON.parse(readFileSync(store.file, 'utf8'))).toEqual({
    version: 3,
    plugins: [{ name: 'p' }],
    mounts: [
      kept,
      odd,
      17,
      { rule_path: 'fork', canonical_target: '/f', approved_at: '2026-05-26T13:00:00Z' },
    ],
  })
})

test.for([
  ['{"mounts": [', 'it is not JSON'],
  ['', 'it is not JSON'],
  ['[]', 'it is not a JSON object'],
  ['null', 'it is not a JSON object'],
  ['{"mounts": {"fork": "/etc"}}', '"mounts" is not a list'],
  ['[[['.repeat(100_000), 'it is not JSON'],
])(
  'SPEC 3.2 malformed (%#) counts as empty, and is kept aside when it is replaced',
  async ([text, problem]) => {
    const { workspace, store } = await fresh()
    seed(workspace, text!)
    const approvals = await store.read()
    expect(approvals.mounts).toEqual([])
    expect(approvals.warnings).toEqual([
      `approvals are ignored: ${store.file}: ${problem}; nothing counts as approved`,
    ])
    expect(readFileSync(store.file, 'utf8')).toBe(text)
    await store.approve(rule('fork'), target('/f'))
    expect((await store.read()).mounts).toHaveLength(1)
    expect(readFileSync(`${store.file}.bad-2026-05-26T13-00-00.123Z`, 'utf8')).toBe(text)
  },
)

test('a file that others can write, or that is a link, approves nothing and is not replaced', async () => {
  const { workspace, store } = await fresh()
  const text = '{"mounts":[{"rule_path":"fork","canonical_target":"/etc","approved_at":""}]}'
  seed(workspace, text)
  chmodSync(store.file, 0o666)
  expect((await store.read()).warnings).toEqual([
    `approvals are ignored: ${store.file}: others may write to it; run \`chmod 600\` on it if its content is yours; nothing counts as approved`,
  ])
  await expect(store.approve(rule('a'), target('/a'))).rejects.toMatchObject({
    code: 'APPROVALS',
    message: `cannot change the approvals in ${store.file}: others may write to it; run \`chmod 600\` on it if its content is yours`,
  })
  expect(readFileSync(store.file, 'utf8')).toBe(text)
  const other = await fresh()
  mkdirSync(other.workspace.local, { recursive: true })
  symlinkSync(store.file, other.store.file)
  expect((await other.store.read()).warnings).toEqual([
    `approvals are ignored: ${other.store.file}: it is a symbolic link; nothing counts as approved`,
  ])
})

test("a file of another user's approves nothing", async () => {
  const { workspace, store } = await fresh()
  seed(workspace, '{"mounts":[{"rule_path":"fork","canonical_target":"/etc","approved_at":""}]}')
  const stranger = new ApprovalStore(workspace, { holder: HOLDER, uid: 54321, now: () => NOW })
  expect((await stranger.read()).mounts).toEqual([])
  expect((await store.read()).mounts).toHaveLength(1)
})

test('a lock that is lost half-way stops the change', async () => {
  const { workspace, store } = await fresh()
  await store.approve(rule('a'), target('/a'))
  writeFileSync(store.file, '{')
  const lock = join(workspace.local, 'locks/approvals.lock')
  // The clock is read once before the lock and once under it, for the name of the bad file.
  let reads = 0
  const now = (): Date => (++reads === 2 && rmSync(lock), NOW)
  const hurried = new ApprovalStore(workspace, { holder: HOLDER, uid: process.getuid?.(), now })
  await expect(hurried.approve(rule('b'), target('/b'))).rejects.toMatchObject({ code: 'LOCK_LOST' })
  expect(readFileSync(store.file, 'utf8')).toBe('{')
})

test('a directory where the file should be: empty with a warning, and a change is refused', async () => {
  const { store } = await fresh()
  mkdirSync(store.file, { recursive: true })
  expect((await store.read()).warnings).toEqual([
    `approvals are ignored: ${store.file}: it is not a regular file; nothing counts as approved`,
  ])
  await expect(store.approve(rule('b'), target('/b'))).rejects.toMatchObject({
    code: 'APPROVALS',
    message: `cannot change the approvals in ${store.file}: it is not a regular file`,
  })
})

const TEXT = '[sandbox]\nlimits.processes = 5\n'

test('SPEC 2.1 a trusted text: its digest under its path, and the text beside it; mounts stay', async () => {
  const { store } = await fresh()
  await store.approve(rule('fork'), target('/f'))
  await store.trust([{ path: '.cordon/config.toml', text: TEXT }])
  expect(JSON.parse(readFileSync(store.file, 'utf8'))).toEqual({
    mounts: [{ rule_path: 'fork', canonical_target: '/f', approved_at: '2026-05-26T13:00:00Z' }],
    configs: [
      { path: '.cordon/config.toml', sha256: sha256(TEXT), trusted_at: '2026-05-26T13:00:00Z', text: TEXT },
    ],
    as_written: NOW.getTime() / 1000 - 0.123,
  })
  expect(statSync(store.file).mode & 0o777).toBe(0o600)
  const approvals = await store.read()
  expect(approvals.trusts('.cordon/config.toml', TEXT)).toBe(true)
  expect(approvals.trusts('.cordon/config.toml', `${TEXT} `)).toBe(false)
  expect(approvals.trusts('sub/.cordon.toml', TEXT)).toBe(false)
  expect(approvals.lookup(rule('fork'), target('/f'))).toBe('approved')
})

test('SPEC 2.1 another text takes the place of the first; the same again writes nothing', async () => {
  const { store } = await fresh()
  await store.trust([
    { path: '.cordon.toml', text: 'a' },
    { path: 'sub/.cordon.toml', text: 'b' },
  ])
  const { ino } = statSync(store.file)
  await store.trust([{ path: '.cordon.toml', text: 'a' }])
  expect(statSync(store.file).ino).toBe(ino)
  await store.trust([{ path: '.cordon.toml', text: 'c' }])
  const approvals = await store.read()
  expect(approvals.configs.map(({ path, text }) => [path, text])).toEqual([
    ['sub/.cordon.toml', 'b'],
    ['.cordon.toml', 'c'],
  ])
  expect(approvals.trusts('.cordon.toml', 'a')).toBe(false)
})

test('SPEC 2.1 revoking forgets one path or all of them, and nothing else', async () => {
  const { store } = await fresh()
  await store.approve(rule('fork'), target('/f'))
  await store.trust([
    { path: '.cordon.toml', text: 'a' },
    { path: 'b/.cordon.toml', text: 'b' },
    { path: 'c/.cordon.toml', text: 'c' },
  ])
  expect(await store.distrust(['.cordon.toml', 'never'])).toEqual(['.cordon.toml'])
  expect((await store.read()).configs.map(({ path }) => path)).toEqual(['b/.cordon.toml', 'c/.cordon.toml'])
  expect(await store.distrust('all')).toEqual(['b/.cordon.toml', 'c/.cordon.toml'])
  expect(await store.distrust('all')).toEqual([])
  const approvals = await store.read()
  expect([approvals.configs, approvals.mounts.length]).toEqual([[], 1])
})

test('SPEC 2.1 the digest rules: a text that a hand put beside another digest is not trusted', async () => {
  const { workspace, store } = await fresh()
  const entry = { path: '.cordon.toml', sha256: sha256('what was trusted'), trusted_at: 'then', text: 'evil' }
  seed(workspace, JSON.stringify({ configs: [entry] }))
  const approvals = await store.read()
  expect(approvals.trusts('.cordon.toml', 'evil')).toBe(false)
  expect(approvals.trusts('.cordon.toml', 'what was trusted')).toBe(true)
  // And for the difference it is no text at all.
  expect(approvals.lastTrusted('.cordon.toml')).toEqual({
    path: '.cordon.toml',
    sha256: entry.sha256,
    trusted_at: 'then',
  })
})

test('decision 0580 a text rules for its digest only in a file that nobody has edited', async () => {
  const { store } = await fresh()
  await store.trust([{ path: '.cordon.toml', text: 'kept' }])
  const { atime, mtime } = statSync(store.file)
  expect(mtime).toEqual(new Date('2026-05-26T13:00:00Z'))
  const edited = readFileSync(store.file, 'utf8').replace('"kept"', '"evil"')
  writeFileSync(store.file, edited)
  const trusts = async (): Promise<readonly boolean[]> => {
    const approvals = await store.read()
    return ['kept', 'evil'].map((text) => approvals.trusts('.cordon.toml', text))
  }
  expect(await trusts()).toEqual([true, false])
  // Whoever sets the time back as well could have written the digest: it is the person's own file.
  utimesSync(store.file, atime, mtime)
  expect(await trusts()).toEqual([true, true])
  // What a hand left there does not become Cordon's word with Cordon's next change.
  writeFileSync(store.file, edited)
  await store.approve(rule('fork'), target('/f'))
  expect(await trusts()).toEqual([true, false])
  expect(JSON.parse(readFileSync(store.file, 'utf8'))).not.toHaveProperty('as_written')
})

test('SPEC 2.1 pre-seeding by hand, and entries that trust nothing', async () => {
  const { workspace, store } = await fresh()
  const digest = sha256('x')
  seed(
    workspace,
    JSON.stringify({
      configs: [
        { path: './sub//.cordon.toml', sha256: digest },
        { path: '../.cordon.toml', sha256: digest },
        { path: '/.cordon.toml', sha256: digest },
        { path: '.cordon.toml', sha256: digest.toUpperCase() },
        { path: '.cordon.toml', sha256: digest.slice(1) },
        { path: '.cordon.toml' },
        null,
      ],
    }),
  )
  const approvals = await store.read()
  expect(approvals.trusts('sub/.cordon.toml', 'x')).toBe(true)
  expect(approvals.trusts('.cordon.toml', 'x')).toBe(false)
  expect(approvals.warnings).toEqual(
    [1, 2, 3, 4, 5, 6].map(
      (i) => `an approval is ignored: ${store.file}: configs[${i}] is not a path with a SHA-256 digest`,
    ),
  )
})

test('SPEC 2.1 a malformed store trusts nothing, and is kept aside when it is replaced', async () => {
  for (const text of ['{"configs": {}}', '{"configs": [', '"configs"']) {
    const { workspace, store } = await fresh()
    seed(workspace, text)
    const approvals = await store.read()
    expect([approvals.configs, approvals.trusts('.cordon.toml', ''), approvals.warnings.length]).toEqual([
      [],
      false,
      1,
    ])
    await store.trust([{ path: '.cordon.toml', text: '' }])
    expect((await store.read()).trusts('.cordon.toml', '')).toBe(true)
    expect(readFileSync(`${store.file}.bad-2026-05-26T13-00-00.123Z`, 'utf8')).toBe(text)
  }
})

test('SPEC 2.1 a long text is trusted, and not kept; a store that would be too large to read is refused', async () => {
  const { workspace, store } = await fresh()
  const long = '#'.repeat(100_000)
  await store.trust([{ path: '.cordon.toml', text: long }])
  const approvals = await store.read()
  expect(approvals.trusts('.cordon.toml', long)).toBe(true)
  expect(approvals.lastTrusted('.cordon.toml')?.text).toBeUndefined()
  seed(workspace, JSON.stringify({ notes: 'x'.repeat(16 * 1024 * 1024 - 100) }))
  const before = statSync(store.file).size
  await expect(store.trust([{ path: '.cordon.toml', text: 'x'.repeat(1000) }])).rejects.toMatchObject({
    code: 'APPROVALS',
    message: `cannot change the approvals in ${store.file}: it would become too large; \`cordon trust revoke\` makes room`,
  })
  expect(statSync(store.file).size).toBe(before)
})

test('when a server was seen is when it was accepted: what only waits does not change it', async () => {
  const { workspace } = await fresh()
  const at = (now: string) =>
    new ApprovalStore(workspace, { holder: HOLDER, uid: process.getuid?.(), now: () => new Date(now) })
  const seen = { command: 'c', program: 'p' }
  await at('2026-01-01T00:00:00Z').changeServer('s', () => seen)
  await at('2026-02-01T00:00:00Z').changeServer('s', () => ({ ...seen, waiting: { program: 'other' } }))
  const known = (): unknown =>
    (JSON.parse(readFileSync(at('2026-02-01T00:00:00Z').file, 'utf8')) as { servers: unknown }).servers
  expect(known()).toEqual([
    { server: 's', ...seen, waiting: { program: 'other' }, seen_at: '2026-01-01T00:00:00Z' },
  ])
  await at('2026-03-01T00:00:00Z').changeServer('s', () => ({ command: 'c', program: 'other' }))
  expect(known()).toEqual([{ server: 's', command: 'c', program: 'other', seen_at: '2026-03-01T00:00:00Z' }])
})
