import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { expandBraces, GlobError, IgnoreFiles, matchGlob, matchVisible, parseGlob } from '../src/index.ts'
import { makePlace } from './place.ts'

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
  ['[[:upper:]_]', 'A', true],
  ['[[:upper:]_]', '_', true],
  ['[[:upper:]_]', 'a', false],
  ['[!]a]', ']', false],
  ['[a\\-c]', 'b', false],
  ['[--0]', '.', true],
])('the glob %s on %s is %s', (pattern, path, expected) => {
  expect(matchGlob(parseGlob(pattern), path)).toBe(expected)
})

test('a hostile glob on a hostile name takes no time', () => {
  const glob = parseGlob(`${'*a'.repeat(100)}*b`)
  const started = process.cpuUsage().user
  for (let i = 0; i < 100; i++) expect(matchGlob(glob, 'a'.repeat(255))).toBe(false)
  expect(matchGlob(parseGlob(`${'**/'.repeat(100)}x`), 'd/'.repeat(200) + 'y')).toBe(false)
  // Backtracking would need more than the age of the universe; the bound only has to tell the two apart.
  expect(process.cpuUsage().user - started).toBeLessThan(20_000_000)
})

test('braces stand for each of their choices', () => {
  expect(expandBraces('a{b,c{d,e}}f')).toEqual(['abf', 'acdf', 'acef'])
  expect(expandBraces('x.{ts,tsx}')).toEqual(['x.ts', 'x.tsx'])
  expect(expandBraces('\\{a,b}')).toEqual(['\\{a,b}'])
})

test.each([
  ['[abc', '[abc has a [ without its ]'],
  ['a\\', 'a\\ ends in a backslash'],
  ['[[:nope:]]', '[[:nope:]] has a class that is not known'],
])('%s is no pattern', (text, problem) => {
  expect(() => parseGlob(text)).toThrow(new GlobError(problem))
})

test.each([
  ['*b\r', 'ab', true],
  ['a \r\n!a', 'a', false],
  ['\uFEFFa', 'a', true],
  ['a\\ ', 'a ', true],
])('the ignore file %j on %s is %s', (text, path, expected) => {
  const rules = new IgnoreFiles()
  rules.add('.', [text])
  expect(rules.ignores(path, 'other')).toBe(expected)
})

const names = fc.constantFrom('a', 'b', 'ab', '.a', '.b', 'x')
const paths = fc.array(names, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'))
const globs = fc
  .array(fc.constantFrom('a', '*', '**', '?', '.*', '.a', '[ab]', '*b', '.?'), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join('/'))

test('a leading dot is found only by a pattern that writes it: by definition, on random paths', () => {
  fc.assert(
    fc.property(globs, paths, (glob, path) => {
      expect(matchVisible(parseGlob(glob), path), `${glob} on ${path}`).toBe(
        byDefinition(glob.replace(/\*\*$/, '**/*').split('/'), path.split('/')),
      )
    }),
    { numRuns: 3000 },
  )
})

/** Every way to split the path, one component after the other. Slow on purpose. */
function byDefinition([first, ...rest]: readonly string[], items: readonly string[]): boolean {
  const [name, ...others] = items
  if (first === undefined) return name === undefined
  if (first === '**' && byDefinition(rest, items)) return true
  if (name === undefined) return false
  if (first === '**') return !name.startsWith('.') && byDefinition([first, ...rest], others)
  if (name.startsWith('.') && !first.startsWith('.')) return false
  return matchGlob(parseGlob(first), name) && byDefinition(rest, others)
}

const part = fc.constantFrom(
  'a',
  'b',
  'ab',
  'a.b',
  '*',
  '?',
  '**',
  'a*',
  '*b',
  '[ab]',
  '[!a]',
  '[^b]',
  'a?',
  '[[:alpha:]]',
  '[]a]',
  '[a-',
  '[',
  'b]',
  'a\\',
  '\\a',
  '\\*',
  'a**b',
  'x y',
)
const line = fc
  .tuple(
    fc.constantFrom('', '', '', '!', '\\!', '#'),
    fc.constantFrom('', '', '/'),
    fc.array(part, { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', '', '/', ' ', '\\ ', '\r', '  ', '\\', '\t'),
  )
  .map(([not, tied, parts, end]) => `${not}${tied}${parts.join('/')}${end}`)
const ignoreFile = fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n'))
const tree = fc.record({
  files: fc.uniqueArray(
    fc
      .array(fc.constantFrom('a', 'b', 'ab', 'a.b', 'aXb', '!a', '#a', 'x y', '*', 'a '), {
        minLength: 1,
        maxLength: 4,
      })
      .map((parts) => parts.join('/')),
    { minLength: 1, maxLength: 12 },
  ),
  ignores: fc.dictionary(fc.constantFrom('', 'a', 'b', 'a/b', 'ab', 'a.b/a'), ignoreFile, { maxKeys: 3 }),
})

test('which files of a random tree are ignored is what git says', () => {
  fc.assert(
    fc.property(tree, ({ files, ignores }) => {
      const { inside } = makePlace()
      const git = (...args: string[]): string =>
        execFileSync('git', args, { cwd: inside, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] })
      git('init', '-q')
      const real = files.filter((path) => !files.some((other) => other.startsWith(`${path}/`)))
      const directories = new Set(real.flatMap((path) => ancestors(path)))
      for (const path of real) {
        mkdirSync(dirname(join(inside, path)), { recursive: true })
        writeFileSync(join(inside, path), '')
      }
      const rules = new IgnoreFiles()
      for (const [directory, text] of Object.entries(ignores)) {
        if (directory !== '' && !directories.has(directory)) continue
        writeFileSync(join(inside, directory, '.gitignore'), text)
        rules.add(directory === '' ? '.' : directory, [text])
      }
      const seen = git(
        '-c',
        'core.quotePath=false',
        'ls-files',
        '-z',
        '--others',
        '--exclude-per-directory=.gitignore',
      )
      const kept = seen.split('\0').filter((path) => real.includes(path))
      expect({ files: real, ignores, kept: real.filter((path) => isKept(rules, path)).sort() }).toEqual({
        files: real,
        ignores,
        kept: kept.sort(),
      })
    }),
    { numRuns: Number(process.env['CORDON_ROUNDS'] ?? 150) },
  )
})

const ancestors = (path: string): string[] =>
  path
    .split('/')
    .slice(0, -1)
    .map((_, i, all) => all.slice(0, i + 1).join('/'))

/** As a walk does it: a directory that is ignored is not entered, so nothing in it can be asked for again. */
const isKept = (rules: IgnoreFiles, path: string): boolean =>
  !ancestors(path).some((directory) => rules.ignores(directory, 'directory')) && !rules.ignores(path, 'other')
