import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CACHE, CORDON, cordon } from './harness/cordon.ts'
import { here } from './harness/query.ts'
import { cordonAtTerminal } from './harness/terminal.ts'

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
    expect(stderr).toMatch(/✓ style: fine\n {4}read \S+: ENOENT\n {4}send it to collect\.example: /)
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

test('what the recorded model says is true also after a no', () => {
  const played = cordonAtTerminal(
    here,
    ['demo', '--pace', '0'],
    [
      ['Grant it to these tools?', 'y\r'],
      ['Run fs_modify_file?', 'n\r'],
    ],
  )
  expect(played.missed).toEqual([])
  expect(played.screen).toContain('1. src/price.js is as it was: it still takes the tax off.')
  expect(played.screen).toContain('src/price.js is as it was; the key')
  expect(played.screen).not.toMatch(/adds the tax now|Fixed in the shop/)
})

test('what a killed demo left is removed by the next one, and nothing else', async () => {
  const tmp = join(here.dir, 'tmp')
  mkdirSync(tmp)
  const env = { ...here.env, TMPDIR: tmp, XDG_CACHE_HOME: CACHE }
  const start = () =>
    spawn(process.execPath, [CORDON, 'demo', '--pace', '1000'], {
      cwd: here.cwd,
      env: { PATH: process.env['PATH'], HOME: here.home, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  const killed = start()
  await once(killed.stdout, 'data')
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  const left = readdirSync(tmp)
  expect(left).toHaveLength(1)
  const running = start()
  await once(running.stdout, 'data')
  const others = readdirSync(tmp)
  expect(others).toHaveLength(1)
  expect(others).not.toEqual(left)
  // Named like one, and not one: of nobody who could be asked, and a link.
  mkdirSync(join(tmp, 'cordon-demo-mine'))
  mkdirSync(join(here.dir, 'precious'))
  symlinkSync(join(here.dir, 'precious'), join(tmp, left[0]!))
  expect(cordon({ ...here, env }, 'demo', '--pace', '0').code).toBe(0)
  expect(readdirSync(tmp).toSorted()).toEqual([...others, 'cordon-demo-mine', left[0]!].toSorted())
  running.kill('SIGTERM')
  await once(running, 'exit')
})
