import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { lookForNew } from '@cordon/sandbox'
import { type WatchedPath } from '../src/plan/types.ts'
import { directoriesBefore, type DirectoriesBefore, isUnchanged } from '../src/unchanged.ts'
import { SURVEY } from './survey.ts'
import { scratchDir as temporaryDirectory } from './confine.ts'

/** As if the plan had been made an hour from now: the directories of a test are young. */
const LATER = { ...SURVEY, at: Date.now() + 3_600_000 }

const watch = (base: string, ...names: readonly string[]): readonly WatchedPath[] =>
  names.map((name) => ({ base, path: join(base, name), guard: 'told' }))

const before = (watched: readonly WatchedPath[], survey = LATER): DirectoriesBefore =>
  directoriesBefore({ watched, survey })

/** A clock's tick, so that a change has another time. */
const TICK = 20

test('decision 0581 names in a directory that is the same are not looked for; in one that changed they are', async () => {
  const dir = temporaryDirectory()
  const watched = watch(dir, '.envrc', '.claude/settings.json', '.claude/hooks/x')
  const was = before(watched)
  expect([...was.keys()].sort()).toEqual([dir, join(dir, '.claude'), join(dir, '.claude/hooks')].sort())
  expect(watched.map(({ path }) => isUnchanged(join(path, '..'), was))).toEqual([true, true, true])
  await setTimeout(TICK)
  mkdirSync(join(dir, '.claude'))
  writeFileSync(join(dir, '.claude/settings.json'), '')
  expect(lookForNew(watched, 0, was)).toEqual({
    createdDenied: [],
    appeared: [join(dir, '.claude/settings.json')],
  })
})

test('decision 0581 another directory in the place of one, or a link, is not the same', async () => {
  const dir = temporaryDirectory()
  for (const name of ['a', 'b']) mkdirSync(join(dir, name))
  const was = before([...watch(join(dir, 'a'), '.envrc'), ...watch(join(dir, 'b'), '.envrc')])
  renameSync(join(dir, 'a'), join(dir, 'c'))
  await setTimeout(TICK)
  mkdirSync(join(dir, 'a'))
  rmSync(join(dir, 'b'), { recursive: true })
  symlinkSync('c', join(dir, 'b'))
  expect(['a', 'b'].map((name) => isUnchanged(join(dir, name), was))).toEqual([false, false])
})

test('decision 0581 a directory that changed a moment before the plan, or after it, is not remembered', () => {
  const dir = temporaryDirectory()
  const watched = watch(dir, '.envrc', 'x/.envrc')
  expect(before(watched, { ...SURVEY, at: Date.now() })).toEqual(new Map([[join(dir, 'x'), 'missing']]))
  expect(isUnchanged(join(dir, 'x'), before(watched, { ...SURVEY, at: Date.now() }))).toBe(false)
})

test('decision 0581 what the kernel serves from programs and tables keeps no times', () => {
  expect(before(watch('/proc/self', 'nothing'))).toEqual(new Map())
})
