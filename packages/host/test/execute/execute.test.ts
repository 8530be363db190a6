import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type AccessPolicy, openAmbientRoot, parseAccessPolicy } from '@cordon/policy'
import type { Workspace } from '@cordon/workspace'
import { expect, test } from 'vitest'
import { type ExecutedCall, executeTool, type ToolWorld } from '../../src/execute/execute.ts'
import { JournalKeys } from '../../src/execute/journal-keys.ts'
import { openSecret } from '../../src/execute/open-secret.ts'
import type { LocalTool } from '../../src/execute/tool.ts'
import { toolWith } from './support.ts'

const POLICY: AccessPolicy = parseAccessPolicy({
  fs: [{ path: '.', read: true, write: true, execute: true }],
})

function world(mode: 'enforce' | 'warn' | 'off' = 'enforce'): ToolWorld {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-execute-')))
  for (const name of ['ws', 'home']) mkdirSync(join(base, name))
  return {
    root: openAmbientRoot(join(base, 'ws')),
    home: join(base, 'home'),
    unfinished: join(base, 'unfinished'),
    env: { PATH: process.env['PATH'], HOME: join(base, 'home'), SECRET: 's' },
    sandbox: { mode, sensitive: [], guard: [], unix_sockets: 'pairs', limits: {} },
  }
}

const shell = (script: string, more: Partial<LocalTool> = {}): LocalTool => ({
  ...toolWith({}),
  command: ['sh', '-c', script],
  ...more,
})
const execute = (tool: LocalTool, where: ToolWorld, signal?: AbortSignal): Promise<ExecutedCall> =>
  executeTool(
    {
      tool,
      arguments: {},
      policy: POLICY,
      answers: { configured: {}, respondent: undefined },
      ...(signal ? { signal } : {}),
    },
    where,
  )

for (const mode of ['enforce', 'off'] as const) {
  test(`a cancelled call ends at once, with everything it started (${mode})`, async () => {
    const where = world(mode)
    const cancel = new AbortController()
    const call = execute(shell('sleep 500 & echo $! > pid; wait'), where, cancel.signal)
    const pid = (): string =>
      existsSync(join(where.root.path, 'pid'))
        ? readFileSync(join(where.root.path, 'pid'), 'utf8').trim()
        : ''
    while (pid() === '') await setTimeout(10)
    cancel.abort()
    expect(await call).toMatchObject({
      cancelled: true,
      reply: { type: 'error', message: 'the call was cancelled', trace: [], transient: false },
    })
    // Under `off` the pid is one of ours; inside a sandbox it says nothing about the host.
    if (mode === 'off') await expect.poll(() => stateOf(pid())).toMatch(/^[ZX]?$/)
  })
}

/** Empty: there is no such process. Z: it is dead, and its new parent has not looked yet. */
function stateOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .slice(0, 1)
  } catch {
    return ''
  }
}

test('a call that is cancelled before it begins does nothing', async () => {
  const where = world()
  const outcome = await execute(shell('touch began; sleep 500'), where, AbortSignal.abort())
  expect(outcome).toMatchObject({
    cancelled: true,
    reply: { type: 'error', message: 'the call was cancelled' },
  })
  expect(existsSync(join(where.root.path, 'began'))).toBe(false)
})

test('a program that is not there is a failed call', async () => {
  const missing = { ...shell(''), command: ['no-such-program'] }
  for (const mode of ['enforce', 'off'] as const) {
    const { reply, end } = await execute(missing, world(mode))
    expect(reply).toMatchObject({
      type: 'error',
      message: expect.stringMatching(/^cannot start no-such-program: /),
    })
    expect(end).toBeUndefined()
  }
})

test('a command line that is too long is a failed call', async () => {
  for (const mode of ['enforce', 'off'] as const) {
    const { reply } = await execute({ ...shell(''), command: ['echo', 'x'.repeat(200_000)] }, world(mode))
    expect(reply).toMatchObject({
      type: 'error',
      message:
        'cannot start echo: its command line is too long; a tool can read long arguments from standard input',
    })
  }
})

test('only our own tools are told that they are confined, and no configuration can claim it', async () => {
  const config = toolWith({ options: { confined: true, journal_keys: 'mine', colour: 'red' } }).config
  const told = async (tool: Partial<LocalTool>, mode: 'enforce' | 'warn' | 'off'): Promise<unknown> => {
    const { reply } = await execute(shell('cat', { config, ...tool }), {
      ...world(mode),
      journalKeys: new JournalKeys({ local: mkdtempSync(join(tmpdir(), 'cordon-keys-')) }),
    })
    const [block] = reply.type === 'success' ? reply.content : []
    const call = JSON.parse(block?.type === 'text' ? block.text : '') as { tool: { options: unknown } }
    return call.tool.options
  }
  const own = { confined: true, journal_keys: 'mine', colour: 'red' }
  expect(await told({}, 'enforce')).toEqual(own)
  expect(await told({ shipped: true }, 'enforce')).toEqual(own)
  expect(await told({ shipped: true }, 'off')).toEqual({ ...own, confined: false })
  expect(await told({ shipped: true, name: 'fs_modify_file' }, 'warn')).toEqual({
    confined: false,
    journal_keys: { open: {}, left: [] },
    colour: 'red',
  })
})

test('a tool need not read what it is told', async () => {
  const tool = shell('echo done', { config: toolWith({ options: { long: 'x'.repeat(1_000_000) } }).config })
  expect((await execute(tool, world())).reply).toEqual({
    type: 'success',
    content: [{ type: 'text', text: 'done\n' }],
  })
})

test('a secret of a workspace is made once, and only the user reads it', () => {
  const local = join(mkdtempSync(join(tmpdir(), 'cordon-key-')), 'local')
  const key = openSecret({ local } as Workspace, 'a.key')
  expect(key).toMatch(/^[0-9a-f]{64}$/)
  expect(openSecret({ local } as Workspace, 'a.key')).toBe(key)
  expect(statSync(join(local, 'a.key')).mode & 0o777).toBe(0o600)
})
