import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CACHE, CORDON } from './harness/cordon.ts'
import { conversationIds, conversations, events, here, model, query } from './harness/query.ts'

test('SPEC 6.5: no call makes a conversation that cannot be read again (decision 0382)', async () => {
  const tools = Array.from({ length: 5000 }, () => 'unix_utils')
  await model([{ calls: [{ tool: 'describe', arguments: { tools } }] }, { text: 'one' }, { text: 'two' }])
  expect(query('go')).toMatchObject({ code: 0 })
  expect(events().find(({ kind }) => kind === 'tool_result')).toMatchObject({
    outcome: 'error',
    text: expect.stringContaining('at most 64 items'),
  })
  expect(query('--quiet', 'and then?')).toEqual({ code: 0, stdout: 'two\n', stderr: '' })
})

test('a question that can never be sent is not kept either, and the next one is asked', async () => {
  await model([{ text: 'one' }])
  const { status, stderr } = spawnSync(process.execPath, [CORDON, 'q', 'sum'], {
    cwd: here.cwd,
    input: 'a'.repeat(5_000_000),
    env: { PATH: process.env['PATH'], HOME: here.home, XDG_CACHE_HOME: CACHE },
    encoding: 'utf8',
  })
  expect(status).not.toBe(0)
  expect(stderr).toMatch(
    /^cordon: this turn alone is about \d+ tokens, and \d+ may be sent\n {2}fix: say or attach less, or raise assistant\.context_tokens\n$/,
  )
  expect(existsSync(conversations()) ? conversationIds() : []).toEqual([])
  expect(query('--quiet', 'hello')).toEqual({ code: 0, stdout: 'one\n', stderr: '' })
})
