import { expect, test } from 'vitest'
import { atTerminal, model, query, READ } from './harness/query.ts'

// SPEC 6.5, `--schema`: standard output has the value that was checked, as Cordon writes it, and nothing else.

test('what the model wrote is not printed: its value is, and nothing in it redraws a terminal', async () => {
  await model([
    { text: '"a\u009b2Jb\u007f \u202e evil"' },
    { text: '["reject, at length",\r"approve"]                      ' },
  ])
  const text = atTerminal(['--quiet', '--schema', '{"type": "string"}', 'hi'], [])
  expect(text).toMatchObject({ code: 0, raw: '"a\\u009b2Jb\\u007f \\u202e evil"\r\n' })
  const list = atTerminal(['--quiet', '--schema', '{"type": "array"}', 'hi'], [])
  expect(list).toMatchObject({ code: 0, raw: '["reject, at length","approve"]\r\n' })
})

test('a name that is there twice is printed once, with the value that was checked', async () => {
  await model([{ text: '{"ok": "rm -rf", "ok": true}' }])
  const schema = '{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}'
  expect(query('--quiet', '--schema', schema, 'hi')).toEqual({ code: 0, stdout: '{"ok":true}\n', stderr: '' })
})

test('a number that would become another one is refused', async () => {
  const numbers = ['[1e400]', '[12345678901234567890]', '{"a": "\\"1e400", "b": [-1.5E-3, 6.02e23]}']
  await model(numbers.map((text) => ({ text })))
  for (const lost of ['1e400', '12345678901234567890'])
    expect(query('--quiet', '--schema', '{}', 'hi')).toEqual({
      code: 1,
      stdout: '',
      stderr: `cordon: the answer does not fit the schema: the number ${lost} cannot be told exactly; a string can\n`,
    })
  expect(query('--quiet', '--schema', '{}', 'hi')).toEqual({
    code: 0,
    stdout: '{"a":"\\"1e400","b":[-0.0015,6.02e+23]}\n',
    stderr: '',
  })
})

test('an answer that was cut short was not checked, and is not printed', async () => {
  await model([{ text: '{"ok": true}', stop: 'length' }])
  expect(query('--quiet', '--schema', '{}', 'hi')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'warning: the answer was cut short; `cordon q --resume` asks for the rest\n',
  })
})

test('it holds for every turn of a talk, and a turn that does not fit is no success', async () => {
  const { requests } = await model([
    { text: 'no JSON' },
    { text: '{"n": 3}' },
    { ...READ, text: 'I look.' },
    { text: '4' },
  ])
  const played = atTerminal(
    ['--quiet', '--schema', '{"type": "object"}'],
    [
      ['›', 'one\r'],
      ['it is not JSON', ''],
      ['›', 'two\r'],
      ['{"n":3}', ''],
      ['›', 'three\r'],
      ['expected an object, got 4', ''],
      ['›', '\u0004'],
    ],
  )
  expect(played.missed).toEqual([])
  expect(played.code).toBe(1)
  expect(played.screen).not.toContain('I look.')
  for (const { body } of requests()) expect(body).toMatchObject({ response_format: { type: 'json_schema' } })
})
