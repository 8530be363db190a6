import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  CAPABILITIES,
  type Capability,
  evaluateFs,
  FsIndex,
  type FsRule,
  openAmbientRoot,
  parseRelPath,
  type RelPath,
} from '@cordon/policy'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isGuarded, ledToGuarded, withGuard } from '../src/compile/guard.ts'
import { GuardSurvey } from '../src/guard/survey.ts'

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-guard-')))
const home = join(dir, 'home')
const root = join(home, 'work')
const outside = join(home, '.config')

function make(path: string, text = ''): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

for (const name of ['HEAD', 'config', 'objects/x', 'refs/x', 'hooks/pre-commit'])
  for (const git of ['.git', '.git/modules/a', '.git/modules/libs/b']) make(join(root, git, name))
make(join(root, '.git/worktrees/w/gitdir'))
make(join(root, '.git/config'), '[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../shared.config\n')
make(join(root, '.gitmodules'), '[submodule "a"]\n\tpath = sub/a\n[submodule "b"]\n\tpath = "sub/b"\n')
make(join(root, 'sub/a/.git'), 'gitdir: ../../.git/modules/a\n')
mkdirSync(join(root, 'sub/b'))
make(join(root, 'real/settings.json'))
symlinkSync('real', join(root, '.claude'))
symlinkSync('loop', join(root, 'loop'))
symlinkSync('loop', join(root, '.envrc'))
make(join(outside, 'cordon/config.toml'))

const survey = new GuardSurvey({
  root,
  cwd: join(root, 'sub/a'),
  home,
  own: [join(outside, 'cordon')],
  gitConfigs: [],
})
const request = { root: openAmbientRoot(root), survey, more: [parseRelPath('Makefile')], code: [] }

const rule = (path: string, grants: Iterable<Capability>, target?: string): FsRule => ({
  path: parseRelPath(path),
  grants: new Set(grants),
  external: target !== undefined,
  ...(target === undefined ? {} : { approvedTarget: target }),
})

const may = (rules: readonly FsRule[], capability: Capability, path: string): boolean =>
  evaluateFs(new FsIndex(rules), parseRelPath(path), capability).kind === 'granted'

const WHOLE = withGuard([rule('.', CAPABILITIES)], request)

test.each([
  '.cordon',
  '.cordon.toml',
  'sub/.cordon.toml',
  'sub/a/.cordon.toml',
  'Makefile',
  '.git/config',
  '.git/hooks/pre-commit',
  '.git/commondir',
  '.git/modules/new',
  '.git/modules/a/config',
  '.git/modules/libs/new',
  '.git/modules/libs/b/hooks/x',
  '.git/worktrees/w/commondir',
  'tools/hooks/pre-commit',
  'shared.config',
  '.gitmodules',
  'sub/a/.git',
  'sub/a/.npmrc',
  'sub/b/.git',
  '.claude',
  'real/settings.json',
  '.envrc',
])('SPEC 4.10 %s is guarded', (path) => {
  expect(CAPABILITIES.filter((each) => may(WHOLE, each, path))).toEqual(['read', 'execute'])
})

test.each([
  'a',
  '.git/index',
  '.git/config.lock',
  '.git/modules/a/index',
  '.git/modules/libs/b',
  'real/other',
  'sub/b/x',
])('SPEC 4.10 %s is not', (path) => {
  expect(CAPABILITIES.filter((each) => may(WHOLE, each, path))).toEqual([...CAPABILITIES])
})

test('SPEC 4.10 a rule that names the path, or one below it, overrides it there', () => {
  const rules = withGuard(
    [rule('.', CAPABILITIES), rule('.vscode', CAPABILITIES), rule('.husky/_', CAPABILITIES)],
    request,
  )
  expect(['.vscode/x', '.husky/_/x', '.husky/x'].map((path) => may(rules, 'update', path))).toEqual([
    true,
    true,
    false,
  ])
})

test('SPEC 4.8 a flag that names a guarded path, or one below it, adds; the guard goes where it may write', () => {
  expect(
    ['.git/config', '.git/hooks/x', '.git', 'src'].map((path) => isGuarded(parseRelPath(path), request)),
  ).toEqual([true, true, false, false])
  const written = withGuard([rule('.', CAPABILITIES)], request, [
    rule('.git/config', ['read', 'create', 'update', 'delete']),
  ])
  expect(CAPABILITIES.filter((each) => may(written, each, '.git/config'))).toEqual([...CAPABILITIES])
  const read = withGuard([rule('.', CAPABILITIES)], request, [rule('.git/config', ['read'])])
  expect(CAPABILITIES.filter((each) => may(read, each, '.git/config'))).toEqual(['read', 'execute'])
})

