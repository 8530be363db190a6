import { expect, test } from 'vitest'
import { expandCommand } from '../../src/execute/placeholders.ts'

const data = {
  context: { root: '/ws', action: 'run' },
  tool: {
    name: 'count',
    arguments: {
      path: 'a b; rm -rf "$HOME"',
      n: 3,
      deep: { list: ['x', { y: null }] },
      tricky: '{{context.root}}',
      nul: 'a\0b',
    },
    answers: {},
    options: {},
  },
}
const expanded = (...words: string[]) => expandCommand(['wc', ...words], data).slice(1)

test('each word stays one word, and nothing in a value is read again', () => {
  expect(
    expanded('-w', '--', '{{tool.arguments.path}}', 'in={{ context.root }}/x', '{{tool.arguments.tricky}}'),
  ).toEqual(['-w', '--', 'a b; rm -rf "$HOME"', 'in=/ws/x', '{{context.root}}'])
})

test('what is no string is JSON', () => {
  expect(
    expanded('{{tool.arguments.n}}', '{{tool.arguments.deep.list.1}}', '{{tool.arguments.deep.list.1.y}}'),
  ).toEqual(['3', '{"y":null}', 'null'])
})

test('four braces are two', () => {
  expect(expanded('--format={{{{.ID}}', '}} {x} {')).toEqual(['--format={{.ID}}', '}} {x} {'])
})

const failing: readonly (readonly [word: string, message: string])[] = [
  ['{{tool.arguments.pth}}', '"{{tool.arguments.pth}}": there is no tool.arguments.pth in this call'],
  [
    '{{tool.arguments.path.x}}',
    '"{{tool.arguments.path.x}}": there is no tool.arguments.path.x in this call',
  ],
  [
    '{{tool.arguments.constructor}}',
    '"{{tool.arguments.constructor}}": there is no tool.arguments.constructor in this call',
  ],
  ['{{env.HOME}}', '"{{env.HOME}}": there is no env in this call'],
  [
    '{{}}',
    '"{{}}": "{{}}" begins no placeholder\n  fix: write {{tool.arguments.NAME}}, or {{{{ for two braces',
  ],
  [
    'a {{tool.',
    '"a {{tool.": "{{" begins no placeholder\n  fix: write {{tool.arguments.NAME}}, or {{{{ for two braces',
  ],
  ['{{tool.arguments.nul}}', '{{tool.arguments.nul}}: "a\\u0000b" cannot be an argument of a program'],
]
for (const [word, message] of failing) {
  test(`refuses ${word}`, () => expect(() => expanded(word)).toThrow(expect.objectContaining({ message })))
}

test('the caller never chooses the program', () => {
  expect(() => expandCommand(['{{tool.arguments.path}}'], data)).toThrow(
    expect.objectContaining({
      message:
        'the program "{{tool.arguments.path}}" may not depend on arguments or answers\n' +
        '  fix: name the program, and use placeholders in the words after it',
    }),
  )
  expect(expandCommand(['{{context.root}}/tools/x'], data)).toEqual(['/ws/tools/x'])
})
