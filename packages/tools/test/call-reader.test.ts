import { ParseError } from '@cordon/policy'
import { expect, test } from 'vitest'
import { CallReader, readCall } from '../src/call-reader.ts'

const context = (path: string, action = 'run'): object => ({
  root: '/',
  action,
  access: { fs: [{ path, read: true }], net: [], env: [] },
})
const call = (about: object, name = 't'): string => JSON.stringify({ context: about, tool: { name } })
const granted = (stdin: string, reader: CallReader): string | undefined =>
  reader.read(stdin).context().data.access?.fs[0]?.path

test('decision 0300: what is said of the policy is understood once, and every call has its own arguments', () => {
  const reader = new CallReader()
  const [first, second] = ['one', 'two'].map((name) => reader.read(call(context('a'), name)))
  expect([first?.tool, second?.tool]).toEqual([{ name: 'one' }, { name: 'two' }])
  const known = reader.read(call(context('a'), 'three')).context()
  expect(reader.read(call(context('a'), 'four')).context()).toBe(known)
})

test('decision 0300: another text is read as a whole, whatever was known', () => {
  const reader = new CallReader()
  for (const path of ['a', 'b', 'a', 'ab']) expect(granted(call(context(path)), reader)).toBe(path)
  expect(reader.read(call(context('ab', 'format_arguments'))).context().data.action).toBe('format_arguments')
  const spaced = call(context('c')).replaceAll(',', ', ')
  for (const stdin of [spaced, spaced]) expect(granted(stdin, reader)).toBe('c')
})

test('decision 0300: of two contexts in one call the last counts, as for every reader of JSON', () => {
  const reader = new CallReader()
  granted(call(context('a')), reader)
  const twice = call(context('a')).replace(/\}$/, `,"context":${JSON.stringify(context('b'))}}`)
  expect(granted(twice, reader)).toBe('b')
  expect(readCall(twice).context().data.access?.fs[0]?.path).toBe('b')
})

test('decision 0300: what is wrong is as wrong for the second call as for the first', () => {
  const reader = new CallReader()
  granted(call(context('a')), reader)
  const known = call(context('a')).slice(0, -'{"name":"t"}}'.length)
  for (const rest of ['', '{', '[]}', 'null}', '{"name":"t"}} ,'])
    for (const read of [readCall, (stdin: string) => reader.read(stdin)])
      expect(() => read(known + rest), rest).toThrow(ParseError)
  expect(() => reader.read(call({ root: 'relative', action: 'run' })).context()).toThrow(ParseError)
})
