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

/** A virtual environment or packages in a closed part of the home, which a command must not see. */
function hide(place: Place): { readonly packages: string; readonly venv: string } {
  const dir = place.mkdir(join(place.home, 'private'))
  chmodSync(dir, 0o700)
  const packages = join(dir, 'app/node_modules')
  place.write(join(packages, '.bin/tool'), `#!/bin/sh\ncat '${packages}/.env'\n`, 0o755)
  place.write(join(packages, '.env'), CANARY)
  const venv = join(dir, 'venv')
  place.write(join(venv, 'bin/tool'), LOOK, 0o755)
  place.write(join(venv, 'lib/public'), CANARY)
  return { packages, venv }
}

describe.each(PEOPLE)('decision 0662, what a command wrote outside this workspace, as $name', (person) => {
  describe.each(KERNELS)('$kernel', ({ script }) => {
    /** A workspace with a home of its own, in which a run is made with these words; from another directory, too. */
    const prepare = () => {
      const place = new Place(person)
      const run = (
        words: readonly string[],
        { cwd = place.root, path = '' }: { cwd?: string; path?: string } = {},
      ): string => {
        const before = `cd '${cwd}'; PATH='${path}'$PATH; export PATH; ${script}`
        const { stdout, stderr } = place.shell(before, ['run', '--quiet', ...words])
        return stdout + stderr
      }
      return { place, run, ...hide(place) }
    }
    /** What a command leaves in a directory: a program that names another one, and links to one. */
    const plant = (target: string, dir = '.'): readonly string[] => [
      '--',
      'sh',
      '-c',
      'd=$1; mkdir -p "$d/deep"; printf \'#!%s\\n\' "$2" >"$d/script"; chmod +x "$d/script"; ln -s "$2" "$d/link"; ln -s "${2%/*}" "$d/deep/bin"',
      'sh',
      dir,
      target,
    ]
    const PLANTED = ['script', 'link', 'deep/bin/tool']

    test('a #! line or a link in a place that this run may write, or that an earlier one could', () => {
      const { place, run, packages } = prepare()
      const out = place.mkdir(join(place.home, 'out'))
      run(['--write', out, ...plant(`${packages}/.bin/tool`, out)])
      for (const name of PLANTED)
        for (const flags of [['--write', out], ['--read', out], []])
          expect([name, flags, run([...flags, '--', join(out, name)])]).toEqual([
            name,
            flags,
            expect.not.stringContaining(CANARY),
          ])
      const fresh = place.mkdir(join(place.home, 'fresh'))
      symlinkSync(`${packages}/.bin/tool`, join(fresh, 'link'))
      expect(run(['--write', fresh, '--', join(fresh, 'link')])).not.toContain(CANARY)
    }, 120_000)

    test('the same in a workspace of the person’s that is not this one, marked or not', () => {
      const { place, run, packages } = prepare()
      const other = place.mkdir(join(place.home, 'other'))
      run(plant(`${packages}/.bin/tool`), { cwd: other })
      for (const name of PLANTED) expect(run(['--', join(other, name)])).not.toContain(CANARY)
      const link = join(place.home, 'mine')
      symlinkSync(join(other, 'link'), link)
      expect(run(['--', link])).not.toContain(CANARY)
    }, 120_000)

    test('the same by a tool', () => {
      const { place, run, packages } = prepare()
      const tool = ['ln', '-s', `${packages}/.bin/tool`, 'link']
      place.config(`[conversation.tools.planter]\nsource = "local"\ncommand = ${JSON.stringify(tool)}\n`)
      const planted = place.shell(script, ['tool', 'run', 'planter'])
      expect(planted).toMatchObject({ code: 0 })
      const here = place.mkdir(join(place.home, 'here'))
      symlinkSync(join(place.root, 'link'), join(place.home, 'mine'))
      expect(run(['--', join(place.home, 'mine')], { cwd: here })).not.toContain(CANARY)
    }, 120_000)

    test('a directory on PATH, in another workspace, that a command made a link', () => {
      const { place, run, venv } = prepare()
      const scripts = place.mkdir(join(place.home, 'scripts'))
      place.write(join(scripts, 'bin/mine'), '#!/bin/sh\n', 0o755)
      run(['--', 'sh', '-c', 'mv bin bin2; ln -s "$1/bin" bin', 'sh', venv], { cwd: scripts })
      const onPath = { path: `${scripts}/bin:` }
      for (const command of [
        ['cat', `${venv}/lib/public`],
        ['tool', venv],
      ])
        expect(run(['--', ...command], onPath)).not.toContain(CANARY)
    }, 120_000)

    test('what is no command’s doing is the person’s choice, and what stays in the installation that they named', () => {
      const { place, run, packages, venv } = prepare()
      const bin = place.mkdir(join(place.home, 'bin'))
      symlinkSync(`${packages}/.bin/tool`, join(bin, 'tool'))
      expect(run(['--', join(bin, 'tool')])).toContain(CANARY)
      expect(run(['--', 'cat', `${venv}/lib/public`], { path: `${venv}/bin:` })).toBe(CANARY)
      const other = place.mkdir(join(place.home, 'other'))
      place.mkdir(join(other, 'node_modules'))
      place.write(join(other, 'node_modules/x/cli'), '#!/bin/sh\ncat "$1"\n', 0o755)
      place.write(join(other, 'node_modules/x/text'), 'its own')
      run(['--', 'sh', '-c', 'mkdir node_modules/.bin; ln -s ../x/cli node_modules/.bin/x'], { cwd: other })
      expect(run(['--', `${other}/node_modules/.bin/x`, `${other}/node_modules/x/text`])).toBe('its own')
    }, 120_000)

    test('toolchains that are git clones, in a home and a directory that are closed to others, work', () => {
      const { place, run } = prepare()
      const nvm = place.mkdir(join(place.home, '.nvm'))
      place.mkdir(join(nvm, '.git'))
      const node = join(nvm, 'versions/node/v20')
      place.write(join(node, 'bin/node'), '#!/bin/sh\necho node; cat "$1"\n', 0o755)
      place.write(join(node, 'lib/node_modules/npm/cli'), '#!/usr/bin/env node\nnpm', 0o755)
      symlinkSync('../lib/node_modules/npm/cli', join(node, 'bin/npm'))
      const pyenv = place.mkdir(join(place.home, '.pyenv'))
      place.mkdir(join(pyenv, '.git'))
      const python = join(pyenv, 'versions/3.12')
      place.write(join(python, 'bin/python3.12'), `#!/bin/sh\ncat '${python}/lib/public'\n`, 0o755)
      place.write(join(python, 'lib/public'), 'python')
      symlinkSync('python3.12', join(python, 'bin/python'))
      symlinkSync(python, join(pyenv, 'versions/mine'))
      for (const dir of [place.home, nvm, pyenv]) chmodSync(dir, 0o700)
      run(['--write', nvm, '--', 'true']) // as who installs another version
      expect(run(['--', 'npm'], { path: `${node}/bin:` })).toContain('npm')
      expect(run(['--', `${python}/bin/python`])).toBe('python')
      expect(run(['--', `${pyenv}/versions/mine/bin/python`])).toBe('python')
    }, 120_000)
  })
})

const otherThan = (person: Person): Person => PEOPLE.find((each) => each !== person) ?? person
