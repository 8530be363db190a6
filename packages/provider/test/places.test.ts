import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileError } from '@cordon/files'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Refusal } from '../src/errors.ts'
import { Places } from '../src/pipeline/places.ts'
import { parsePrefix, type PathPrefix } from '../src/tokens/prefix.ts'

let dir: string
let prefix: PathPrefix
let places: Places

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-places-')))
  prefix = parsePrefix(join(dir, 'ws'))
  for (const each of ['own', 'ws', 'outside']) mkdirSync(join(dir, each))
  places = new Places(join(dir, 'own'))
})
afterEach(() => places.close())

describe('SPEC 7.3 a prefix that is exchanged for a link in the middle of a request', () => {
  const ended = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

  /** Of each look, while another process exchanges the names. */
  async function whileSwapped(look: () => string): Promise<Set<string>> {
    symlinkSync(join(dir, 'outside'), join(dir, 'link'))
    const swapping = fork(join(import.meta.dirname, 'children/swap.ts'), [prefix, join(dir, 'link'), '3000'])
    await once(swapping, 'message')
    const seen = new Set<string>()
    while (!ended(swapping)) {
      for (let i = 0; i < 500; i++) seen.add(look())
      await new Promise(setImmediate)
    }
    return seen
  }

  const codeOf = (error: unknown): string => {
    if (error instanceof Refusal || error instanceof FileError) return error.code
    throw error
  }

  /** What a race can end with: it was found, it was a link, it was not there, it was another one. */
  const TOLD = new Set([
    'mine',
    'resource_out_of_scope',
    'not_found',
    'changed',
    'FILE_NOT_FOUND',
    'FILE_IS_LINK',
    'FILE_NOT_DIRECTORY',
    'FILE_CHANGED',
  ])

  test.each(['object', 'entry'] as const)('nothing is read where it leads (%s)', async (meaning) => {
    writeFileSync(join(prefix, 'f'), 'mine')
    writeFileSync(join(dir, 'outside', 'f'), 'secret')
    const seen = await whileSwapped(() => {
      const visit = places.visit()
      try {
        const { anchor, inside } = visit.find(prefix, join(prefix, 'f'), meaning)
        return anchor.readFile(inside).toString()
      } catch (error) {
        return codeOf(error)
      } finally {
        visit.end()
      }
    })
    expect([...seen].filter((each) => !TOLD.has(each))).toEqual([])
    expect([...seen]).toEqual(expect.arrayContaining(['mine', 'resource_out_of_scope']))
  })

  test('nothing is written where it leads', async () => {
    const seen = await whileSwapped(() => {
      const visit = places.visit()
      try {
        const { anchor, inside } = visit.find(prefix, join(prefix, 'made'), 'object')
        anchor.mkdir(inside)
        if (existsSync(join(dir, 'outside', 'made'))) return 'outside'
        anchor.rmdir(inside)
        return 'mine'
      } catch (error) {
        return codeOf(error)
      } finally {
        visit.end()
      }
    })
    expect([...seen].filter((each) => !TOLD.has(each))).toEqual([])
  })
})

describe('a prefix whose directory is replaced while somebody works in it', () => {
  const replace = (): void => {
    renameSync(prefix, join(dir, 'old'))
    mkdirSync(prefix)
    writeFileSync(join(prefix, 'f'), 'new')
  }
  const openHandles = (): number => readdirSync('/proc/self/fd').length

  test('stays open for who is there, is another for who comes, and is closed after the last', () => {
    writeFileSync(join(prefix, 'f'), 'old')
    const path = join(prefix, 'f')
    const before = places.visit()
    const found = before.find(prefix, path, 'object')
    replace()
    const after = places.visit()
    const { anchor, inside } = after.find(prefix, path, 'object')
    expect([found.anchor.readFile(found.inside), anchor.readFile(inside)].map(String)).toEqual(['old', 'new'])
    const held = process.platform === 'linux' ? openHandles() : undefined
    before.end()
    expect(() => found.anchor.readFile(found.inside)).toThrow('this anchor is closed')
    if (held !== undefined) expect(openHandles()).toBeLessThan(held)
    expect(anchor.readFile(inside).toString()).toBe('new')
    after.end()
  })

  test('is not the destination of a request whose source was in the other', () => {
    writeFileSync(join(prefix, 'f'), 'old')
    const visit = places.visit()
    visit.find(prefix, join(prefix, 'f'), 'entry')
    replace()
    expect(() => visit.find(prefix, join(prefix, 'g'), 'object')).toThrow(
      expect.objectContaining({
        code: 'changed',
        message: `the delegation’s directory ${prefix} was exchanged meanwhile; ask again`,
      }),
    )
    visit.end()
  })
})
