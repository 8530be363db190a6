import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type AmbientPlaces, ConfigError, readAmbientSources } from '../src/index.ts'

/** Here whoever made a path writable for its group handed it over; no second user is needed to see what is looked at. */
function world(): AmbientPlaces & { readonly base: string } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-owner-')))
  const root = join(base, 'w')
  for (const dir of ['w/.cordon', 'w/a/b', 'home', 'place']) {
    mkdirSync(join(base, dir), { recursive: true })
  }
  return {
    base,
    root,
    cwd: join(root, 'a/b'),
    userConfigFile: join(base, 'home/config.toml'),
    userWorkspaceDir: join(base, 'place'),
    env: {},
    cfg: [],
    strangerIn: ({ mode }) => ((mode & 0o020) === 0 ? undefined : { kind: 'group', gid: 7 }),
  }
}

function outcome(places: AmbientPlaces): string {
  const { sources, problems } = readAmbientSources(places)
  return problems.length > 0 ? new ConfigError(problems).message : sources.map(({ label }) => label).join(' ')
}

const refused = (what: string, label: string, path: string): string =>
  `error: cannot read the config file: ${what} can be written by the group with id 7, which is not yours alone\n` +
  `  at ${label}\n  fix: if its content is yours: chmod g-w ${path}`

describe('SPEC 2.1 a file in the hands of others is refused', () => {
  test('each file of the stack, the user’s own too', () => {
    const places = world()
    const files = ['w/.cordon/config.toml', 'w/.cordon.toml', 'w/a/.cordon.toml', 'w/a/b/.cordon.toml'].map(
      (name) => join(places.base, name),
    )
    files.push(places.userConfigFile, join(places.userWorkspaceDir, 'config.toml'))
    for (const file of files) writeFileSync(file, '')
    for (const file of files) {
      chmodSync(file, 0o664)
      const label = file.startsWith(`${places.root}/`) ? file.slice(places.root.length + 1) : file
      expect(outcome(places)).toBe(refused('it', label, file))
      chmodSync(file, 0o644)
    }
    expect(outcome(places).split(' ')).toHaveLength(6)
  })

  test('each directory from the root down to it, and none above the root', () => {
    const places = world()
    const { base, root } = places
    writeFileSync(join(root, 'a/b/.cordon.toml'), '')
    for (const dir of [root, join(root, 'a'), join(root, 'a/b')]) {
      chmodSync(dir, 0o775)
      expect(outcome(places)).toBe(refused(`the directory ${dir} above it`, 'a/b/.cordon.toml', dir))
      chmodSync(dir, 0o755)
    }
    chmodSync(base, 0o1777)
    chmodSync(join(root, '.cordon'), 0o775) // not on the way to this file
    expect(outcome(places)).toBe('a/b/.cordon.toml')
  })

  test('where there is no file, nobody’s directory matters', () => {
    const places = world()
    chmodSync(places.root, 0o775)
    expect(outcome(places)).toBe('')
  })

  test('a directory that may be passed and not listed is no obstacle', () => {
    const places = world()
    writeFileSync(join(places.root, 'a/b/.cordon.toml'), '')
    chmodSync(join(places.root, 'a'), 0o711)
    expect(outcome(places)).toBe('a/b/.cordon.toml')
  })
})

describe('SPEC 2.1 links: what was looked at is what is read', () => {
  test('a file that is a link, wherever it leads', () => {
    const places = world()
    writeFileSync(join(places.root, 'real.toml'), '')
    symlinkSync('real.toml', join(places.root, '.cordon.toml'))
    expect(outcome(places)).toBe(
      'error: cannot read the config file: it is a symbolic link, or reached through one\n  at .cordon.toml\n' +
        '  fix: put the file itself there: what a link leads to may be in the hands of others',
    )
  })

  test('a directory on the way that is a link', () => {
    const places = world()
    writeFileSync(join(places.root, 'a/b/.cordon.toml'), '')
    renameSync(join(places.root, 'a'), join(places.base, 'elsewhere'))
    symlinkSync('../elsewhere', join(places.root, 'a'))
    expect(outcome(places)).toMatch(
      /^error: cannot read the config file: something above it is a file or a link/,
    )
  })

  test('the user’s own file may be one: dotfiles are often kept elsewhere', () => {
    const places = world()
    writeFileSync(join(places.base, 'dotfile'), '')
    symlinkSync('../dotfile', places.userConfigFile)
    expect(outcome(places)).toBe(places.userConfigFile)
    chmodSync(join(places.base, 'dotfile'), 0o664)
    expect(outcome(places)).toBe(refused('it', places.userConfigFile, places.userConfigFile))
  })
})
