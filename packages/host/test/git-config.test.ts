import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type GitSetting, parseGitConfig } from '../src/guard/git-config.ts'

const file = join(mkdtempSync(join(tmpdir(), 'cordon-git-config-')), 'config')

/** What git itself reads; `whole` says that it found no mistake. */
function askGit(text: string): { readonly whole: boolean; readonly settings: readonly GitSetting[] } {
  writeFileSync(file, text)
  const { status, stdout } = spawnSync('git', ['config', '-f', file, '--list', '-z'], { encoding: 'utf8' })
  const settings = stdout
    .split('\0')
    .slice(0, -1)
    .map((entry) => {
      const end = entry.indexOf('\n')
      return end < 0
        ? { key: entry, value: undefined }
        : { key: entry.slice(0, end), value: entry.slice(end + 1) }
    })
  return { whole: status === 0, settings }
}

test.each([
  ['a comment after it', '[core]\n\thooksPath = .githooks # ours\n'],
  ['quotes and a comment', '[core]\n\thooksPath = ".githooks" ; c\n'],
  ['one line', '[core] hooksPath = .githooks\n'],
  ['quotes in the middle', '[core]\n\thooksPath = .git"hooks"\n'],
  ['a line that goes on', '[core]\n\thooksPath = ".git\\\nhooks"\n'],
  ['another case', '[CORE]\nHOOKSPATH=.githooks'],
  ['lines as in DOS, and a mark at the beginning', '\uFEFF[core]\r\nhooksPath = .githooks\r\n'],
])('SPEC 4.10 what git obeys is found however it is written: %s', (_, text) => {
  expect(parseGitConfig(text)).toEqual([{ key: 'core.hookspath', value: '.githooks' }])
  expect(askGit(text)).toEqual({ whole: true, settings: [{ key: 'core.hookspath', value: '.githooks' }] })
})

const piece = fc.constantFrom(
  '[core]',
  '[a "b"]',
  '[a "B\\"c"]',
  '[',
  ']',
  '"',
  '\\',
  '\\\n',
  '\\n',
  '\\x',
  '=',
  ' = ',
  '\n',
  '\r\n',
  '\r',
  '\t',
  '  ',
  '#',
  ';',
  'hooksPath',
  'path',
  'A-1',
  '.x',
  'é',
  '~/',
  '\uFEFF',
  '[core] x = y',
  '[a.B "c"]',
  '\nx = ',
)

test('SPEC 4.10 the same settings as git reads, of random files', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('', '[core]\n', '[a "b"]\nx = '),
      fc.array(piece, { maxLength: 14 }),
      (start, pieces) => {
        const text = start + pieces.join('')
        const { whole, settings } = askGit(text)
        // Of a file with a mistake git says what stands before it, or nothing.
        if (whole || settings.length > 0) expect(parseGitConfig(text)).toEqual(settings)
      },
    ),
    { numRuns: 400 },
  )
})

test('linear: a megabyte of anything is read in no time', () => {
  const started = processorTime()
  for (const part of ['\n', ' ', '"', '\\\n', '[', 'x', 'x = \n', '[a]\n', 'x = "a" ', ' ;', '\r'])
    for (const start of ['', '[a]\nx = ', '[a "', '[a]\nx'])
      parseGitConfig(start + part.repeat(Math.floor(1e6 / part.length)) + 'b')
  expect(processorTime() - started).toBeLessThan(16_000)
})

/** Of this process, in milliseconds: on a busy machine the clock says nothing. */
const processorTime = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
