import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makePrivateDirectory } from '@cordon/workspace'
import { expect, onTestFinished, test } from 'vitest'

test('a directory of the user’s own is made with those above it, and where it cannot be, that is said', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cordon-directories-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  makePrivateDirectory(join(dir, 'a/b'))
  makePrivateDirectory(join(dir, 'a/b'))
  expect(statSync(join(dir, 'a')).mode & 0o777).toBe(0o700)
  writeFileSync(join(dir, 'file'), '')
  expect(() => makePrivateDirectory(join(dir, 'file/b'))).toThrow(
    expect.objectContaining({
      code: 'STORAGE',
      message: `cannot make ${join(dir, 'file/b')}: a part of its path is not a directory`,
    }),
  )
  expect(() => makePrivateDirectory('/proc/nothing/here')).toThrow(
    expect.objectContaining({ code: 'STORAGE' }),
  )
})
