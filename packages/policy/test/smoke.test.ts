import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseContext } from '@cordon/policy'
import { expect, test } from 'vitest'

test('SPEC 1.3 a link out of the workspace is an escape', () => {
  const root = mkdtempSync(join(tmpdir(), 'cordon-'))
  writeFileSync(join(root, 'a'), '')
  symlinkSync('/etc/passwd', join(root, 'out'))
  const context = parseContext({ root, action: 'run', access: { fs: [{ path: '.', read: true }] } })
  expect(context.checkRead('a')).toBe(join(root, 'a'))
  expect(() => context.checkRead('out')).toThrow('path escapes the workspace: out')
})
