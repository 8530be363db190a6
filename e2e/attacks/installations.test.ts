import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { KERNELS } from '../harness/kernels.ts'
import { PEOPLE, type Person, Place } from '../harness/place.ts'

const CANARY = 'canary-4711'

/** Prints what can be read of the installation at `$1`. By name: a directory may be closed and what is in it not. */
const LOOK =
  '#!/bin/sh\nfor f in lib/public lib/deep/also etc/owner etc/group share/closed/inside; do cat "$1/$f" 2>/dev/null; done; :\n'

/** An installation outside every home and workspace, with parts that are not for everybody. */
function install(place: Place, prefix: string): string {
  place.write(join(prefix, 'bin/tool'), LOOK, 0o755)
  place.write(join(prefix, 'lib/public'), 'public\n')
  place.write(join(prefix, 'lib/deep/also'), 'public\n')
  place.write(join(prefix, 'etc/owner'), CANARY, 0o600)
  place.write(join(prefix, 'etc/group'), CANARY, 0o640)
  place.write(join(prefix, 'share/closed/inside'), CANARY)
  chmodSync(join(prefix, 'share/closed'), 0o750)
  return prefix
}

/** Not under /tmp, which is private inside anyway. */
const OUTSIDE = '/opt'

const canInstall = process.getuid?.() === 0

const installed: string[] = []
afterAll(() => {
  for (const dir of installed) rmSync(dir, { recursive: true, force: true })
})

describe.runIf(canInstall).each(PEOPLE)(
  'SPEC 4.3 what files of the workspace lead to, as $name',
  (person) => {
    describe.each(KERNELS)('$kernel', ({ script }) => {
      const prepare = (): {
        place: Place
        prefix: string
        run: (...command: readonly string[]) => string
      } => {
        const place = new Place(person)
        mkdirSync(OUTSIDE, { recursive: true })
        const top = mkdtempSync(join(OUTSIDE, 'cordon-e2e-'))
        installed.push(top)
        chmodSync(top, 0o755)
        const prefix = install(place, join(top, 'app'))
        const run = (...command: readonly string[]): string =>
          place.shell(script, ['run', '--quiet', '--', ...command]).stdout
        return { place, prefix, run }
      }

      test('a #! line shows of an installation what is for everybody, and nothing else', () => {
        const { place, prefix, run } = prepare()
        place.write('script', `#!${prefix}/bin/tool ${prefix}\n`, 0o755)
        const seen = run('./script')
        expect(seen).toContain('public\n')
        expect(seen).not.toContain(CANARY)
      })

      test('so does a link, and a link on the way', () => {
        const { place, prefix, run } = prepare()
        symlinkSync(`${prefix}/bin/tool`, join(place.root, 'link'))
        symlinkSync(prefix, join(place.root, 'app'))
        for (const name of ['./link', './app/bin/tool', `${place.root}/app/bin/tool`]) {
          const seen = run(name, prefix)
          expect(seen).toContain('public\n')
          expect(seen).not.toContain(CANARY)
        }
      })

      test('nothing of an installation that is itself, or lies, where not everybody may go', () => {
        const { place, prefix, run } = prepare()
        place.write('script', `#!${prefix}/bin/tool ${prefix}\n`, 0o755)
        for (const closed of [join(prefix, '..'), prefix, join(prefix, 'bin'), join(prefix, 'bin/tool')]) {
          chmodSync(closed, 0o750)
          expect([closed, run('./script')]).toEqual([closed, ''])
          chmodSync(closed, 0o755)
        }
      })

      test('a directory of the workspace on PATH that has become a link is not what the person chose', () => {
        const { place, prefix } = prepare()
        symlinkSync(join(prefix, 'bin'), join(place.root, 'bin'))
        symlinkSync(place.root, join(place.home, 'project'))
        place.write('look', LOOK, 0o755)
        for (const dir of [join(place.root, 'bin'), join(place.home, 'project/bin')]) {
          const shell = `PATH=${dir}:$PATH; export PATH; ${script}`
          const seen = place.shell(shell, ['run', '--quiet', '--', './look', prefix]).stdout
          expect(seen).toBe('')
          const found = place.shell(shell, ['run', '--quiet', '--', 'tool', prefix]).stdout
          expect(found).toContain('public\n')
          expect(found).not.toContain(CANARY)
        }
      })

      test('a person’s own link to a file of the workspace ends where that leads', () => {
        const { place, prefix, run } = prepare()
        place.mkdir(join(place.home, 'bin'))
        symlinkSync(join(place.root, 'tool'), join(place.home, 'bin/tool'))
        symlinkSync(`${prefix}/bin/tool`, join(place.root, 'tool'))
        expect(run(join(place.home, 'bin/tool'), prefix)).not.toContain(CANARY)
      })

      test('another user’s home, or a closed part of one’s own', () => {
        const { place, run } = prepare()
        const other = new Place(otherThan(person))
        install(other, join(other.home, 'app'))
        chmodSync(other.home, 0o700)
        place.write('a', `#!${other.home}/app/bin/tool ${other.home}/app\n`, 0o755)
        expect(run('./a')).toBe('')
        const own = install(place, join(place.home, '.pyenv/versions/3'))
        place.write('b', `#!${own}/bin/tool ${own}\n`, 0o755)
        chmodSync(place.home, 0o700)
        const seen = run('./b')
        expect(seen).toContain('public\n') // a toolchain in a home that is closed to others still works
        expect(seen).not.toContain(CANARY)
        chmodSync(join(place.home, '.pyenv'), 0o700)
        expect(run('./b')).toBe('')
      })

      test('what a person typed, or has on PATH, is the person’s choice', () => {
        const { place, prefix, run } = prepare()
        expect(run(`${prefix}/bin/tool`, prefix)).toContain(CANARY)
        const shell = `PATH=${prefix}/bin:$PATH; export PATH; ${script}`
        expect(place.shell(shell, ['run', '--quiet', '--', 'tool', prefix]).stdout).toContain(CANARY)
      })
    })
  },
)

const otherThan = (person: Person): Person => PEOPLE.find((each) => each !== person) ?? person
