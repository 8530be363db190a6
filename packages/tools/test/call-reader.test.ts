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

const silent = (name = 't'): string => JSON.stringify({ tool: { name } })

test('decision 0355: what is said of the policy holds until something else is said, and every call has its own arguments', () => {
  const reader = new CallReader()
  const known = reader.read(call(context('a'), 'one')).context()
  const second = reader.read(silent('two'))
  expect(second.tool).toEqual({ name: 'two' })
  expect(second.context()).toBe(known)
  for (const path of ['b', 'a', 'ab']) {
    expect(granted(call(context(path)), reader)).toBe(path)
    expect(granted(silent(), reader)).toBe(path)
  }
  expect(reader.read(call(context('ab', 'format_arguments'))).context().data.action).toBe('format_arguments')
})

test('decision 0355: a call after one that was not understood is not under what was said before that', () => {
  const broken = [
    '{',
    '[]',
    JSON.stringify({ context: context('b') }),
    call({ root: 'relative', action: 'run' }),
    call([]),
  ]
  for (const stdin of broken) {
    const reader = new CallReader()
    expect(granted(call(context('a')), reader)).toBe('a')
    expect(() => reader.read(stdin).context(), stdin).toThrow(ParseError)
    expect(() => reader.read(silent()).context(), stdin).toThrow('nothing was said of the policy')
  }
  expect(() => new CallReader().read(silent()).context()).toThrow('nothing was said of the policy')
})

test('of two contexts in one call the last counts, as for every reader of JSON', () => {
  const reader = new CallReader()
  granted(call(context('a')), reader)
  const twice = call(context('a')).replace(/\}$/, `,"context":${JSON.stringify(context('b'))}}`)
  expect(granted(twice, reader)).toBe('b')
  expect(readCall(twice).context().data.access?.fs[0]?.path).toBe('b')
})
