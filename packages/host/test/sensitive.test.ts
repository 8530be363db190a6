import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { patternsHere } from '../src/compile/sensitive.ts'

let home: string
beforeEach(() => {
  home = join(realpathSync(mkdtempSync(join(tmpdir(), 'cordon-sensitive-'))), 'home')
  mkdirSync(home)
})
afterEach(() => rmSync(join(home, '..'), { recursive: true }))

const places = (pattern: string, from = home): readonly string[] =>
  patternsHere({ home: from, patterns: [pattern] })

/** SPEC 4.9: a secret has every name by which it can be reached. */
test('SPEC 4.9 what is where it is written has one name, also when it is not there', () => {
  mkdirSync(join(home, '.ssh'))
  expect(places('~/.ssh')).toEqual([join(home, '.ssh')])
  expect(places('~/.config/gh')).toEqual([join(home, '.config/gh')])
})

test('SPEC 4.9 a link in the home, or to it, makes a second name', () => {
  const other = join(home, '../other')
  mkdirSync(other)
  symlinkSync(other, join(home, '.aws'))
  expect(places('~/.aws/x')).toEqual([join(home, '.aws/x'), join(other, 'x')])
  const link = join(home, '../link')
  symlinkSync(home, link)
  expect(places('~/.ssh', link)).toEqual([join(link, '.ssh'), join(home, '.ssh')])
})

test.each([
  ['~/a/../b', 'b'],
  ['~//a', 'a'],
  ['~/./a/', 'a/'],
  ['~/../beside', '../beside'],
])('SPEC 4.9 %s is meant as it would be opened', (pattern, meant) => {
  const written = join(home, meant)
  expect(places(pattern)).toEqual([...new Set([written, written.replace(/\/$/, '')])])
})

test('SPEC 4.9 a home that ends with a slash, or is the root', () => {
  expect(places('~/.ssh', `${home}/`)).toEqual([join(home, '.ssh')])
  expect(places('~/.nobody-has-this', '/')).toEqual(['/.nobody-has-this'])
})

test('SPEC 4.9 a name anywhere, and an absolute path, are no places in the home', () => {
  expect(places('**/.env*')).toEqual(['**/.env*'])
  expect(places(join(home, 'x'))).toEqual([join(home, 'x')])
})
