import { expect, test } from 'vitest'
import { matchesTemplate } from '../../src/gateway/uri-template.ts'

test.each([
  ['memo://{id}', 'memo://a', true],
  ['memo://{id}', 'memo://', false],
  ['memo://{id}', 'memo://a/b', false],
  ['memo://{+path}', 'memo://a/b', true],
  ['file:///{dir}/{name}.txt', 'file:///a/b.txt', true],
  ['file:///{dir}/{name}.txt', 'file:///a/b.md', false],
  ['x://all{?page}', 'x://all', true],
  ['x://all{?page}', 'x://all?page=2', true],
  ['x://plain', 'x://plain', true],
  ['x://plain', 'x://plainer', false],
  ['x://{open', 'x://a', false],
])('%s and %s: %s', (template, uri, expected) => {
  expect(matchesTemplate(template, uri)).toBe(expected)
})

test('SPEC 5.5 a template that a server wrote to keep us busy takes no longer than another', () => {
  // With an expression for each it would take longer than the tests' time limit, by far.
  const template = `memo://${Array.from({ length: 60 }, (_, i) => `{v${i}}`).join('')}!`
  expect(matchesTemplate(template, `memo://${'a'.repeat(8000)}`)).toBe(false)
  expect(matchesTemplate(template, `memo://${'a'.repeat(8000)}!`)).toBe(true)
  expect(matchesTemplate(`x://${'{a}'.repeat(1000)}`, 'x://a')).toBe(false)
})
