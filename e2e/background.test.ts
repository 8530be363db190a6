import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { cordon, temporary } from './harness/cordon.ts'
import { until } from './harness/waiting.ts'

/** Every stored content below the workspace. By a program that goes on when a directory is removed meanwhile. */
const blobs = (cwd: string): string[] =>
  spawnSync('find', [join(cwd, '.cordon/blobs'), '-name', '*.gz', '-printf', '%P\n'], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean)

test('SPEC 6.2 once a day, what nothing needs is collected in the background', async () => {
  const here = { cwd: temporary(), home: temporary(), env: { CORDON_BACKGROUND: 'on' } }
  const quiet = { ...here, env: {} }
  mkdirSync(join(here.cwd, '.cordon'))
  writeFileSync(join(here.cwd, 'a.txt'), 'one')
  const added = JSON.parse(cordon(quiet, 'attachment', 'add', 'a.txt', '--json').stdout) as {
    conversation: string
  }
  expect(cordon(quiet, 'conversation', 'rm', added.conversation, '--yes').code).toBe(0)
  const [old] = blobs(here.cwd)
  const longAgo = new Date(Date.now() - 48 * 60 * 60 * 1000)
  utimesSync(join(here.cwd, '.cordon/blobs', old!), longAgo, longAgo)

  writeFileSync(join(here.cwd, 'b.txt'), 'two')
  expect(cordon(here, 'attachment', 'add', 'b.txt')).toMatchObject({ code: 0, stderr: '' })
  await until(() => !existsSync(join(here.cwd, '.cordon/blobs', old!)))
  expect(blobs(here.cwd)).toHaveLength(1)
  expect(blobs(here.cwd)).not.toContain(old)

  // The second one of the day starts nothing.
  const places = join(here.home, '.local/share/cordon/workspace')
  const [place] = readdirSync(places).filter((name) => !name.startsWith('.'))
  const before = statSync(join(places, place!, 'collected')).mtimeMs
  writeFileSync(join(here.cwd, 'c.txt'), 'three')
  expect(cordon(here, 'attachment', 'add', 'c.txt').code).toBe(0)
  expect(statSync(join(places, place!, 'collected')).mtimeMs).toBe(before)
})

test('what an attached command has made of a cordon in its workspace is not started behind the person’s back', async () => {
  const [cwd, home] = [temporary(), temporary()]
  const installed = join(cwd, 'node_modules/cordon')
  for (const part of ['bin', 'dist', 'launcher'])
    cpSync(fileURLToPath(new URL(`../packages/cli/${part}`, import.meta.url)), join(installed, part), {
      recursive: true,
    })
  const plant = 'require("fs").writeFileSync(process.env.HOME + "/escaped", "")'
  mkdirSync(join(cwd, '.cordon'))
  writeFileSync(
    join(cwd, 'rewrite.sh'),
    `for file in node_modules/cordon/*/*.cjs; do echo '${plant}' > "$file"; done; echo rewritten`,
  )
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(installed, 'bin/cordon.cjs'), 'attachment', 'add', 'command:sh rewrite.sh'],
    {
      cwd,
      env: { PATH: process.env['PATH'], HOME: home, CORDON_BACKGROUND: 'on' },
      encoding: 'utf8',
    },
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  for (let tries = 0; !existsSync(join(home, 'escaped')) && tries < 10; tries++) await sleep(100)
  expect(existsSync(join(home, 'escaped'))).toBe(false)
})
