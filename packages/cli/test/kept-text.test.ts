import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { keepText, sweepTexts } from '../src/kept-text.ts'

const uid = process.getuid?.()
let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kept-text-'))
  vi.stubEnv('TMPDIR', dir)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(dir, { recursive: true, force: true })
})

const DAY = 24 * 60 * 60 * 1000

function age(file: string, days: number): string {
  const then = new Date(Date.now() - days * DAY)
  utimesSync(file, then, then)
  return file
}

test('a text that was kept is there for a week, and then removed with its directory', () => {
  const young = age(keepText('not yet'), 6)
  const old = age(keepText('long ago'), 8)
  sweepTexts({ uid })
  expect(readFileSync(young, 'utf8')).toBe('not yet')
  expect(existsSync(dirname(old))).toBe(false)
})

test('what is not known to be a text of this person stays', () => {
  const opened = age(keepText('others may look into it'), 8)
  chmodSync(dirname(opened), 0o755)
  const more = age(keepText('something else beside it'), 8)
  writeFileSync(join(dirname(more), 'mine'), '')
  const elsewhere = join(dir, 'elsewhere')
  mkdirSync(elsewhere, { mode: 0o700 })
  writeFileSync(join(elsewhere, 'query.md'), 'behind a link')
  age(join(elsewhere, 'query.md'), 8)
  const link = join(dir, 'cordon-text-linked')
  symlinkSync(elsewhere, link)
  const empty = join(dir, 'cordon-text-empty')
  mkdirSync(empty, { mode: 0o700 })
  sweepTexts({ uid })
  expect([opened, more, link, empty].map((path) => existsSync(path))).toEqual([true, true, true, true])
})

test.runIf(uid === 0)('another person’s text stays', () => {
  const theirs = age(keepText('theirs'), 8)
  chownSync(dirname(theirs), 1234, 1234)
  sweepTexts({ uid })
  expect(existsSync(theirs)).toBe(true)
})
