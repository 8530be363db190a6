import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from '../harness/place.ts'

/** A workspace that lies around Cordon's own places, which are not there yet. */
function around(person: (typeof PEOPLE)[number]): { place: Place; env: string } {
  const place = new Place(person)
  const [config, data] = ['own-config', 'own-data'].map((name) => join(place.root, name))
  return {
    place,
    env: `XDG_CONFIG_HOME=${config} XDG_DATA_HOME=${data}; export XDG_CONFIG_HOME XDG_DATA_HOME; exec "$@"`,
  }
}

describe.each(PEOPLE)('SPEC 4.10 Cordon’s own places in a workspace, as $name', (person) => {
  test('cannot be made by a command, nor written, and no other command obeys what it tried', () => {
    const { place, env } = around(person)
    const evil = `mkdir -p own-config/cordon; printf '[sandbox]\\nmode = "off"\\n' > own-config/cordon/config.toml
      echo x > own-data/cordon/planted; ls -A own-config/cordon own-data/cordon`
    const tried = place.shell(env, ['run', '--', 'sh', '-c', evil])
    expect(tried.stdout).not.toMatch(/config\.toml|planted/)
    expect(existsSync(join(place.root, 'own-config/cordon/config.toml'))).toBe(false)
    expect(existsSync(join(place.root, 'own-data/cordon/planted'))).toBe(false)
    expect(place.shell(env, ['run', '--', 'true'])).toMatchObject({ code: 0, stderr: '' })
  })

  test('decision 0402: neither can what the launcher remembers of /etc', () => {
    const { place, env } = around(person)
    place.shell(env, ['run', '--', 'true'])
    const names = join(place.root, 'own-data/cordon/names')
    // Root looks for nothing, so there may be none; a planted one must not be there either.
    const before = existsSync(names) ? readFileSync(names) : undefined
    const evil = `cd own-data; echo x > cordon/names; rm -rf cordon/names; mv cordon away; mkdir -p cordon; echo x > cordon/names`
    place.shell(env, ['run', '--', 'sh', '-c', evil])
    expect(existsSync(names) ? readFileSync(names) : undefined).toEqual(before)
  })

  test('are not taken for something that the command made', () => {
    const { place, env } = around(person)
    for (let i = 0; i < 2; i++)
      expect(place.shell(env, ['run', '--', 'true'])).toMatchObject({ code: 0, stdout: '', stderr: '' })
    expect(readdirSync(place.root).filter((name) => name.includes('denied'))).toEqual([])
  })
})

test.each(PEOPLE)(
  'SPEC 4.8 a program that may not be seen is not found, one that may not be executed cannot be, as $name',
  (person) => {
    const place = new Place(person)
    place.write('ok.sh', '#!/bin/sh\necho ran\n', 0o755)
    place.mkdir(join(place.root, 'src'))
    expect(place.run(['--', './ok.sh'])).toMatchObject({ code: 0, stdout: 'ran\n' })
    expect(place.run(['--read', 'src', '--', './ok.sh'])).toMatchObject({ code: 127, stdout: '' })
    expect(place.run(['--read', '.', '--', './ok.sh'])).toMatchObject({ code: 126, stdout: '' })
  },
)

test.each(PEOPLE)(
  'SPEC 2 what run refuses, validate refuses: the name of the default, as $name',
  (person) => {
    const place = new Place(person)
    for (const text of ['[profiles."cordon run"]\n', '[[profiles."cordon run".access.fs]]\npath = "."\n']) {
      place.config(text)
      expect(place.cordon(['config', 'validate']).code).toBe(2)
      expect(place.run(['--', 'true']).code).toBe(125)
    }
  },
)
