import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CACHE, CORDON, cordon } from './harness/cordon.ts'
import { here } from './harness/query.ts'

describe('cordon demo', () => {
  test('shows an attachment, a mount, a change, a denial and a confined server, and leaves nothing', () => {
    const home = readdirSync(here.home, { recursive: true })
    const TMPDIR = join(here.dir, 'tmp')
    mkdirSync(TMPDIR)
    const { code, stdout, stderr } = cordon({ ...here, env: { ...here.env, TMPDIR } }, 'demo', '--pace', '0')
    expect(code).toBe(0)
    expect(stdout).toContain('## Done')
    expect(stderr).toContain('    -  return price - tax\n    +  return price + tax\n')
    expect(stderr).toContain('access denied: create on fork/FIX.md')
    expect(stderr).toContain('refused: collect.example')
    expect(stderr).toContain('src/price.js is changed; the key in the home was never in the sandbox.')
    // Each of them can be pasted: nothing but the command is on its line.
    expect(stderr.slice(stderr.indexOf('Next, ')).match(/^ {2}cordon .*$/gm)).toEqual([
      '  cordon init',
      '  cordon why fs_create_file create src/new.ts',
      '  cordon models',
      '  cordon q "what is this project about?"',
    ])
    expect(readdirSync(TMPDIR)).toEqual([])
    expect(readdirSync(here.home, { recursive: true })).toEqual(home)
  })
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'cordon demo leaves nothing behind after %s',
  async (signal) => {
    const tmp = join(here.dir, 'tmp')
    mkdirSync(tmp)
    const child = spawn(process.execPath, [CORDON, 'demo', '--pace', '200'], {
      cwd: here.cwd,
      env: { PATH: process.env['PATH'], HOME: here.home, XDG_CACHE_HOME: CACHE, TMPDIR: tmp },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    await once(child.stdout, 'data')
    child.kill(signal)
    await once(child, 'exit')
    expect(readdirSync(tmp)).toEqual([])
  },
)
