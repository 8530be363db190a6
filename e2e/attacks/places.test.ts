import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { KERNELS } from '../harness/kernels.ts'
import { PEOPLE, Place } from '../harness/place.ts'

const why = (path: string, because: string): string =>
  `cordon: ${path} cannot be a workspace: ${because}, and everything in it would be given away\n  fix: start in a project's directory\n`
const SYSTEM = 'it belongs to the system'
const MUCH = 'it holds much more than one project'

const PLACES: readonly (readonly [string, string])[] = [
  ['/', MUCH],
  ['/home', MUCH],
  ['/usr', MUCH],
  ['/var', MUCH],
  ['/etc', SYSTEM],
  ['/etc/default', SYSTEM],
  ['/sys', SYSTEM],
  ['/sys/kernel', SYSTEM],
  ['/dev', SYSTEM],
  ['/dev/shm', SYSTEM],
  ['/proc', SYSTEM],
  ['/proc/sys', SYSTEM],
  ['/run', SYSTEM],
  ['/boot', SYSTEM],
  ['/usr/bin', SYSTEM],
  ['/usr/lib', SYSTEM],
]

describe.each(PEOPLE)('SPEC 4.2 what is no project is no workspace, as $name', (person) => {
  test.each(PLACES.filter(([path]) => existsSync(path)))('%s', (path, because) => {
    const place = new Place(person)
    const ended = place.run(['--', 'true'], { cwd: path })
    expect(ended).toMatchObject({ stdout: '', stderr: why(path, because) })
    expect(ended.code).toBeOneOf([2, 125]) // SPEC 4.8
    const made = place.cordon(['init'], { cwd: path })
    expect([made.code, made.stderr]).toEqual([2, why(path, because)])
    expect(existsSync(join(path, '.cordon'))).toBe(false)
  })

  test('by another name, by a mark, and without namespaces it is refused as well', () => {
    const place = new Place(person)
    const shells = KERNELS.map(({ script }) => `cd /proc/self/root/etc && ${script}`)
    for (const shell of shells)
      expect(place.shell(shell, ['run', '--', 'true']).stderr).toBe(why('/etc', SYSTEM))
    if (process.getuid?.() !== 0) return
    const dir = mkdtempSync('/usr/lib/cordon-e2e-') // not in /etc: others compare what it holds meanwhile
    try {
      place.mkdir(join(dir, '.cordon'))
      place.give(dir)
      expect(place.run(['--', 'true'], { cwd: dir }).stderr).toBe(why(dir, SYSTEM))
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  test('a directory of one’s own below /usr/src or in shared memory is fine', () => {
    for (const parent of ['/usr/src', '/dev/shm'].filter((each) => existsSync(each))) {
      if (parent === '/usr/src' && process.getuid?.() !== 0) continue
      const dir = mkdtempSync(join(parent, 'cordon-e2e-'))
      try {
        const place = new Place(person)
        place.give(dir)
        expect(place.run(['--', 'touch', 'made'], { cwd: dir })).toMatchObject({ code: 0, stderr: '' })
        expect(existsSync(join(dir, 'made'))).toBe(true)
      } finally {
        rmSync(dir, { recursive: true })
      }
    }
  })
})
