import { type HostName, type NetRule } from '@cordon/policy'
import { expect, test } from 'vitest'
import type { Answer } from '../src/why/answer.ts'
import { askedPlace, byAddress } from '../src/why/network.ts'

const rule = (host: string, port?: number): NetRule => ({
  host: host as HostName,
  allow: true,
  ...(port === undefined ? {} : { port }),
})
const allowed = (target: string): Answer => ({
  question: { axis: 'net', capability: 'net', target },
  allowed: true,
  canonical: target,
  rule: undefined,
  because: 'the rule allows it',
  others: [],
})
const DB = rule('db.corp.example', 5432)

test('SPEC 4.5 a name that leads to a private address is refused while no rule names the address', () => {
  const asked = allowed('db.corp.example:5432')
  expect(byAddress(asked, [DB], () => ['10.0.0.5'])).toEqual({
    found: {
      ...asked,
      allowed: false,
      because: 'db.corp.example leads to 10.0.0.5, a private address, and no rule names that address',
    },
    notes: [],
    wish: { scheme: 'tcp', host: '10.0.0.5', port: 5432, segments: [] },
  })
  expect(byAddress(asked, [DB, rule('10.0.0.5', 5432)], () => ['10.0.0.5'])).toEqual({
    found: asked,
    notes: [],
  })
  expect(byAddress(asked, [DB], () => ['fd00::1', '1.1.1.1'])).toEqual({ found: asked, notes: [] })
})

test('SPEC 4.5 of a name that is denied, and leads to a private address, both are told', () => {
  const asked = { ...allowed('http://db.corp.example:81/x'), allowed: false, because: 'no rule covers it' }
  expect(byAddress(asked, [DB], () => ['10.0.0.5'])).toEqual({
    found: asked,
    notes: ['db.corp.example leads to 10.0.0.5, a private address, which needs a rule of its own as well'],
    wish: { scheme: 'http', host: '10.0.0.5', port: 81, segments: ['x'] },
  })
  expect(byAddress(asked, [DB], () => []).notes).toEqual([])
  expect(byAddress(asked, [DB], () => ['1.1.1.1']).notes).toEqual([])
})

test('SPEC 4.5 where nobody knows where it leads, that it depends is said', () => {
  const asked = allowed('https://db.corp.example/')
  expect(byAddress(asked, [DB], () => []).notes).toEqual([
    'where db.corp.example leads is looked up then: a private or loopback address needs a rule of its own as well',
  ])
  for (const target of ['http://localhost:80/', 'http://127.0.0.1/', 'http://[::1]/'])
    expect(byAddress(allowed(target), [DB], () => []).notes).toEqual([])
})

test('SPEC 4.8 [scheme://]host[:port][/path] is a question, as it is a flag', () => {
  expect(askedPlace('db.corp.example:5432')).toEqual({
    scheme: 'tcp',
    host: 'db.corp.example',
    port: 5432,
    segments: [],
  })
  expect(askedPlace('[::1]:443')).toMatchObject({ scheme: 'https', host: '[::1]', port: 443 })
  expect(() => askedPlace('a@b:1')).toThrow('invalid URL')
  const web = { scheme: 'https', host: 'a.example', port: 443, segments: [] }
  expect(askedPlace('a.example')).toEqual(web)
  expect(askedPlace('a.example/x/y')).toEqual({ ...web, segments: ['x', 'y'] })
  expect(askedPlace('a.example:8443/x')).toEqual({ ...web, port: 8443, segments: ['x'] })
  expect(askedPlace('a.example:80/x')).toEqual({ ...web, scheme: 'http', port: 80, segments: ['x'] })
  for (const neither of ['a b', 'user@a.example', 'a.example:x', '::1', 'a.example:99999', '/a', ''])
    expect(() => askedPlace(neither), neither).toThrow('invalid URL')
})
