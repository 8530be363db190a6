import { describe, expect, test } from 'vitest'
import { SOMEBODY, Place } from './harness/place.ts'

/** What stands behind `to allow it:`, of each hint. */
const fixes = (stderr: string): readonly string[] =>
  [...stderr.matchAll(/^ {4}to allow it: (.*)$/gm)].map(([, fix]) => fix!)

describe('SPEC 4.7 who complains is not what was denied', () => {
  const place = new Place(SOMEBODY)
  place.write('build.sh', '#!/bin/sh\necho x > out.o\n', 0o755)
  place.write('own.sh', '#!/bin/bash\necho x > out.o\nexit 3\n', 0o755)
  place.mkdir(`${place.root}/build`)

  test.each(['build.sh', 'own.sh'])('of the script %s no write is suggested', (script) => {
    const { stderr } = place.run([
      '--read',
      '.',
      '--execute',
      script,
      '--write',
      'build',
      '--',
      `./${script}`,
    ])
    expect(stderr).toContain('out.o: Read-only file system\n')
    expect(fixes(stderr)).toEqual(['--write .'])
  })

  test('nor is a tool’s own program to be made writable', () => {
    place.config(`[conversation.tools.own]
source = "local"
command = ["./own.sh"]
access.fs = [{ path = ".", read = true }, { path = "own.sh", read = true, execute = true }]
`)
    const { stderr } = place.cordon(['tool', 'run', 'own'])
    expect(stderr).toContain('out.o')
    expect(stderr).not.toContain('path = "own.sh", read = true, update')
    expect(stderr.match(/cordon config set/g)).toHaveLength(1)
  })
})
