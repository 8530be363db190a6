import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseRelPath } from '@cordon/policy'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Anchor, FileError } from '../src/index.ts'
import { IMPLEMENTATIONS, openHandles } from './place.ts'

/** Few names, so that paths and trees meet. */
const name = fc.constantFrom('a', 'b', 'c')
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))

const linkText = fc.oneof(
  path,
  path.map((text) => `../${text}`),
  // Nothing of the real system: a broken build must not be able to harm the machine that tests it.
  fc.constantFrom(
    '.',
    '..',
    '../../outside',
    '../outside/a',
    'OUTSIDE',
    'OUTSIDE/a',
    'OUTSIDE/a/b',
    'nowhere',
  ),
)

const thing = fc.oneof(
  fc.record({ at: path, is: fc.constantFrom('file', 'directory', 'fifo') }),
  fc.record({ at: path, is: fc.constant('link'), text: linkText }),
)

const step = fc.record({
  operation: fc.constantFrom(
    'read',
    'range',
    'append',
    'write',
    'create',
    'mkdir',
    'mkdirp',
    'unlink',
    'rmdir',
    'rename',
    'replace',
    'stat',
    'list',
    'walk',
    'readlink',
    'sweep',
  ),
  at: path,
  to: path,
})

type Thing = { at: string; is: string; text?: string }
type Step = { operation: string; at: string; to: string }

describe.each(IMPLEMENTATIONS)('$name', ({ open }) => {
  test('SPEC 6.4 on random trees nothing outside is read or touched, and no handle stays open', () => {
    fc.assert(
      fc.property(
        fc.array(thing, { maxLength: 12 }),
        fc.array(step, { minLength: 1, maxLength: 25 }),
        (tree, steps) => {
          const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-property-')))
          try {
            const { inside, outside } = build(base, tree)
            const before = snapshot(outside)
            const handles = openHandles()
            const anchor = open(inside)
            for (const each of steps) expect(JSON.stringify([carryOut(anchor, each)])).not.toContain('secret')
            anchor.close()
            expect(openHandles()).toBe(handles)
            expect(snapshot(outside)).toEqual(before)
            expect(execFileSync('find', [base, '-name', '.cordon-tmp-*'], { encoding: 'utf8' })).toBe('')
            expect(readdirSync(base).sort()).toEqual(['inside', 'outside'])
          } finally {
            rmSync(base, { recursive: true, force: true })
          }
        },
      ),
      { numRuns: 150 },
    )
  })
})

function build(base: string, tree: Thing[]): { inside: string; outside: string } {
  const inside = join(base, 'inside')
  const outside = join(base, 'outside')
  mkdirSync(inside)
  for (const directory of ['a/b/c', 'b', 'c']) mkdirSync(join(outside, directory), { recursive: true })
  for (const file of ['a/secret', 'a/b/a', 'a/b/secret', 'b/a', 'secret'])
    writeFileSync(join(outside, file), 'secret')
  for (const { at, is, text = '' } of tree) {
    const full = join(inside, at)
    if (!makeParents(inside, at) || lstatSync(full, { throwIfNoEntry: false })) continue
    if (is === 'file') writeFileSync(full, 'mine', { flag: 'wx' })
    else if (is === 'directory') mkdirSync(full)
    else if (is === 'fifo') execFileSync('mkfifo', [full])
    else symlinkSync(text.replace('OUTSIDE', outside), full)
  }
  return { inside, outside }
}

/** Component by component, because nothing is built through the links of the tree. */
function makeParents(inside: string, at: string): boolean {
  let here = inside
  for (const part of at.split('/').slice(0, -1)) {
    here = join(here, part)
    const there = lstatSync(here, { throwIfNoEntry: false })
    if (there && !there.isDirectory()) return false
    if (!there) mkdirSync(here)
  }
  return true
}

function carryOut(anchor: Anchor, { operation, at, to }: Step): unknown {
  const from = parseRelPath(at)
  const target = parseRelPath(to)
  const acts: Record<string, () => unknown> = {
    read: () => anchor.readFile(from).toString(),
    range: () => anchor.readRange(from, { start: 1, length: 100 }).toString(),
    append: () => {
      const file = anchor.openAppend(from)
      file.append(Buffer.from('more'))
      file.close()
    },
    write: () => anchor.writeFile(from, 'mine'),
    create: () => anchor.createExclusive(from, 'mine'),
    mkdir: () => anchor.mkdir(from),
    mkdirp: () => anchor.mkdirp(from),
    unlink: () => anchor.unlink(from),
    rmdir: () => anchor.rmdir(from),
    rename: () => anchor.rename(from, target),
    replace: () => anchor.rename(from, target, { replace: 'file' }),
    stat: () => anchor.stat(from).kind,
    list: () => anchor.list(from),
    walk: () => [...anchor.walk(from)].map((entry) => entry.path),
    readlink: () => anchor.readlink(from),
    sweep: () => anchor.sweepTemps(from),
  }
  try {
    return acts[operation]?.()
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    expect(error.message).not.toContain('/proc/')
    expect(error.code).not.toBe('FILE_IO')
    return error.code
  }
}

function snapshot(top: string): string[] {
  return readdirSync(top, { recursive: true, encoding: 'utf8' })
    .concat('.')
    .sort()
    .map((entry) => {
      const stats = lstatSync(join(top, entry), { bigint: true })
      const content = stats.isFile() ? readFileSync(join(top, entry), 'utf8') : ''
      return `${entry} ${stats.mode} ${stats.ctimeNs} ${stats.nlink} ${content}`
    })
}
