import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lookForNew } from '@cordon/sandbox'
import { type WatchedPath } from '../src/plan/types.ts'
import { mayHoldNew, stateOnTheWay } from '../src/unchanged.ts'
import { scratchDir } from './confine.ts'

/** An hour from now: to a plan of then, the directories of a test are old. */
const LATER = Date.now() + 3_600_000

const watch = (base: string, ...names: readonly string[]): readonly WatchedPath[] =>
  names.map((name) => ({ base, path: join(base, name), guard: 'told' }))

test('decision 0581 names are looked for where something changed since the plan, or a moment before', () => {
  const dir = scratchDir()
  const watched = watch(dir, '.envrc', '.claude/settings.json', '.claude/hooks/x')
  mkdirSync(join(dir, '.claude'))
  for (const name of ['.envrc', '.claude/settings.json']) writeFileSync(join(dir, name), '')
  const made = [join(dir, '.envrc'), join(dir, '.claude/settings.json')]
  for (const seenAt of [0, Date.now(), Date.now() + 2000])
    expect(lookForNew(watched, 0, seenAt)).toEqual({ createdDenied: [], appeared: made })
  // They were there when that plan was made.
  expect(lookForNew(watched, 0, LATER)).toEqual({ createdDenied: [], appeared: [] })
})

test('decision 0581 an old directory that is moved, and what is behind a new link, are looked at', () => {
  const dir = scratchDir()
  for (const name of ['a', 'b', 'old/settings']) mkdirSync(join(dir, name), { recursive: true })
  renameSync(join(dir, 'a'), join(dir, 'c'))
  symlinkSync('c', join(dir, 'a'))
  symlinkSync('old', join(dir, '.kiro'))
  const among = (seenAt: number): readonly boolean[] =>
    ['a', 'b', 'c', '.kiro/settings', 'none', 'none/deep'].map((name) =>
      mayHoldNew(seenAt)(join(dir, name), dir),
    )
  expect(among(Date.now())).toEqual([true, true, true, true, false, false])
  expect(among(LATER)).toEqual([true, false, false, true, false, false])
})

test('decision 0581 what the kernel makes up keeps no times', () => {
  expect(mayHoldNew(LATER)('/proc/self', '/proc/self')).toBe(true)
})

test('decision 0641 what another run made is new only when it is not what was there at the start', () => {
  const dir = scratchDir()
  const inDir = (name: string): string => join(dir, name)
  mkdirSync(inDir('.claude'))
  writeFileSync(inDir('.claude/settings.json'), '')
  const ways: readonly (() => void)[] = [
    () => {
      renameSync(inDir('.claude'), inDir('x'))
      renameSync(inDir('x'), inDir('.claude'))
    },
    () => {
      renameSync(inDir('.claude'), inDir('y'))
      symlinkSync('y', inDir('.claude'))
    },
    () => {
      linkSync(inDir('y/settings.json'), inDir('z'))
      rmSync(inDir('y/settings.json'))
      renameSync(inDir('z'), inDir('y/settings.json'))
    },
    () => {
      rmSync(inDir('y/settings.json'))
      writeFileSync(inDir('y/settings.json'), '')
    },
  ]
  for (const makeAnew of ways) {
    const [watched] = watch(dir, '.claude/settings.json')
    const was = stateOnTheWay(watched!)
    expect(was).toBeDefined()
    const look = (): readonly string[] => lookForNew([{ ...watched!, was: was! }], 0).appeared
    expect(look()).toEqual([])
    makeAnew()
    expect(look()).toHaveLength(1)
  }
})
