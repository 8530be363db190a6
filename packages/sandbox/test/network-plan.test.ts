import { parseHost } from '@cordon/policy'
import { expect, test } from 'vitest'
import { planNetwork } from '../src/plan/network.ts'
import { rules } from './proxy/lab.ts'
import { plan, SURVEY } from './survey.ts'

const OURS = ['proxy 127.0.0.1:3128', 'names udp 127.0.0.1:53', 'names tcp 127.0.0.1:53']

/** `host at address:port`, of each door. */
const doors = (...list: Parameters<typeof rules>): readonly string[] =>
  planNetwork(rules(...list), SURVEY).sockets.map((socket) =>
    socket.serves === 'door'
      ? `${[socket.host, ...(socket.alias ? [socket.alias] : [])].join(' and ')} at ${socket.address}:${socket.port}`
      : `${socket.serves}${socket.serves === 'names' ? ` ${socket.over}` : ''} ${socket.address}:${socket.port}`,
  )

test('SPEC 4.5 without rules there are the proxy and the names, and no door', () => {
  expect(doors()).toEqual(OURS)
  expect(doors({ host: 'a.example', allow: false })).toEqual(OURS)
})

test('SPEC 4.5 a host has the ports that its rules allow, and an address of its own', () => {
  expect(
    doors(
      { host: 'a.example' },
      { host: 'a.example', port: 8443, pathPrefix: '/x' },
      { host: 'db.internal', port: 5432 },
      { host: 'git.example', scheme: 'ssh' },
      { host: 'a.example', port: 22, allow: false },
      { host: 'nothing.example', scheme: 'tcp' },
    ).slice(OURS.length),
  ).toEqual([
    'a.example at 127.128.0.1:80',
    'a.example at 127.128.0.1:443',
    'a.example at 127.128.0.1:8443',
    'db.internal at 127.128.0.2:5432',
    'git.example at 127.128.0.3:22',
  ])
})

test('SPEC 4.5 an address is itself; localhost is both of its addresses, also where one of them has a rule of its own', () => {
  expect(
    doors(
      { host: '10.0.0.5', port: 5432 },
      { host: 'fd00::5', port: 443 },
      { host: 'localhost', port: 3000 },
      { host: '127.0.0.1', port: 3000 },
      { host: '127.128.0.1', port: 1 },
      { host: 'a.example', port: 1 },
    )
      .slice(OURS.length)
      .toSorted(),
  ).toEqual([
    '10.0.0.5 at 10.0.0.5:5432',
    '127.0.0.1 and localhost at 127.0.0.1:3000',
    '127.128.0.1 at 127.128.0.1:1',
    '[fd00::5] at fd00::5:443',
    'a.example at 127.128.0.2:1',
    'localhost at ::1:3000',
  ])
})

test('a name whose addresses all have rules of their own is reached all the same', () => {
  const port = 3000
  const all = rules({ host: 'localhost', port }, { host: '127.0.0.1', port }, { host: '::1', port })
  expect(planNetwork(all, SURVEY).doorless).toEqual([])
})

test('what cannot be an address of the sandbox has no door, and neither has what is too much', () => {
  expect(
    doors({ host: '0.0.0.0' }, { host: '::' }, { host: '224.0.0.1' }, { host: '::ffff:1.2.3.4' }),
  ).toEqual(OURS)
  const many = Array.from({ length: 600 }, (_, i) => ({ host: `h${i}.example`, port: 443 }))
  const { sockets, doorless } = planNetwork(rules(...many), SURVEY)
  expect([sockets.length, doorless.length, doorless[0]]).toEqual([512 + OURS.length, 88, 'h512.example'])
})

test('SPEC 4.5, 4.11 hosts that not every program reaches are said', () => {
  const many = Array.from({ length: 515 }, (_, i) => ({ host: `h${i}.example`, port: 443, allow: true }))
  const { lost } = plan({ net: [...many, { host: '0.0.0.0', allow: true }] })
  expect(lost).toEqual([
    {
      guarantee: 'host-rules',
      declared: false,
      loss: 'programs that know no proxy do not reach h512.example, h513.example, h514.example, 0.0.0.0',
      why: 'there are more than 512 hosts and ports with addresses of their own inside, or this address cannot be one',
      fix: 'allow fewer hosts for this command, or tell the program of the proxy in HTTP_PROXY',
    },
  ])
})

test('SPEC 4.5 the sandbox’s own /etc/hosts and name server, where those files really are', () => {
  const { files, names } = planNetwork(rules({ host: 'a.example' }), SURVEY)
  expect([...files]).toEqual([
    [
      '/etc/hosts',
      '127.0.0.1 localhost machine\n::1 localhost ip6-localhost ip6-loopback machine\n127.128.0.1 a.example\n',
    ],
    ['/run/resolve/stub.conf', 'nameserver 127.0.0.1\n'],
  ])
  expect([...names]).toEqual([[parseHost('a.example'), '127.128.0.1']])
})