test('SPEC 4.10 no rule opens Cordon’s own place in the user’s', () => {
  const rules = withGuard(
    [
      rule('m', CAPABILITIES, outside),
      rule('m/cordon/config.toml', CAPABILITIES, join(outside, 'cordon/config.toml')),
    ],
    request,
  )
  expect(
    ['m/cordon', 'm/cordon/x', 'm/cordon/config.toml', 'm/x'].map((path) => may(rules, 'update', path)),
  ).toEqual([false, false, false, true])
})

const somePath = fc.constantFrom<string>(
  '.',
  '.git',
  '.git/config',
  '.git/modules',
  '.git/modules/a',
  '.git/modules/a/config',
  '.claude',
  'real',
  'real/settings.json',
  '.cordon',
  '.cordon/config.toml',
  'sub',
  'sub/a',
  'sub/a/.git',
  '.vscode',
  'Makefile',
  'src',
)
const someGrants = fc.subarray([...CAPABILITIES])
const someRules = fc.array(
  fc.oneof(
    fc.tuple(somePath, someGrants).map(([path, grants]) => rule(path, grants)),
    someGrants.map((grants) => rule('m', grants, outside)),
  ),
  { minLength: 1, maxLength: 8 },
)
const someTarget = fc.constantFrom<RelPath>(
  ...[
    ...WHOLE.map(({ path }) => path),
    'm',
    'm/.git',
    'm/.envrc',
    'm/cordon',
    'm/cordon/x',
    'm/x',
    'src/x',
    'a',
  ].flatMap((path) => [parseRelPath(path), parseRelPath(`${path}/below`)]),
)

test('SPEC 4.10 the guard never widens: every rule set, every path, every capability', () => {
  fc.assert(
    fc.property(someRules, someTarget, (rules, target) => {
      const guarded = withGuard(rules, request)
      for (const capability of CAPABILITIES)
        if (may(guarded, capability, target)) expect(may(rules, capability, target)).toBe(true)
    }),
    { numRuns: 5000 },
  )
})

test('and takes nothing back but writing', () => {
  fc.assert(
    fc.property(someRules, someTarget, (rules, target) => {
      const guarded = withGuard(rules, request)
      for (const capability of ['read', 'execute'] as const)
        expect(may(guarded, capability, target)).toBe(may(rules, capability, target))
    }),
    { numRuns: 1000 },
  )
})

test('SPEC 4.10 a repository with very many submodules: the rest stays as closed as the directory around it', () => {
  const many = join(dir, 'many')
  for (let i = 0; i < 400; i++)
    for (const name of ['HEAD', 'config', 'objects', 'refs']) make(join(many, `.git/modules/m${i}`, name))
  const crowded = new GuardSurvey({ root: many, cwd: many, home, own: [], gitConfigs: [] })
  expect(crowded.workspace().length).toBeLessThan(4100)
  const rules = withGuard([rule('.', CAPABILITIES)], {
    root: openAmbientRoot(many),
    survey: crowded,
    more: [],
    code: [],
  })
  for (let i = 0; i < 400; i++) expect(may(rules, 'update', `.git/modules/m${i}/config`)).toBe(false)
})

test('SPEC 4.10 a rule that leads to a guarded path by a link does not override the guard', () => {
  const led = (path: string, written: string): FsRule => ({
    ...rule(path, CAPABILITIES),
    written: parseRelPath(written),
  })
  for (const [path, written] of [
    ['.git/hooks', 'build'],
    ['.git/hooks/pre-commit', 'build/pre-commit'],
    ['.vscode', 'dist'],
    ['Makefile', 'out'],
  ] as const) {
    const rules = [rule('.', ['read']), led(path, written)]
    expect(may(withGuard(rules, request), 'create', path)).toBe(false)
    expect(may(withGuard(rules, request), 'read', path)).toBe(true)
    expect(ledToGuarded(rules, request)).toEqual([rules[1]])
  }
  const plain = [rule('.', ['read']), led('src', 'alias')]
  expect(may(withGuard(plain, request), 'create', 'src/a')).toBe(true)
  expect(ledToGuarded(plain, request)).toEqual([])
})

