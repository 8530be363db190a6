import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CORDON, cordon, temporary, trust } from './harness/cordon.ts'
import { cordonAtTerminal } from './harness/terminal.ts'

/** A copy of the example, with its links as they are, and a home of its own. */
function example(): { cwd: string; home: string } {
  const base = temporary()
  cpSync(join(import.meta.dirname, '../examples'), base, { recursive: true, verbatimSymlinks: true })
  return { cwd: join(base, 'workspace'), home: temporary() }
}

/** The same after a person has trusted it, as its README says first. */
function trustedExample(): { cwd: string; home: string } {
  const here = example()
  trust(here)
  return here
}

/** The commands of the example's README, with what its comments say of them. */
const lines = readFileSync(join(import.meta.dirname, '../examples/workspace/README.md'), 'utf8')
  .split('\n')
  .filter((line) => /npx cordon .*# |npx cordon .*   #/.test(line))

test('examples/workspace: every command of its README does what is said beside it', () => {
  const here = example()
  expect(lines).toHaveLength(13)
  for (const line of lines) {
    const [command = '', says = ''] = line.split(/\s+# /)
    const script = command.replaceAll('npx cordon', `'${process.execPath}' '${CORDON}'`)
    const { status, stderr } = spawnSync('sh', ['-c', script], {
      cwd: here.cwd,
      env: { PATH: process.env['PATH'], HOME: here.home },
      encoding: 'utf8',
    })
    expect({ line, status, stderr }).toMatchObject({
      line,
      status: /denied|by the kernel/.test(says) ? 1 : 0,
    })
  }
})

test('examples/workspace: why the mount grants nothing, and how it would', () => {
  expect(cordon(trustedExample(), 'why', 'fs_modify_file', 'read', 'fork/src/lib.rs')).toEqual({
    code: 1,
    stdout:
      'denied: tool fs_modify_file, read fork/src/lib.rs\n' +
      '  because: nobody has approved where the mount fork leads, so it grants nothing\n' +
      '  rule at: .cordon/config.toml:22:1\n' +
      '  to allow it, at a terminal:\n' +
      '    cordon policy compile\n',
    stderr: '',
  })
})

test('examples/workspace: the mount is read through once it is approved, and nothing beside it', () => {
  const here = trustedExample()
  const cat = (path: string) => cordon(here, 'run', '--tool', 'fs_modify_file', '--', 'cat', path)
  expect(cat('fork/src/lib.rs')).toMatchObject({ code: 1, stdout: '' })
  expect(cordonAtTerminal(here, ['policy', 'compile'], [['[y/N] ', 'y\n']]).code).toBe(0)
  expect(cordon(here, 'why', 'fs_modify_file', 'read', 'fork/src/lib.rs').code).toBe(0)
  expect(cat('fork/src/lib.rs')).toMatchObject({ code: 0, stdout: 'pub fn forked() {}\n' })
  expect(cat('../broken/.cordon/config.toml')).toMatchObject({ code: 1, stdout: '' })
})
