import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { readClientFile, sweepTemp, writeClientFile } from '../../src/mcp/clients/file.ts'

let dir: string
let file: string
const around = { env: {}, platform: 'linux', home: '/nowhere', uid: process.getuid?.() }

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cordon-client-'))
  file = join(dir, 'mcp.json')
  writeFileSync(file, '{}', { mode: 0o640 })
})

const left = (): [string, string[]] => [readFileSync(file, 'utf8'), readdirSync(dir).toSorted()]

test('the whole text, with the mode it had; a temporary file that a killed writer left is replaced', () => {
  writeFileSync(join(dir, '.mcp.json.cordon-tmp'), 'half')
  writeClientFile(readClientFile(file, around, 'refuse')!, '{ "a": 1 }', around)
  expect(left()).toEqual(['{ "a": 1 }', ['mcp.json']])
  expect(statSync(file).mode & 0o777).toBe(0o640)
})

test('a directory in the place of the temporary file is no more than that', () => {
  mkdirSync(join(dir, '.mcp.json.cordon-tmp/deep'), { recursive: true })
  sweepTemp(readClientFile(file, around, 'refuse')!)
  expect(left()).toEqual(['{}', ['mcp.json']])
})

test('what the client wrote meanwhile is not lost', () => {
  const was = readClientFile(file, around, 'refuse')!
  writeFileSync(file, '{ "client": true }')
  expect(() => writeClientFile(was, '{}', around)).toThrow('somebody else changed it meanwhile')
  expect(left()).toEqual(['{ "client": true }', ['mcp.json']])
  // The same text in another file: the client replaced it, and may do so again.
  const again = readClientFile(file, around, 'refuse')!
  writeFileSync(join(dir, 'new'), '{ "client": true }')
  renameSync(join(dir, 'new'), file)
  expect(() => writeClientFile(again, '{}', around)).toThrow('somebody else changed it meanwhile')
})

test('a link that was put there meanwhile is not written through, nor one that leads elsewhere by now', () => {
  const other = join(dir, 'other')
  writeFileSync(other, '{}')
  const was = readClientFile(file, around, 'refuse')!
  rmSync(file)
  symlinkSync(other, file)
  expect(() => writeClientFile(was, '{ "a": 1 }', around)).toThrow('it is a link')
  const followed = readClientFile(file, around, 'follow')!
  expect(followed.real).toBe(other)
  mkdirSync(join(dir, 'd'))
  writeFileSync(join(dir, 'd/third'), '{}')
  rmSync(file)
  symlinkSync(join(dir, 'd/third'), file)
  expect(() => writeClientFile(followed, '{ "a": 1 }', around)).toThrow('somebody else changed it meanwhile')
  expect(readFileSync(other, 'utf8')).toBe('{}')
})

test('a directory of a project that is a link leads nowhere', () => {
  mkdirSync(join(dir, 'real'))
  writeFileSync(join(dir, 'real/mcp.json'), '{}')
  symlinkSync(join(dir, 'real'), join(dir, '.cursor'))
  expect(() => readClientFile(join(dir, '.cursor/mcp.json'), around, 'refuse')).toThrow('reached through one')
})
