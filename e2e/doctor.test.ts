import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cordon, temporary } from './harness/cordon.ts'
import { WITHOUT_NAMESPACES } from './harness/kernels.ts'
import { Place } from './harness/place.ts'

test('SPEC 4.7: a .npmrc whose settings npm would run for `npx cordon` is noticed, wherever above it lies', () => {
  const base = temporary()
  const home = join(base, 'home')
  const cwd = join(base, 'project/packages/app')
  for (const dir of [home, cwd]) mkdirSync(dir, { recursive: true })
  const setting = { cwd, home }
  expect(cordon(setting, 'doctor').stderr).toBe('')
  const npmrc = join(base, 'project/.npmrc')
  writeFileSync(npmrc, 'fund=false\nnode-options=--require=./evil.cjs\n; shell = x\n')
  writeFileSync(join(home, '.npmrc'), 'script-shell=/bin/bash\n')
  expect(cordon(setting, 'doctor').stderr).toBe(
    `warning: ${npmrc}:2: node-options is code that npm runs with all your rights, also for \`npx cordon\`
  fix: take the line out if it is not yours, and start cordon by its path, installed outside the workspace
`,
  )
  const { notices } = JSON.parse(cordon(setting, 'doctor', '--json').stdout) as { notices: unknown }
  expect(notices).toEqual([{ kind: 'npm-runs-code', file: npmrc, line: 2, key: 'node-options' }])
})

test('SPEC 4.7: a cordon that lies in the workspace is noticed', () => {
  const clone = join(import.meta.dirname, '..')
  const { stderr } = cordon({ cwd: clone, home: temporary() }, 'doctor')
  expect(stderr).toBe(
    `warning: cordon is installed in the workspace ${clone}, where confined commands may write: they could change the next one
  fix: install it elsewhere, and start that one
`,
  )
})

test('SPEC 4.7: the compiler that would build the launcher', () => {
  const setting = { cwd: temporary(), home: temporary() }
  const { compiler } = JSON.parse(cordon(setting, 'doctor', '--json').stdout) as { compiler: string | null }
  expect(compiler).toMatch(/^\/.*cc$/)
  expect(cordon(setting, 'doctor').stdout).toContain(`\ncompiler          ${compiler}\n`)
})

test('SPEC 4.7, 4.10: without namespaces the guard is among what is lost', () => {
  const { stdout } = new Place().shell(WITHOUT_NAMESPACES, ['doctor'])
  expect(stdout).toContain('lost: guard: files that the host obeys or runs by itself later can be changed\n')
})

test('SPEC 4.11: a tool says what is not held as a run does, with the cause once', () => {
  const place = new Place()
  place.write('a', 'x')
  const call = ['tool', 'run', 'fs_read_file', '--args', '{"path":"a"}']
  const { stderr } = place.shell(WITHOUT_NAMESPACES, call)
  const lines = stderr.split('\n')
  expect(lines.filter((line) => line.startsWith('warning: not held here: ')).length).toBeGreaterThan(3)
  expect(lines.filter((line) => line.includes('fix:'))).toHaveLength(1)
})

test('SPEC 4.3: an empty CC is as if it were not set', () => {
  const script = join(import.meta.dirname, '../packages/sandbox/launcher/build.js')
  for (const CC of ['', ' ', '/nowhere/cc']) {
    const { stderr } = spawnSync(process.execPath, [script], {
      env: { PATH: '/nowhere', CC },
      encoding: 'utf8',
    })
    expect(stderr).toMatch(/^@cordon\/sandbox: warning: no C compiler \(ENOENT\)/)
  }
})

test('SPEC 4.7: as JSON, too, every namespace says whether it works', () => {
  const { stdout } = cordon({ cwd: temporary(), home: temporary() }, 'doctor', '--json')
  const { namespaces } = JSON.parse(stdout) as { namespaces: Record<string, string> }
  expect(Object.keys(namespaces)).toEqual(['user', 'mount', 'pid', 'ipc', 'uts', 'net', 'cgroup'])
  for (const each of Object.values(namespaces)) expect(each).toBeTypeOf('string')
})
