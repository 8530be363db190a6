import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { rgPath } from '@vscode/ripgrep'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { requiredLiteral } from '../src/grep/required-literal.ts'
import { matchGlob, parseGlob } from '../src/walk/glob.ts'
import { expandBraces, GlobFilter } from '../src/walk/glob-filter.ts'
import { IgnoreRules } from '../src/walk/ignore-rules.ts'
import { Workspace } from './support/workspace.ts'

test.each([
  ['*.ts', 'a.ts', true],
  ['*.ts', 'a/b.ts', false],
  ['**/*.ts', 'a.ts', true],
  ['**/*.ts', 'a/b/c.ts', true],
  ['a/**', 'a', false],
  ['a/**', 'a/b/c', true],
  ['a/**/z', 'a/z', true],
  ['a/**/z', 'a/b/c/z', true],
  ['a/**/z', 'a/b/zz', false],
  ['?', 'ü', true],
  ['?', '🙂', true],
  ['[a-c]x', 'bx', true],
  ['[!a-c]x', 'bx', false],
  ['[^a-c]x', 'dx', true],
  ['[]x]', ']', true],
  ['[a-]', '-', true],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['[\\]]', ']', true],
  ['a*b*c', 'aXbYbZc', true],
  ['*', '', true],
])('the glob %s on %s is %s', (pattern, path, expected) => {
  expect(matchGlob(parseGlob(pattern), path)).toBe(expected)
})

test('a hostile glob on a hostile name takes no time', () => {
  const glob = parseGlob(`${'*a'.repeat(100)}*b`)
  const started = process.cpuUsage().user
  for (let i = 0; i < 100; i++) expect(matchGlob(glob, 'a'.repeat(255))).toBe(false)
  const filter = new GlobFilter([`${'**/'.repeat(100)}x`])
  expect(filter.accepts('d/'.repeat(200) + 'y')).toBe(false)
  // Backtracking would need more than the age of the universe; the bound only has to tell the two apart.
  expect(process.cpuUsage().user - started).toBeLessThan(20_000_000)
})

test('braces stand for each of their choices', () => {
  expect(expandBraces('a{b,c{d,e}}f')).toEqual(['abf', 'acdf', 'acef'])
  expect(expandBraces('x.{ts,tsx}')).toEqual(['x.ts', 'x.tsx'])
  expect(expandBraces('\\{a,b}')).toEqual(['\\{a,b}'])
})

test('ignore rules agree with git', () => {
  const workspace = new Workspace()
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: workspace.root, stdio: ['pipe', 'pipe', 'ignore'] })
  git('init', '-q')
  const part = fc.constantFrom('a', 'b', 'ab', 'a.b', '*', '?', '**', 'a*', '*b', '[ab]', '[!a]', 'a?')
  const line = fc
    .tuple(
      fc.constantFrom('', '', '', '!'),
      fc.constantFrom('', '/'),
      fc.array(part, { minLength: 1, maxLength: 3 }),
      fc.constantFrom('', '', '/'),
    )
    .map(([not, tied, parts, directory]) => `${not}${tied}${parts.join('/')}${directory}`)
  const paths = ['a', 'b', 'ab', 'a.b', 'x', 'a/b', 'b/a', 'ab/a', 'x/a.b', 'a/b/ab', 'x/y/b', 'b/x/a/ab']
  // git looks at what is there to know what is a directory; none of these is.
  for (const lines of fc.sample(fc.array(line, { minLength: 1, maxLength: 4 }), 60)) {
    writeFileSync(workspace.path('.gitignore'), `${lines.join('\n')}\n`)
    const rules = new IgnoreRules(lines.join('\n'))
    const ours = paths.filter((path) => isIgnored(rules, path))
    expect({ lines, ignored: ours }).toEqual({ lines, ignored: ignoredByGit(workspace.root, paths) })
  }
})

/** As a walk does it: a directory that is ignored is not entered, so nothing in it can be asked for again. */
function isIgnored(rules: IgnoreRules, path: string): boolean {
  const parts = path.split('/')
  return parts.some(
    (_, i) =>
      rules.ignores(parts.slice(0, i + 1).join('/'), i + 1 < parts.length ? 'directory' : 'other') === true,
  )
}

function ignoredByGit(cwd: string, paths: readonly string[]): string[] {
  try {
    const output = execFileSync('git', ['check-ignore', '--no-index', '--stdin'], {
      cwd,
      input: paths.join('\n'),
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    return output.toString('utf8').split('\n').filter(Boolean)
  } catch {
    return [] // exit code 1: none
  }
}

test('a required literal is in everything that ripgrep matches', () => {
  const atom = fc.constantFrom(
    'a',
    'b',
    'ab',
    'abc',
    '\\.',
    '.',
    '[ab]',
    '\\w',
    '\\b',
    '^',
    '$',
    '\\x61',
    '\\/',
    'é',
    '\\p{L}',
    '[^x]',
    '\\<',
  )
  const quantity = fc.constantFrom('', '', '', '*', '+', '?', '{0}', '{2}', '{0,2}', '+?')
  const pattern = fc
    .array(fc.tuple(atom, quantity), { minLength: 1, maxLength: 6 })
    .map((parts) => parts.map(([a, q]) => (/[\^$]|\\b|\\</.test(a) ? a : a + q)).join(''))
  const lines = fc.sample(
    fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'x', '.', '/', 'é', ' '), minLength: 1, maxLength: 12 }),
    300,
  )
  for (const sample of fc.sample(pattern, 80)) {
    const literal = requiredLiteral(sample)
    if (literal === undefined) continue
    for (const match of matchedByRipgrep(sample, lines))
      expect({ sample, literal, match, has: match.includes(literal) }).toMatchObject({ has: true })
  }
  expect(requiredLiteral('needle')).toBe('needle')
  expect(requiredLiteral('fn +main\\(')).toBeUndefined()
  expect(requiredLiteral('foo\\.bar+')).toBe('foo.bar')
  expect(requiredLiteral('abcd?')).toBe('abc')
  expect(requiredLiteral('a|b')).toBeUndefined()
  expect(requiredLiteral('(?i)abc')).toBeUndefined()
})

function matchedByRipgrep(pattern: string, lines: readonly string[]): string[] {
  try {
    const output = execFileSync(rgPath, ['--no-config', '--regexp', pattern, '-'], {
      input: lines.join('\n'),
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    return output.toString('utf8').split('\n').filter(Boolean)
  } catch {
    return []
  }
}

test('what is searched is what ripgrep searches', async () => {
  const workspace = new Workspace({
    '.gitignore': '*.log\nbuild/\n!x/keep.log\n',
    'a.log': 'needle',
    'x/keep.log': 'needle',
    'build/y': 'needle',
    'x/.hidden': 'needle',
    'x/z.ts': 'a needle\nneedles\n',
    'x/.ignore': 'z2.*\n',
    'x/z2.ts': 'needle',
  })
  mkdirSync(workspace.path('.git'))
  const theirs = execFileSync(rgPath, ['--no-config', '-n', '--no-heading', '--sort=path', 'needle', '.'], {
    cwd: workspace.root,
  }).toString('utf8')
  const result = await workspace.run('fs_grep_files', { pattern: 'needle' })
  const ours =
    result.type === 'success'
      ? result.content.flatMap((block) => {
          if (block.type !== 'resource' || !('text' in block.resource)) return []
          const name = decodeURI(block.resource.uri.slice('file:///'.length).replace('#matches', ''))
          return block.resource.text.split('\n').map((line) => `${name}:${line}\n`)
        })
      : []
  expect(ours.join('')).toBe(theirs.replaceAll('./', ''))
})
