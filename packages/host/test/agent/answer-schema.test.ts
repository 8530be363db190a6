import { describe, expect, test } from 'vitest'
import { checkAnswer } from '../../src/agent/answer-schema.ts'
import { AnswerSchemaError } from '../../src/agent/errors.ts'

describe('a number of an answer is written as it came, or is an error', () => {
  test.each([
    ['0', '0'],
    ['-0', '0'],
    ['0.000e5', '0'],
    ['1.0', '1'],
    ['1e2', '100'],
    ['0.10', '0.1'],
    ['-1.50E-3', '-0.0015'],
    ['10000000000000000000000', '1e+22'],
    ['602e+21', '6.02e+23'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740992.0', '9007199254740992'],
    ['5e-324', '5e-324'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
    [`0.${'0'.repeat(400)}1e401`, '1'],
    [`0e${'9'.repeat(400)}`, '0'],
  ])('%s', async (number, written) => {
    expect(await checkAnswer({}, `[${number}]`)).toBe(`[${written}]`)
  })

  test.each([
    '1e400',
    '-1e400',
    '1e-400',
    '-1e-400',
    '4.9e-325',
    '4.9e-324',
    '9007199254740993',
    '9007199254740993.0',
    '-9007199254740993',
    '12345678901234567890',
    '1.0000000000000000001',
    '0.1000000000000000055511151231257827',
    `1e${'9'.repeat(400)}`,
    `1e-${'9'.repeat(400)}`,
  ])('%s cannot be', async (number) => {
    await expect(checkAnswer({}, `{"a": [${number}]}`)).rejects.toEqual(
      new AnswerSchemaError([
        { at: '', message: `the number ${number} cannot be told exactly; a string can` },
      ]),
    )
  })
})
