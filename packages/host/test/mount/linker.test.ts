import { mkdtempSync, readlinkSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAmbientAnchor } from '@cordon/files'
import { type CanonicalPath, parseRelPath } from '@cordon/policy'
import { expect, test } from 'vitest'
import { linkerFor, type MakeLink, win32Linker } from '../../src/mount/linker.ts'

const name = parseRelPath('vendor/x')
const directory = { target: 'C:\\code\\x' as CanonicalPath, kind: 'directory' } as const
const file = { target: 'C:\\code\\x.txt' as CanonicalPath, kind: 'file' } as const

const failing = (code: string): Error => Object.assign(new Error(code), { code })

/** Windows as it says no: each type of link, and what comes of it. */
function windows(answers: Partial<Record<'file' | 'dir' | 'junction', Error>>): {
  calls: unknown[]
  make: MakeLink
} {
  const calls: unknown[] = []
  const make: MakeLink = (target, path, type) => {
    calls.push([target, path, type])
    const error = answers[type]
    if (error) throw error
  }
  return { calls, make }
}

test('SPEC 3.5 with the privilege a symbolic link is made, of the kind that the target is', () => {
  const { calls, make } = windows({})
  win32Linker('C:\\ws', make).link(name, directory)
  win32Linker('C:\\ws', make).link(name, file)
  expect(calls).toEqual([
    ['C:\\code\\x', 'C:\\ws\\vendor\\x', 'dir'],
    ['C:\\code\\x.txt', 'C:\\ws\\vendor\\x', 'file'],
  ])
})

test('SPEC 3.5 without it a directory gets a junction', () => {
  const { calls, make } = windows({ dir: failing('EPERM') })
  win32Linker('C:\\ws', make).link(name, directory)
  expect(calls).toEqual([
    ['C:\\code\\x', 'C:\\ws\\vendor\\x', 'dir'],
    ['C:\\code\\x', 'C:\\ws\\vendor\\x', 'junction'],
  ])
})

test('SPEC 3.5 without it a file gets a clear error, and no junction is tried', () => {
  const { calls, make } = windows({ file: failing('EPERM') })
  expect(() => win32Linker('C:\\ws', make).link(name, file)).toThrow(
    'Windows does not let you link to the file C:\\code\\x.txt\n' +
      '  fix: turn on Developer Mode or run as administrator, or mount the directory that holds the file',
  )
  expect(calls).toEqual([['C:\\code\\x.txt', 'C:\\ws\\vendor\\x', 'file']])
})

test('SPEC 3.5 any other failure stays what it is', () => {
  for (const answers of [{ dir: failing('EEXIST') }, { dir: failing('EPERM'), junction: failing('EIO') }])
    expect(() => win32Linker('C:\\ws', windows(answers).make).link(name, directory)).toThrow(/EEXIST|EIO/)
})

test('SPEC 3.5 elsewhere the link is anchored: a parent that is a link is not followed, nothing is replaced', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-linker-')))
  const away = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-linker-')))
  const anchor = openAmbientAnchor(root as CanonicalPath)
  try {
    const linker = linkerFor('linux', anchor, root)
    const target = { target: away as CanonicalPath, kind: 'directory' } as const
    linker.link(parseRelPath('x'), target)
    expect(readlinkSync(join(root, 'x'))).toBe(away)
    expect(() => linker.link(parseRelPath('x'), target)).toThrow('cannot link x: it already exists')
    symlinkSync(away, join(root, 'vendor'))
    expect(() => linker.link(name, target)).toThrow(
      'cannot link vendor/x: vendor is a symbolic link, and links are not followed',
    )
  } finally {
    anchor.close()
    rmSync(root, { recursive: true })
    rmSync(away, { recursive: true })
  }
})
