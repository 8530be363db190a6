import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('SPEC 4.3 a command that leaves no room for another file does not keep what it made', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cordon-aside-'))
  const aside = new URL('../src/aside.ts', import.meta.url).href
  const script = `
    import { lstatSync } from 'node:fs'
    import { moveAside } from '${aside}'
    for (const name of ['file', 'dir']) moveAside('.', name, '/w/' + name, lstatSync(name))`
  const full = `mount -t tmpfs -o nr_inodes=4 none . && cd "$PWD" && mkdir dir && echo 1 > file && : > last && ! touch more 2> /dev/null
    "$0" --input-type=module -e "$1" && ls`
  const { stdout, stderr } = spawnSync('unshare', ['-rm', 'sh', '-c', full, process.execPath, script], {
    cwd: dir,
    encoding: 'utf8',
  })
  expect(stdout.split('\n'), stderr).toEqual([
    expect.stringMatching(/^dir\.denied-by-cordon-\w+$/),
    expect.stringMatching(/^file\.denied-by-cordon-\w+$/),
    'last',
    '',
  ])
})
