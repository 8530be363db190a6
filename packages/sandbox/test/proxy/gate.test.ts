import { type NetRule, parseAccessPolicy, parseHost, parseNetTarget } from '@cordon/policy'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { denyByRule } from '../../src/proxy/denial.ts'
import { Gate } from '../../src/proxy/gate.ts'
import { rules } from './lab.ts'

const host = parseHost('h.example')!
const request = (gate: Gate, url: string): boolean => {
  const path = /^\w+:\/\/[^/?]*([^?]*)/.exec(url)![1]!
  return gate.request(parseNetTarget(url), path).allowed
}

const open = (list: NetRule[], port: number, as: 'https' | 'tcp', how: 'auto' | 'off' = 'auto'): boolean =>
  new Gate(list, how).opaque({ host, port }, as).allowed

const intercepts = (list: NetRule[], port = 443, how: 'auto' | 'off' = 'auto'): boolean =>
  new Gate(list, how).intercepts({ host, port })

test('decision 0050: what bytes cannot show is decided by the port', () => {
  const h = 'h.example'
  // A rule without a port stands for 80 and 443, and raw bytes have no default port.
  expect(open(rules({ host: h }), 443, 'https')).toBe(true)
  expect(open(rules({ host: h }), 443, 'tcp')).toBe(false)
  expect(open(rules({ host: h }), 8443, 'https')).toBe(false)
  expect(open(rules({ host: h, port: 22 }), 22, 'tcp')).toBe(true)
  expect(open(rules({ host: h, port: 22, scheme: 'ssh' }), 22, 'tcp')).toBe(true)
  expect(open(rules({ host: h, port: 993, scheme: 'imaps' }), 993, 'https')).toBe(true)
  expect(open(rules({ host: h, port: 5432, scheme: 'tcp' }), 5432, 'tcp')).toBe(true)
  expect(open(rules({ host: h, port: 5432, scheme: 'tcp' }), 5432, 'https')).toBe(false)
  // Unreadable bytes could be HTTP to a lenient server, so they do not pass where HTTP is restricted.
  expect(open(rules({ host: h, port: 80 }, { host: h, port: 80, pathPrefix: '/a' }), 80, 'tcp')).toBe(false)
  expect(
    open(rules({ host: h, port: 80 }, { host: h, port: 80, scheme: 'http', allow: false }), 80, 'tcp'),
  ).toBe(false)
  expect(
    open(
      rules({ host: h, port: 443 }, { host: h, port: 443, scheme: 'https', pathPrefix: '/a', allow: false }),
      443,
      'tcp',
    ),
  ).toBe(false)
  expect(
    open(rules({ host: h, port: 443 }, { host: h, port: 443, scheme: 'https', allow: false }), 443, 'tcp'),
  ).toBe(false)
  // Without interception a path rule counts for its host, and a refusal wins.
  expect(open(rules({ host: h, pathPrefix: '/a' }), 443, 'https', 'off')).toBe(true)
  expect(open(rules({ host: h }, { host: h, pathPrefix: '/a', allow: false }), 443, 'https', 'off')).toBe(
    false,
  )
})

test('decision 0050: only hosts with rules that TLS hides are intercepted', () => {
  const h = 'h.example'
  expect(intercepts(rules({ host: h }))).toBe(false)
  expect(intercepts(rules({ host: h, pathPrefix: '/' }))).toBe(false)
  expect(intercepts(rules({ host: h, pathPrefix: '/a' }))).toBe(true)
  expect(intercepts(rules({ host: h, pathPrefix: '/a' }), 443, 'off')).toBe(false)
  expect(intercepts(rules({ host: h, pathPrefix: '/a' }), 8443)).toBe(false)
  expect(intercepts(rules({ host: h, pathPrefix: '/a', port: 8443 }), 8443)).toBe(true)
  expect(intercepts(rules({ host: h, pathPrefix: '/a', scheme: 'http' }))).toBe(false)
  expect(intercepts(rules({ host: 'other.example', pathPrefix: '/a' }))).toBe(false)
  expect(intercepts(rules({ host: h, scheme: 'wss' }))).toBe(true)
})

