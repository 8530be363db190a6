/** What somebody would try who can write into the workspace, or who chooses the URL. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type CanonicalPath,
  EscapeError,
  FsIndex,
  locateObject,
  openAmbientRoot,
  parseAccessPolicy,
  parseContext,
  parseNetTarget,
  UnresolvableError,
} from '@cordon/policy'
import * as fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { outcome } from './vectors.ts'

const home = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-attacks-')))
afterAll(() => rmSync(home, { recursive: true }))
let count = 0
const fresh = (): string => {
  const root = join(home, `w${count++}`)
  mkdirSync(root)
  return root
}
const READ_ALL = { fs: [{ path: '.', read: true, create: true }] }
const open = (root: string) => parseContext({ root, action: 'run', access: READ_ALL })

test('SPEC 1.3 hard links in two cases do not make a root case-insensitive', () => {
  const root = fresh()
  writeFileSync(join(root, 'a'), '')
  linkSync(join(root, 'a'), join(root, 'A'))
  expect(openAmbientRoot(root)).toEqual({ path: root, foldCase: 'exact' })
})

test('SPEC 1.3 a name that is too long in the other case does not stop the root from opening', () => {
  const root = fresh()
  writeFileSync(join(root, '\u0390'.repeat(127)), '') // two bytes each, six in upper case
  expect(openAmbientRoot(root)).toEqual({ path: root, foldCase: 'exact' })
})

test('SPEC 1.3 a sibling that only folds like the root is outside', () => {
  const top = fresh()
  mkdirSync(join(top, 'ws'))
  mkdirSync(join(top, 'WS'))
  writeFileSync(join(top, 'WS', 'x'), '')
  symlinkSync(join(top, 'WS', 'x'), join(top, 'ws', 'l'))
  const root = { path: join(top, 'ws') as CanonicalPath, foldCase: 'folded' } as const
  expect(() => locateObject(root, undefined, 'l', 'read')).toThrow(EscapeError)
})

test('SPEC 1.3 a sibling that only folds like the approved target is outside', () => {
  const top = fresh()
  for (const dir of ['ws', 'out', 'OUT']) mkdirSync(join(top, dir))
  symlinkSync(join(top, 'OUT'), join(top, 'ws', 'fork'))
  const { fs } = parseAccessPolicy({
    fs: [{ path: 'fork', external: true, approved_target: join(top, 'out'), read: true }],
  })
  const root = { path: join(top, 'ws') as CanonicalPath, foldCase: 'folded' } as const
  expect(() => locateObject(root, new FsIndex(fs, 'folded'), 'fork/x', 'read')).toThrow(EscapeError)
})

test('SPEC 1.3 a root behind a link is the directory it leads to', () => {
  const root = fresh()
  writeFileSync(join(root, 'a'), '')
  symlinkSync(root, `${root}-link`)
  expect(open(`${root}-link`).checkRead('a')).toBe(join(root, 'a'))
})

test('SPEC 1.3 the filesystem root can be the workspace', () => {
  const context = open('/')
  expect(context.checkRead('.')).toBe('/')
  expect(context.checkRead('etc')).toBe(realpathSync('/etc'))
  expect(context.checkCreate('nowhere/x')).toBe('/nowhere/x')
  expect(outcome(() => context.checkRead('../etc'))).toEqual({ error: 'PATH_ESCAPE' })
  expect(outcome(() => context.checkDelete('.'))).toEqual({ error: 'FS_DENIED' })
})

test('SPEC 1.3 a name that is not UTF-8 is doubt, and U+FFFD itself is a name', () => {
  const root = fresh()
  const bad = Buffer.concat([Buffer.from(`${root}/bad`), Buffer.from([0xff])])
  mkdirSync(bad)
  symlinkSync(bad, join(root, 'link'))
  symlinkSync(Buffer.concat([Buffer.from('gone'), Buffer.from([0xff])]), join(root, 'dangling'))
  writeFileSync(join(root, '\ufffd'), '')
  const context = open(root)
  expect(outcome(() => context.checkRead('link'))).toEqual({ error: 'PATH_UNRESOLVABLE' })
  expect(outcome(() => context.checkCreate('link/x'))).toEqual({ error: 'PATH_UNRESOLVABLE' })
  expect(outcome(() => context.checkCreate('dangling'))).toEqual({ error: 'PATH_UNRESOLVABLE' })
  expect(context.checkRead('\ufffd')).toBe(join(root, '\ufffd'))
  // The decoded name of the bad directory is another name, and nothing is there.
  expect(() => openAmbientRoot(join(root, 'link'))).toThrow(UnresolvableError)
})

test('SPEC 1.3 an ordinary user without permission gets typed errors', () => {
  const root = fresh()
  mkdirSync(join(root, 'locked', 'in'), { recursive: true })
  mkdirSync(join(root, 'closed'))
  const isRoot = process.getuid?.() === 0
  const nobody = isRoot ? 65534 : process.getuid!()
  for (const dir of ['locked/in', 'locked', 'closed']) chownSync(join(root, dir), nobody, -1)
  for (const dir of [home, root]) chmodSync(dir, 0o755)
  for (const dir of ['locked', 'closed']) chmodSync(join(root, dir), 0)
  const script = `
    import { parseContext } from ${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)}
    const code = (ask) => { try { return ask() } catch (error) { return error.code + ': ' + error.message } }
    const access = ${JSON.stringify(READ_ALL)}
    const root = ${JSON.stringify(root)}
    const open = (root) => parseContext({ root, action: 'run', access })
    console.log(JSON.stringify([
      code(() => open(root).checkRead('locked/in')),
      code(() => open(root).checkCreate('locked/new')),
      code(() => open(root).checkRead('locked')),
      code(() => open(root + '/closed').checkRead('x')),
      code(() => open(root + '/locked/in').checkRead('x')),
    ]))`
  const ran = spawnSync(realpathSync(process.execPath), ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    cwd: '/',
    ...(isRoot ? { uid: nobody, gid: nobody } : {}),
  })
  for (const dir of ['locked', 'closed']) chmodSync(join(root, dir), 0o755)
  expect({ stderr: ran.stderr, answers: ran.stdout && (JSON.parse(ran.stdout) as unknown) }).toEqual({
    stderr: '',
    answers: [
      'PATH_UNRESOLVABLE: cannot resolve path: locked/in (EACCES)',
      'PATH_UNRESOLVABLE: cannot resolve path: locked/new (EACCES)',
      join(root, 'locked'),
      'PATH_UNRESOLVABLE: cannot resolve path: x (EACCES)',
      `PATH_UNRESOLVABLE: cannot resolve path: ${join(root, 'locked/in')} (EACCES)`,
    ],
  })
})

test('SPEC 1.5 a scheme that JavaScript knows has no default port', () => {
  expect(parseNetTarget('constructor://good.com/x')).toEqual({
    scheme: 'constructor',
    host: 'good.com',
    port: undefined,
    segments: ['x'],
  })
})

/** Pieces that parsers are known to disagree about. */
const PIECES =
  'http https ws : / // @ ? # % %2e %2f %40 \\ . .. good.com evil.com a 1 127.1 0x7f [ ] [::1] ::1 80 443 8443 65536 ; & *'