test('SPEC 4.10 repositories below a mount are guarded (decision 0475)', () => {
  const projects = join(home, 'projects')
  for (const name of ['HEAD', 'config', 'objects/x', 'refs/x']) make(join(projects, 'b/.git', name))
  make(join(projects, 'plain/.envrc'))
  const rules = withGuard([rule('.', CAPABILITIES), rule('m', CAPABILITIES, projects)], request)
  for (const path of ['m/b/.git/config', 'm/b/.git/hooks/x', 'm/b/.vscode/x', 'm/plain/.envrc'])
    expect([path, may(rules, 'update', path)]).toEqual([path, false])
  for (const path of ['m/b/src', 'm/b/.git/index', 'm/plain/x'])
    expect([path, may(rules, 'update', path)]).toEqual([path, true])
})

test('decision 0475: thousands of repositories below a place: those that were known before, until the list is full', () => {
  const crowd = join(dir, 'crowd')
  for (let i = 0; i < 5000; i++) mkdirSync(join(crowd, `q/${i}/.git`), { recursive: true })
  for (const name of ['HEAD', 'config', 'objects/x', 'refs/x']) make(join(crowd, 'z/own/.git', name))
  make(join(crowd, 'z/own/.envrc'))
  const options = { root: crowd, cwd: crowd, home, own: [], gitConfigs: [] }
  const crowded = new GuardSurvey({
    ...options,
    knownBelow: (place) => (place === crowd ? [join(crowd, 'z/own')] : []),
  })
  expect(crowded.workspace().length).toBeLessThan(5000)
  const { path: first, why } = crowded.blindSpots[1]!
  expect(crowded.blindSpots).toEqual([
    { path: crowd, why: 'has very many repositories, so what is new in some of them is not told' },
    { path: first, why },
  ])
  expect(why.replace(/\d{4} more/, 'N more')).toBe(
    'and N more are left out, because 4000 paths are guarded already, so git’s configuration and hooks there are not',
  )
  const rules = withGuard([rule('.', CAPABILITIES)], {
    root: openAmbientRoot(crowd),
    survey: crowded,
    more: [],
    code: [],
  })
  for (const path of ['z/own/.git/config', 'z/own/.git/hooks/x', 'z/own/.envrc'])
    expect([path, may(rules, 'update', path)]).toEqual([path, false])
})

test('decision 0475: what cannot be remembered is told, and one run leaves no more than some hundred notes', () => {
  const wide = join(dir, 'wide')
  for (let i = 0; i < 600; i++) mkdirSync(join(wide, `${i}/a/.git`), { recursive: true })
  const notes = new Set<string>()
  const options = {
    root: wide,
    cwd: wide,
    home,
    own: [],
    gitConfigs: [],
    wasAround: (at: string) => notes.has(at),
    noteAround: (at: string) => void notes.add(at),
    noteBelow: () => 'not-all' as const,
  }
  const told = (): readonly string[] => {
    const crowded = new GuardSurvey(options)
    crowded.workspace()
    crowded.anew().workspace()
    return crowded.blindSpots.flatMap(({ path, why }) => (path === wide ? [why] : []))
  }
  const REMEMBERED =
    'has repositories in it, which cannot be remembered for all of its directories: who makes one of them a repository takes the guard off what is in it'
  const KNOWN =
    'has more repositories and projects than can be remembered: who fills it with others, or takes them out of an index, takes the guard off some of them'
  const first = told()
  expect(first).toContain(REMEMBERED)
  expect(first).toContain(KNOWN)
  expect(notes.size).toBe(500)
  expect(told()).not.toContain(REMEMBERED)
  expect(notes.size).toBe(601)
})

test('SPEC 4.10 links in many guarded directories: some of each, and no more than there can be mounts', () => {
  const linked = join(dir, 'linked')
  const filled = ['.vscode', '.idea', '.zed', '.helix', '.devcontainer', '.cursor/hooks', '.claude/agents']
  for (const name of filled) {
    mkdirSync(join(linked, name), { recursive: true })
    for (let i = 0; i < 1990; i++) symlinkSync(join(linked, 'to', name, `${i}`), join(linked, name, `${i}`))
  }
  make(join(linked, 'tools/own'))
  mkdirSync(join(linked, '.config/git'), { recursive: true })
  symlinkSync(join(linked, 'tools/own'), join(linked, '.config/git/own'))
  const crowded = new GuardSurvey({ root: linked, cwd: linked, home, own: [], gitConfigs: [] })
  const paths = crowded.workspace().map(({ path }) => path)
  expect(paths.length).toBeLessThan(17_000)
  expect(paths).toContain(join(linked, 'tools/own'))
  expect(crowded.blindSpots).toEqual([
    {
      path: join(linked, '.claude/agents'),
      why: 'has very many files, so programs that they name are not guarded',
    },
    {
      path: join(linked, '.helix'),
      why: 'and 3 more are not looked through to the end: guarded directories have very many entries, so what links in there lead to is not guarded',
    },
  ])
})
