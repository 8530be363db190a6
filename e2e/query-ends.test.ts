import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { CACHE, CORDON } from './harness/cordon.ts'
import { events, here, kinds, model, query, UNATTENDED } from './harness/query.ts'
import { until } from './harness/waiting.ts'

const env = () => ({
  PATH: process.env['PATH'],
  HOME: here.home,
  XDG_CACHE_HOME: CACHE,
  CORDON_BACKGROUND: 'off',
})
const WORDS = 'one two three four five six seven eight nine ten'

/** Starts `cordon q`, and waits until it has printed this much. */
function started(...args: string[]) {
  const child = spawn(process.execPath, [CORDON, 'q', ...args, 'go'], {
    cwd: here.cwd,
    env: env(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return { child, stdout: () => stdout, stderr: () => stderr }
}

const lastReply = () => events().findLast(({ kind }) => kind === 'response')

test.each(['SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGINT'] as const)(
  'SPEC 6.5: %s in a stream keeps what came, and ends as the signal does',
  async (signal) => {
    await model([{ text: WORDS, pace: 20, fault: { kind: 'hang' } }, { text: 'eleven' }])
    const { child, stdout } = started()
    await until(() => stdout().includes('two'))
    child.kill(signal)
    expect(await once(child, 'exit')).toEqual([null, signal])
    expect(lastReply()).toMatchObject({ stop: 'interrupted', text: expect.stringMatching(/^one two/) })
    expect(query('--resume')).toMatchObject({ code: 0, stdout: 'eleven\n' })
  },
)

test('SPEC 6.5: SIGTERM while a tool runs ends the turn, not only the tool', async () => {
  const tool = '[conversation.tools.slow]\nsource = "local"\ncommand = ["sleep", "600"]\n'
  const { requests } = await model(
    [{ calls: [{ tool: 'slow', arguments: {} }] }, { text: 'never asked' }],
    UNATTENDED + tool,
  )
  const { child, stderr } = started()
  await until(() => stderr().includes('→ slow'))
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
  expect(requests()).toHaveLength(1)
  expect(kinds()).toEqual(['turn', 'request', 'response', 'tool_call', 'tool_result'])
})

test('SPEC 6.5: a reader that leaves ends the turn; what came is kept', async () => {
  await model([{ text: `first line\n${'many words '.repeat(300)}`, pace: 5 }, { text: 'the rest' }])
  const { status, stdout, stderr } = spawnSync(
    '/bin/bash',
    ['-c', '"$0" "$1" q go | head -1; echo "${PIPESTATUS[0]}"', process.execPath, CORDON],
    { cwd: here.cwd, env: env(), encoding: 'utf8' },
  )
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'first line\n141\n', stderr: '' })
  expect(lastReply()).toMatchObject({
    stop: 'interrupted',
    text: expect.stringMatching(/^first line\nmany words/),
  })
  expect(query('--resume')).toMatchObject({ code: 0, stdout: 'the rest\n' })
})

test('a full disk behind standard output is said, and the answer is kept', async () => {
  await model([{ text: 'the answer' }])
  const { status, stderr } = spawnSync(
    '/bin/sh',
    ['-c', '"$0" "$1" q go >/dev/full', process.execPath, CORDON],
    {
      cwd: here.cwd,
      env: env(),
      encoding: 'utf8',
    },
  )
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'cordon: standard output cannot be written: ENOSPC; the answer is in the conversation\n',
  })
  expect(lastReply()).toMatchObject({ text: 'the answer' })
})

test('SPEC 6.5: kill -9 in a stream: the next question goes on from the last event', async () => {
  const { requests } = await model([{ text: WORDS, pace: 20, fault: { kind: 'hang' } }, { text: 'fine' }])
  const { child, stdout } = started()
  await until(() => stdout().includes('two'))
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(kinds()).toEqual(['turn', 'request'])
  expect(query('and now?')).toMatchObject({ code: 0, stdout: 'fine\n', stderr: '' })
  expect(kinds()).toEqual(['turn', 'request', 'turn', 'request', 'response'])
  const { messages } = requests()[1]!.body as { messages: { role: string; content: unknown }[] }
  expect(messages.slice(1).map(({ role }) => role)).toEqual(['user'])
  expect(JSON.stringify(messages)).toContain('and now?')
})
