import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { rgPath } from '@vscode/ripgrep'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { requiredLiteral } from '../src/grep/required-literal.ts'
import { Workspace } from './support/workspace.ts'

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
          return block.resource.text.split('\n').map((line) => `${line}\n`)
        })
      : []
  expect(ours.join('')).toBe(theirs.replaceAll('./', ''))
})
