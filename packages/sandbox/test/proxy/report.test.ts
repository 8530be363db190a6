import { parseHost } from '@cordon/policy'
import { expect, test } from 'vitest'
import { proxyEnv, trustEnv } from '../../src/proxy/environment.ts'
import { netHolders } from '../../src/proxy/holders.ts'
import { Client, rules, startLab } from './lab.ts'

const holders = (list: ReturnType<typeof rules>, how: 'auto' | 'off'): unknown[] =>
  netHolders(list, how).map((held) => (held.holder === 'proxy' ? 'proxy' : [held.holder, held.reason]))

test('SPEC 4.7 who holds each rule', () => {
  const list = rules(
    { host: 'a.example' },
    { host: 'a.example', scheme: 'https', port: 8443 },
    { host: 'a.example', pathPrefix: '/' },
    { host: 'a.example', pathPrefix: '/x' },
    { host: 'a.example', pathPrefix: '/y', allow: false },
    { host: 'a.example', pathPrefix: '/x', scheme: 'http' },
    { host: 'a.example', scheme: 'wss' },
    { host: 'a.example', scheme: 'ssh', port: 22 },
    { host: 'a.example', scheme: 'imaps' },
    { host: 'a.example', scheme: 'tcp' },
    { host: 'a.example', scheme: 'gopher', port: 70, pathPrefix: '/x' },
  )
  const always = [
    ['host-level', 'the proxy cannot tell ssh from other bytes: it holds a.example and the port'],
    ['none', 'imaps has no default port, so no connection matches: write port'],
    ['none', 'tcp has no default port, so no connection matches: write port'],
    ['none', 'the proxy cannot read gopher'],
  ]
  expect(holders(list, 'auto')).toEqual([...Array.from({ length: 7 }, () => 'proxy'), ...always])
  const blind = 'without interception the proxy cannot see'
  expect(holders(list, 'off')).toEqual([
    'proxy',
    'proxy',
    'proxy',
    ['host-level', `${blind} the path inside TLS: all of a.example is open to https`],
    ['host-level', `${blind} the path inside TLS: all of a.example is closed to https`],
    'proxy',
    ['host-level', `${blind} WebSockets among other requests inside TLS: all of a.example is open to https`],
    ...always,
  ])
})

test('SPEC 4.5 the variables, in both spellings; loopback is the sandbox’s own', () => {
  const url = 'http://127.0.0.1:3128'
  const direct = 'localhost,127.0.0.1,::1'
  const proxy = { address: '127.0.0.1', port: 3128 }
  const variables = {
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    ALL_PROXY: url,
    NO_PROXY: direct,
    http_proxy: url,
    https_proxy: url,
    all_proxy: url,
    no_proxy: direct,
    npm_config_update_notifier: 'false', // decision 0267
  }
  const rule = { host: parseHost('registry.npmjs.org')!, allow: true }
  expect(proxyEnv(proxy, [rule])).toEqual(variables)
  const alone = { ...variables, npm_config_maxsockets: '100000' } // decision 0267
  expect(proxyEnv(proxy, [])).toEqual(alone)
  expect(proxyEnv(proxy, [{ ...rule, allow: false }])).toEqual(alone)
  expect(proxyEnv(proxy, [{ ...rule, host: parseHost('a.example')! }])).toEqual(alone)
})

test('SPEC 4.5 trust: programs that replace their roots get the bundle, those that add get the certificate', () => {
  expect(trustEnv({ certificate: '/c', bundle: '/b' })).toEqual({
    NODE_EXTRA_CA_CERTS: '/c',
    DENO_CERT: '/c',
    SSL_CERT_FILE: '/b',
    REQUESTS_CA_BUNDLE: '/b',
    CURL_CA_BUNDLE: '/b',
    GIT_SSL_CAINFO: '/b',
    PIP_CERT: '/b',
    CARGO_HTTP_CAINFO: '/b',
    AWS_CA_BUNDLE: '/b',
  })
})

test('decisions are bounded: the newest are kept, the rest counted', async () => {
  const lab = await startLab(rules({ host: 'a.example' }), { limits: { maxDecisions: 2 } })
  const client = new Client(lab.port)
  for (const name of ['p', 'q', 'r', 's', 't']) {
    await client.send(`GET http://${name}.example/ HTTP/1.1\r\nHost: x\r\n\r\n`).takeAnswer()
  }
  expect(lab.proxy.decisions().map((d) => d.host)).toEqual(['s.example', 't.example'])
  expect(lab.proxy.droppedDecisions()).toBe(3)
})