const piece = fc.constantFrom(
  ...PIECES.split(' '),
  ...Array.from('\t \0\u3002\uff0e\uff0f\uff20\u00df\u00e9\u0301\u200d\u00ad\ud800'),
)
const soup = fc.oneof(
  fc.array(piece, { maxLength: 12 }).map((parts) => parts.join('')),
  fc.array(piece, { maxLength: 10 }).map((parts) => `http://${parts.join('')}`),
  fc.tuple(fc.array(piece, { maxLength: 6 }), fc.string()).map(([a, b]) => `https://${a.join('')}${b}`),
)

test('SPEC 1.5 fetch connects to the host and port that were checked', () => {
  fc.assert(
    fc.property(soup, (url) => {
      const checked = outcome(() => parseNetTarget(url))
      if ('error' in checked) return
      const used = new URL(url) // what is accepted here, fetch must not read differently
      expect(used.protocol).toBe(`${checked.scheme}:`)
      if (!['http', 'https', 'ws', 'wss', 'ftp'].includes(checked.scheme)) return
      expect(used.hostname.replace(/\.$/, '')).toBe(checked.host)
      const defaults: Record<string, number> = { http: 80, ws: 80, https: 443, wss: 443, ftp: 21 }
      expect(used.port === '' ? defaults[checked.scheme] : Number(used.port)).toBe(checked.port)
    }),
    { numRuns: 20_000 },
  )
})
