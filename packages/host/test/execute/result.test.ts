import { expect, test } from 'vitest'
import { boundContent } from '../../src/execute/output.ts'
import { parseReply } from '../../src/execute/result.ts'

const reply = (stdout: string, end: { code?: number | null; signal?: string; stderr?: string } = {}) =>
  parseReply({
    stdout: Buffer.from(stdout),
    stderr: end.stderr ?? '',
    code: end.code === undefined ? 0 : end.code,
    signal: end.signal ?? null,
  })
const text = (value: string) => ({ type: 'success', content: [{ type: 'text', text: value }] })
const error = (message: string) => ({ type: 'error', message, trace: [], transient: false })

test('the three answers of the protocol', () => {
  const resource = { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'x' } }
  expect(reply(JSON.stringify({ type: 'success', content: [resource] }))).toEqual({
    type: 'success',
    content: [resource],
  })
  expect(reply('{"type":"success","content":"short"}')).toEqual(text('short'))
  expect(reply('{"type":"error","message":"no","trace":["a",1],"transient":true}')).toEqual({
    type: 'error',
    message: 'no',
    trace: ['a'],
    transient: true,
  })
  const denied = { capability: 'read', target: 'private/key' }
  expect(reply(JSON.stringify({ type: 'error', message: 'no', denied }))).toEqual({ ...error('no'), denied })
  for (const odd of [{ ...denied, capability: 'fly' }, { capability: 'read' }, 'private/key', null])
    expect(reply(JSON.stringify({ type: 'error', message: 'no', denied: odd }))).toEqual(error('no'))
  expect(
    reply(
      '{"type":"needs_input","question":{"id":"q","text":"Sure?","answer_type":"boolean","default":false}}',
    ),
  ).toEqual({
    type: 'needs_input',
    question: { id: 'q', text: 'Sure?', answer_type: 'boolean', default: false },
  })
})

test('everything else is plain text', () => {
  for (const plain of [
    'hello\n',
    '{"type":"else"}',
    '{"type":"success"',
    '[{"type":"success"}]',
    '{}',
    'null',
    '"x"',
  ])
    expect(reply(plain)).toEqual(text(plain))
  expect(reply('')).toEqual({ type: 'success', content: [] })
})

test('SPEC 6.5: standard error beside plain text is kept, beside an answer of the protocol it is not', () => {
  expect(reply('out', { stderr: 'OK\n' })).toEqual({ ...text('out'), stderr: 'OK\n' })
  expect(reply('', { stderr: 'OK\n' })).toEqual({ type: 'success', content: [], stderr: 'OK\n' })
  expect(reply('out', { stderr: ' \n' })).toEqual(text('out'))
  expect(reply('{"type":"success","content":"short"}', { stderr: 'OK\n' })).toEqual(text('short'))
})

const wrong: Readonly<Record<string, string>> = {
  '{"type":"success"}': 'content must be a list, got nothing',
  '{"type":"success","content":[{"type":"text","text":"x"},{"type":"image"}]}':
    'content[1] is neither a text nor a resource',
  '{"type":"success","content":[{"type":"resource","resource":{"uri":"x"}}]}':
    'content[0] is neither a text nor a resource',
  '{"type":"error","message":7}': 'message must be a string, got 7',
  '{"type":"needs_input"}': 'question must be an object, got nothing',
  '{"type":"needs_input","question":{"id":"","text":"x"}}': 'a question needs id and text',
  '{"type":"needs_input","question":{"id":"q","text":"x","answer_type":"date"}}':
    'answer_type must be boolean, select or text, got the string "date"',
  '{"type":"needs_input","question":{"id":"q","text":"x","answer_type":"select","options":[]}}':
    'the question "q" has no options to select from',
}
for (const [stdout, what] of Object.entries(wrong)) {
  test(`an answer of the wrong shape is an error: ${stdout}`, () =>
    expect(reply(stdout)).toEqual(error(`the tool's answer has the wrong shape: ${what}`)))
}

test('a non-zero exit is an error, whatever was printed', () => {
  expect(reply('', { code: 3, stderr: 'no such thing\n' })).toEqual(
    error('the tool ended with 3:\nno such thing'),
  )
  expect(reply('partial', { code: 1 })).toEqual(error('the tool ended with 1:\npartial'))
  expect(reply('', { code: 1 })).toEqual(error('the tool ended with 1 and said nothing'))
  expect(reply('{"type":"success","content":"3 tests failed"}', { code: 1, stderr: 'noise' })).toEqual(
    error('the tool ended with 1:\nnoise\n3 tests failed'),
  )
  expect(reply('{"type":"needs_input","question":{"id":"a","text":"b"}}', { code: 1 })).toEqual(
    error('the tool ended with 1 and said nothing'),
  )
  expect(reply('{"type":"error","message":"mine"}', { code: 1, stderr: 'noise' })).toEqual(error('mine'))
  expect(reply('', { code: null, signal: 'SIGSEGV' })).toEqual(
    error('the tool was ended by SIGSEGV and said nothing'),
  )
})

test('content is cut between characters, and what was cut is said', () => {
  const content = [
    { type: 'text', text: 'abc' },
    { type: 'text', text: 'dé€x' },
    { type: 'resource', resource: { uri: 'file:///b', blob: 'AAAA' } },
  ] as const
  expect(boundContent(content, 100)).toEqual({ content, cut: undefined })
  expect(boundContent(content, 7)).toEqual({
    content: [content[0], { type: 'text', text: 'dé' }],
    cut: 'output cut: 7 of 14 bytes kept (max_output_bytes); 1 of 3 parts left out',
  })
})

test('decision 0435: where names could collide, an answer has so many strings, and is not parsed beyond', () => {
  const parse = (json: string, mostStrings: number | undefined) =>
    parseReply({ stdout: Buffer.from(json), stderr: '', code: 0, signal: null, mostStrings })
  // Five: two names, two values, and one with all that a string may have.
  const answer = JSON.stringify({ type: 'success', content: ['"a":"b"', '\\', '\\"'].join('",') })
  expect([3, 4, undefined].map((most) => parse(answer, most).type)).toEqual(['error', 'success', 'success'])
  expect(parse(answer, 3)).toEqual(error("the tool's answer has more than 3 strings, too many to be read"))
  expect(parse(answer, 4)).toEqual(text('"a":"b"",\\",\\"'))
  // What is no answer is text, and need not be parsed to know it.
  for (const plain of ['{"a":"b","c":"d"}', '{"', '{"\\', `{"${'\\'.repeat(100_000)}`])
    expect(parse(plain, 1)).toEqual(text(plain))
})
