import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAmbientRoot } from '@cordon/policy'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { everyReading, readingsOf } from '../../src/execute/readings.ts'
import { wordPaths } from '../../src/execute/word-paths.ts'

test.each([
  ['a/b', ['/w/a/b']],
  ['/a', ['/a']],
  ['~/n', ['/w/~/n', '/h/n']],
  ['file://n', ['/w/file:/n', '/w/n']],
  ['file://localhost/n', ['/w/file:/localhost/n', '/n']],
  ['%2Eenv', ['/w/%2Eenv', '/w/.env']],
  ['@.env', ['/w/@.env', '/w/.env']],
  ['.\\.env', ['/w/.\\.env', '/w/.env']],
  ['l/../x', ['/w/x', '/w/l/../x']],
  ['100%', ['/w/100%']],
  ['%252eenv', ['/w/%252eenv', '/w/.env']],
  ['%2eenv%zz', ['/w/%2eenv%zz', '/w/.env%zz']],
  ['~h/n', ['/w/~h/n', '/h/n']],
  ['file://127.0.0.1/n', ['/w/file:/127.0.0.1/n', '/n']],
  ['@@.env', ['/w/@@.env', '/w/.env']],
  ['-f.env', ['/w/-f.env', '/w/.env']],
  ['-fd/x', ['/w/-fd/x', '/w/d/x', '/x']],
  ['--env-file.env', ['/w/--env-file.env', '/w/env-file.env', '/w/.env']],
  ['-i~/n', ['/w/-i~/n', '/w/~/n', '/h/n']],
  ['-d@/h/n', ['/w/-d@/h/n', '/h/n', '/w/@/h/n']],
  ['x@/h/n', ['/w/x@/h/n', '/h/n']],
])('decision 0405: %j may be taken for %j', (word, paths) => {
  expect(readingsOf(word, '/w', '/h')).toEqual(paths)
})

test('the short way for plain words agrees with the definition', () => {
  const word = fc.string({
    unit: fc.constantFrom(...Array.from('ab_Z0 ./-@~%:\\#é\n')),
    minLength: 1,
    maxLength: 8,
  })
  fc.assert(
    fc.property(word, fc.constantFrom('/w', '/a..b', '/'), (given, root) => {
      expect(readingsOf(given, root, '/h/b')).toEqual(everyReading(given, root, '/h/b'))
    }),
    { numRuns: 5000 },
  )
})

test('decision 0408: a word leads to where each reading of it does, and what cannot be followed is another place', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-words-')))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const dir of ['~', 'ops/sub', 'd']) mkdirSync(join(root, dir), { recursive: true })
  symlinkSync('../.env', join(root, '~/n'))
  symlinkSync('ops/sub', join(root, 'lib'))
  symlinkSync('\ufffd/../.env', join(root, 'odd'))
  const world = { root: openAmbientRoot(root), home: '/nonexistent', places: [] }
  expect(wordPaths(['~/n', 'lib/../x', 'odd', 'd'], world).map(({ path, place }) => [path, place])).toEqual([
    ['d', 'd'],
    ['odd', 'nobody can say where'],
    ['lib/../x', 'ops/x'],
    ['~/n', '.env'],
  ])
})
