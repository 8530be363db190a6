import type { ProxyDecision } from '@cordon/sandbox'
import { expect, test } from 'vitest'
import { asTyped } from '../../src/confine/as-typed.ts'

const lookup: ProxyDecision = {
  time: 0,
  kind: 'name',
  host: 'a.example',
  port: undefined,
  allowed: false,
  rule: undefined,
  reason: 'no rule allows a.example',
  wish: { host: 'a.example' },
  bytesUp: 0,
  bytesDown: 0,
  durationMs: 0,
}

const wished = (argv: readonly string[], said = '') => asTyped(lookup, argv, said).wish

test.each<[string, readonly string[], object]>([
  ['a URL', ['curl', 'http://a.example:81/x'], { port: 81, scheme: 'http', path: '/x' }],
  ['the web’s own port', ['curl', 'https://a.example/x'], { scheme: 'https', path: '/x' }],
  ['two URLs with one port', ['curl', 'http://a.example:81/x', 'http://a.example:81/y'], { port: 81 }],
  ['two ports', ['curl', 'http://a.example:81/x', 'http://a.example:82/y'], {}],
  ['another host’s', ['curl', 'http://b.example:81/x'], {}],
  ['a client’s', ['/usr/bin/psql', '-h', 'a.example', '-p', '81'], { port: 81 }],
  ['a client’s own', ['psql', '-h', 'a.example'], { port: 5432 }],
  ['redis', ['redis-cli', '-h', 'a.example', '-p81'], { port: 81 }],
  ['mysql, where -p is a password', ['mysql', '-h', 'a.example', '-p', '81'], { port: 3306 }],
  ['a client for another host', ['psql', '-h', 'b.example', '-p', '81'], {}],
  ['a service’s URL', ['app', 'postgres://u:p@a.example/db'], { port: 5432 }],
  ['scp', ['scp', '-P', '81', 'a.example:x', '.'], { scheme: 'ssh', port: 81 }],
  ['git as it writes ssh', ['git', 'clone', 'git@a.example:o/r'], { scheme: 'ssh' }],
])('SPEC 4.7 of a name that was looked up, the command line tells the port: %s', (_, argv, more) => {
  expect(wished(argv)).toEqual({ host: 'a.example', ...more })
})

test('decision 0463 what a program says tells no port', () => {
  const said = 'request to http://a.example:81/x failed: getaddrinfo ENOTFOUND a.example'
  expect(wished(['node', 'app.js'], said)).toEqual({ host: 'a.example' })
})
