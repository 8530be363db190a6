import { mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { foundByOthers, recordRun } from '../../src/confine/unfinished.ts'

test('SPEC 4.3 what several runs could not move is one record, or every command would look for each of them', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cordon-records-'))
  const left = (path: string): void =>
    recordRun(dir, [{ base: '/w', path, guard: 'moved-aside' }]).done({
      createdDenied: [{ path, movedTo: undefined, why: 'EPERM' }],
    })
  for (const path of ['/w/a', '/w/a', '/w/a', '/w/b']) left(path)
  expect(readdirSync(dir)).toHaveLength(2)
  recordRun(dir, [{ base: '/w', path: '/w/a', guard: 'moved-aside' }]).done()
  expect(readdirSync(dir)).toHaveLength(2)
})

test('SPEC 4.3 where there is no room to write down what was left, the record stays, and nothing is thrown', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cordon-records-'))
  const run = recordRun(dir, [{ base: '/w', path: '/w/a', guard: 'moved-aside' }])
  const [record] = readdirSync(dir)
  mkdirSync(join(dir, `${record}.new`))
  run.done({ createdDenied: [{ path: '/w/a', movedTo: undefined, why: 'ENOSPC' }] })
  run.done()
  expect(readdirSync(dir)).toContain(record)
})

test('decision 0641 while a run goes on, its record says to others what it found missing, and nothing afterwards', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cordon-records-'))
  const watched = [
    { base: '/w', path: '/w/.env', guard: 'moved-aside', declared: true },
    { base: '/w/a', path: '/w/a/HEAD', guard: 'moved-aside' },
    ...['.vscode', 'b/.husky', '__proto__', 'odd\n "name"'].map(
      (name) => ({ base: '/w', path: `/w/${name}`, guard: 'told' }) as const,
    ),
    { base: '/w/a', path: '/w/a/.envrc', guard: 'told' },
  ] as const
  const gitlinks = { '/w/.git': ['sub', 'sub 2'], '/w/a/.git': [] }
  const links = { base: '/w', path: '/w/.git', guard: 'no-links' } as const
  const one = recordRun(dir, [...watched, links], gitlinks)
  expect(foundByOthers(dir)).toEqual({ watched, gitlinks: [gitlinks] })
  // What is guarded for every run counts, also if one of them has it denied by a rule.
  const two = recordRun(dir, [{ base: '/w', path: '/w/.env', guard: 'told' }])
  expect(foundByOthers(dir).watched).toContainEqual({ base: '/w', path: '/w/.env', guard: 'told' })
  for (const run of [one, two]) run.done()
  expect(foundByOthers(dir)).toEqual({ watched: [], gitlinks: [] })
})