test('decision 0050: a path that servers read differently must be allowed in every reading', () => {
  const gate = new Gate(
    rules({ host: 'h.example' }, { host: 'h.example', pathPrefix: '/admin', allow: false }),
    'auto',
  )
  for (const path of ['/', '/administration', '/x%20y', '/a%2Fb', '/x;v=1/y', '/a/../b', '//x', '/100%25'])
    expect([path, request(gate, `https://h.example${path}`)]).toEqual([path, true])
  for (const path of [
    '/admin',
    '/admin/x?q',
    '//admin',
    '/./admin',
    '/x/../admin',
    '/x/..%2fadmin',
    '/%61dmin',
    '/x/%2e%2e/admin',
    '/admin%2f..%2fpublic',
    '/admin/../public',
    '/admin%2fx',
    '/%2561dmin',
    '/x/%252e%252e%252fadmin',
    '/admin;v=1/x',
    '/x/..;/admin',
    '/x%5c..%5cadmin',
    '/x/%c0%ae%c0%ae/admin',
    '/x/%e0%80%ae%e0%80%ae/admin',
    '/x/%f0%80%80%ae./admin',
    '/x%c0%afadmin/%c0%ae%c0%ae/..%c0%afadmin',
    '/%c1%a1dmin',
    '/x/%ef%bc%8e%ef%bc%8e%ef%bc%8fadmin',
    '/x%c1%9c..%c1%9cadmin',
    '/admin%00.html',
    '/admin/%00/../x',
  ])
    expect([path, request(gate, `https://h.example${path}`)]).toEqual([path, false])
  const narrow = new Gate(rules({ host: 'h.example', pathPrefix: '/repos' }), 'auto')
  for (const path of [
    '/repos/../admin',
    '/repos/..%2fadmin',
    '/repos/%252e%252e/admin',
    '/repos/..;/admin',
    '/repos%5c..%5cadmin',
    '/repos/%c0%ae%c0%ae/admin',
    '/repos/%25c0%25ae%25c0%25ae/admin',
    '/repos/%ef%bc%8e%ef%bc%8e/admin',
  ])
    expect([path, request(narrow, `https://h.example${path}`)]).toEqual([path, false])
  for (const path of [
    '/repos/group%2Fproject',
    '/repos/%E6%97%A5%E6%9C%AC',
    '/repos/%C3%A9%ef%bc%8e',
    '/repos/x%00',
  ])
    expect([path, request(narrow, `https://h.example${path}`)]).toEqual([path, true])
})

const anyRule = fc.record(
  {
    host: fc.constantFrom('h.example', 'i.example'),
    allow: fc.boolean(),
    scheme: fc.constantFrom('http', 'https'),
    port: fc.constantFrom(80, 443, 8080),
    pathPrefix: fc.constantFrom('/', '/a', '/a/b'),
  },
  { requiredKeys: ['host', 'allow'] },
)
const anyUrl = fc
  .tuple(
    fc.constantFrom('http', 'https'),
    fc.constantFrom('', ':80', ':443', ':8080'),
    fc.constantFrom('', '/a', '/a/b/c', '/a%2f..%2fb'),
  )
  .map(([scheme, port, path]) => `${scheme}://h.example${port}${path}`)

test('SPEC 1.4 the rule that a denial suggests makes the same request pass', () => {
  fc.assert(
    fc.property(fc.array(anyRule, { maxLength: 6 }), anyUrl, (list, url) => {
      let current = rules(...list)
      const target = parseNetTarget(url)
      const path = /^\w+:\/\/[^/]*(.*)/.exec(url)![1]!
      // A path with several readings can meet several refusals, each with its own suggestion.
      for (let round = 0; round < 6; round++) {
        const verdict = new Gate(current, 'auto').request(target, path)
        if (verdict.allowed) return
        const place = { host: target.host, port: target.port! }
        const { fix } = denyByRule(place, verdict.rule, { inside: { target, rawPath: path } })
        current = [...current, ...readToml(fix!)]
      }
      throw new Error(`still denied: ${url}`)
    }),
  )
})

/** The fields of one inline table: strings, numbers and `true`. */
function readToml(text: string): readonly NetRule[] {
  const fields = [...text.matchAll(/(\w+) = ("(?:[^"\\]|\\.)*"|\w+)/g)].map(([, key, value]) => [
    key!,
    JSON.parse(value!) as unknown,
  ])
  return parseAccessPolicy({ net: [Object.fromEntries(fields)] }).net
}
