import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cordon, temporary } from './harness/cordon.ts'

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

test('SPEC 4.7: as JSON, too, every namespace says whether it works', () => {
  const { stdout } = cordon({ cwd: temporary(), home: temporary() }, 'doctor', '--json')
  const { namespaces } = JSON.parse(stdout) as { namespaces: Record<string, string> }
  expect(Object.keys(namespaces)).toEqual(['user', 'mount', 'pid', 'ipc', 'uts', 'net', 'cgroup'])
  for (const each of Object.values(namespaces)) expect(each).toBeTypeOf('string')
})
