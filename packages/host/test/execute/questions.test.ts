import { expect, test } from 'vitest'
import {
  type Answer,
  answerQuestion,
  type KeptAnswer,
  openAnswerMemory,
} from '../../src/execute/questions.ts'
import type { ToolQuestion } from '../../src/execute/result.ts'

const sure: ToolQuestion = { id: 'overwrite', text: 'Replace a.txt?', answer_type: 'boolean' }
const which: ToolQuestion = { id: 'which', text: 'Which?', answer_type: 'select', options: ['a', '2'] }
const name: ToolQuestion = { id: 'name', text: 'Name?', answer_type: 'text' }
/** Answers once; being asked a second time is a mistake. */
const once = (...answers: (Answer | KeptAnswer | undefined)[]) => ({
  answer: () => {
    if (answers.length === 0) throw new Error('asked too often')
    return Promise.resolve(answers.shift())
  },
})
const nobody = { configured: {}, respondent: undefined }

test('remembered, then configured, then asked', async () => {
  const remembered = openAnswerMemory()
  const all = { remembered, configured: { overwrite: { answer: false } }, respondent: once() }
  expect(await answerQuestion('t', sure, all)).toEqual({ kind: 'answered', answer: false })
  remembered.keep('t', sure, true)
  expect(await answerQuestion('t', sure, all)).toEqual({ kind: 'answered', answer: true })
  expect(await answerQuestion('t', name, { ...nobody, respondent: once('x') })).toEqual({
    kind: 'answered',
    answer: 'x',
  })
})

test('a yes is asked for again unless it was to be kept; to one file it is none to another, and none to another tool', async () => {
  const remembered = openAnswerMemory()
  const kept = { answer: true, kept: true } as const
  const sources = { remembered, configured: {}, respondent: once(false, kept, false, false) }
  const other = { ...sure, text: 'Replace b.txt?' }
  const answers = [
    await answerQuestion('t', sure, sources),
    await answerQuestion('t', sure, sources),
    await answerQuestion('t', sure, sources),
    await answerQuestion('t', other, sources),
    await answerQuestion('u', sure, sources),
  ]
  expect(answers.map((each) => each.kind === 'answered' && each.answer)).toEqual([
    false,
    true,
    true,
    false,
    false,
  ])
})

test('an answer that was kept for one question is none to another of the same id', async () => {
  const configured = { overwrite: { answer: true, text: sure.text } }
  expect(await answerQuestion('t', sure, { configured, respondent: undefined })).toMatchObject({
    answer: true,
  })
  const other = { ...sure, text: 'Replace b.txt?' }
  expect(await answerQuestion('t', other, { configured, respondent: once(false) })).toMatchObject({
    answer: false,
  })
})

test('an answer must fit its question', async () => {
  const configured = (answer: Answer) => ({
    configured: { overwrite: { answer }, which: { answer }, name: { answer } },
    respondent: undefined,
  })
  expect(await answerQuestion('t', sure, configured('yes'))).toEqual({
    kind: 'unanswered',
    why: 'conversation.tools.t.questions.overwrite is the string "yes", but the tool asks "Replace a.txt?": answer true or false',
  })
  expect(await answerQuestion('t', which, configured(2))).toEqual({ kind: 'answered', answer: '2' })
  expect(await answerQuestion('t', which, configured('c'))).toEqual({
    kind: 'unanswered',
    why: 'conversation.tools.t.questions.which is the string "c", but the tool asks "Which?": answer one of a, 2',
  })
  expect(await answerQuestion('t', name, configured(7))).toEqual({ kind: 'answered', answer: '7' })
})

test('an answer that does not fit is asked for again, and not forever', async () => {
  const asked = (...answers: (Answer | undefined)[]) =>
    answerQuestion('t', which, { ...nobody, respondent: once(...answers) })
  expect(await asked('b', 'a')).toEqual({ kind: 'answered', answer: 'a' })
  expect(await asked('b', undefined)).toEqual({
    kind: 'unanswered',
    why: 'the tool asks "Which?", and got no answer',
  })
  expect(await asked('b', 'c', 'd')).toEqual({
    kind: 'unanswered',
    why: 'the answer is the string "d", but the tool asks "Which?": answer one of a, 2',
  })
})

test('a question that an argument of the call answers is not answered by an edit of the configuration', async () => {
  expect(await answerQuestion('t', { ...sure, argument: 'overwrite' }, nobody)).toEqual({
    kind: 'unanswered',
    why: 'the tool asks "Replace a.txt?", and nobody can be asked; the same call with the argument overwrite answers it (overwrite = true)',
  })
})

test('without anybody the question and the configuration that would answer it are the error', async () => {
  expect(await answerQuestion('t', which, nobody)).toEqual({
    kind: 'unanswered',
    why:
      'the tool asks "Which?", and there is no terminal to ask at\n  fix: write the answer into the configuration:\n' +
      '    [conversation.tools.t.questions.which]\n    answer = "a"',
  })
  expect(await answerQuestion('t', sure, { ...nobody, respondent: once(undefined) })).toEqual({
    kind: 'unanswered',
    why: 'the tool asks "Replace a.txt?", and got no answer',
  })
})
