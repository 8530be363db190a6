import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serverCertificate } from '../packages/sandbox/test/proxy/tls-lab.ts'
import { PEOPLE, Place } from './harness/place.ts'

/** Prints the body, or the status and what a denial says. Honours the proxy variables as curl and pip do. */
const GET = `
import sys, urllib.request, urllib.error
for url in sys.argv[1:]:
    try: print(urllib.request.urlopen(url, timeout=100).read().decode())
    except urllib.error.HTTPError as e: print(e.code, e.read().decode())
    except Exception as e: print(type(e).__name__)
`

/** The same without the proxy, by every way there is. */
const DIRECT = `
import socket, sys
port = int(sys.argv[1])
def t(name, f):
    try: f(); print(name, 'ok')
    except OSError as e: print(name, 'refused')
t('tcp', lambda: socket.create_connection(('127.0.0.1', port), 100).send(b'x'))
t('tcp6', lambda: socket.create_connection(('::1', port), 100))
t('outside', lambda: socket.create_connection(('192.0.2.1', 80), 100))
t('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53)))
t('dns', lambda: socket.getaddrinfo('example.com', 80))
t('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
t('unix', lambda: socket.socket(socket.AF_UNIX))
`
const ENV = { PATH: '/usr/bin:/bin' }

let plain: Server
let secure: Server
let port: number
let securePort: number
const seen: string[] = []
let root: string

beforeAll(async () => {
  const certificate = await serverCertificate('localhost')
  root = certificate.cert
  plain = createServer((request, response) => {
    seen.push(request.url ?? '')
    response.end(`hello ${request.url}`)
  })
  secure = createTlsServer(certificate, (request, response) => response.end(`secret ${request.url}`))
  for (const server of [plain, secure]) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  port = (plain.address() as AddressInfo).port
  securePort = (secure.address() as AddressInfo).port
})

afterAll(() => {
  plain.close()
  secure.close()
})

describe.each(PEOPLE)('SPEC 4.5 the network as $name', (person) => {
  const place = new Place(person)

  test.each([
    ['curl', '-sS', 'http://localhost:PORT'],
    ['python3', '-c', 'import urllib.request as u; u.urlopen("http://localhost:PORT")'],
  ])('SPEC 4.7 %s of a port that the host listens on: the hint names the flag', async (...words) => {
    const command = words.map((word) => word.replace('PORT', `${port}`))
    const { stderr } = await place.runMeanwhile(['--', ...command], { env: ENV })
    expect(stderr).toMatch(/cordon: the command ended with \d+\n/)
    expect(stderr.split(/ended with \d+\n/)[1]).toBe(
      `  hint: the host listens on port ${port}, and localhost inside is the sandbox’s own\n` +
        `    to allow it: --allow-net localhost:${port}\n`,
    )
    const flags = ['--allow-net', `localhost:${port}`]
    expect(await place.runMeanwhile([...flags, '--', ...command], { env: ENV })).toMatchObject({ code: 0 })
  })
  const get = (flags: string[], ...urls: string[]) =>
    place.runMeanwhile([...flags, '--', 'python3', '-c', GET, ...urls], { env: ENV })

  test('no rules: nothing is reached, by no protocol', async () => {
    const { stdout } = await place.runMeanwhile(['--', 'python3', '-c', DIRECT, String(port)], { env: ENV })
    expect(stdout).toBe(
      'tcp refused\ntcp6 refused\noutside refused\nudp refused\ndns refused\nraw refused\nunix refused\n',
    )
    expect(await get([], `http://127.0.0.1:${port}/`)).toMatchObject({ stdout: 'URLError\n', code: 0 })
  })

  test('a program that knows no proxy reaches what the rules allow, and nothing else', async () => {
    const flags = ['--allow-net', `127.0.0.1:${port}`]
    const { stdout } = await place.runMeanwhile([...flags, '--', 'python3', '-c', DIRECT, String(port)], {
      env: ENV,
    })
    expect(stdout).toBe(
      'tcp ok\ntcp6 refused\noutside refused\nudp refused\ndns refused\nraw refused\nunix refused\n',
    )
  })

  test('a rule that names the host’s loopback reaches it, by port and path', async () => {
    const url = `http://127.0.0.1:${port}`
    expect(await get(['--allow-net', `127.0.0.1:${port}`], `${url}/a`)).toMatchObject({
      stdout: 'hello /a\n',
      stderr: '',
    })
    seen.length = 0
    const narrow = await get(['--allow-net', `http://localhost:${port}/ok`], `http://localhost:${port}/ok/x`)
    expect(narrow).toMatchObject({ stdout: 'hello /ok/x\n', stderr: '' })
    const other = await get(['--allow-net', `http://localhost:${port}/ok`], `http://localhost:${port}/okay`)
    expect(other.stdout.split('\n')[0]).toBe(
      `403 cordon: network access denied: http://localhost:${port}/okay`,
    )
    expect(seen).toEqual(['/ok/x'])
  })

  test('a refusal has its reason and the edit inside, and is reported once outside', async () => {
    const url = `http://127.0.0.1:${port}/`
    expect(await get(['--allow-net', 'example.com'], url, url)).toMatchObject({
      stdout: 'URLError\nURLError\n',
    })
    const denied = await get(
      ['--allow-net', 'example.com'],
      'http://evil.example.com/x',
      'http://evil.example.com/x',
    )
    const text =
      '403 cordon: network access denied: http://evil.example.com/x\n' +
      '  because: no rule allows evil.example.com:80\n\n'
    expect(denied).toMatchObject({
      code: 0,
      stdout: text + text,
      stderr:
        'cordon: refused: http://evil.example.com/x: no rule allows evil.example.com:80; to allow it: --allow-net http://evil.example.com/x\n' +
        'cordon: the command ended with 0\n' +
        '  refused: http://evil.example.com/x: no rule allows evil.example.com:80 (2 times)\n' +
        '    to allow it: --allow-net http://evil.example.com/x\n',
    })
  })

  test('a path rule on https holds inside the encryption, by the CA of the run', async () => {
    const file = place.write(`${place.home}/root.pem`, root)
    const url = `https://localhost:${securePort}`
    const ended = await place.runMeanwhile(
      ['--allow-net', `${url}/ok`, '--', 'python3', '-c', GET, `${url}/ok/1`, `${url}/no`],
      { env: { ...ENV, SSL_CERT_FILE: file } },
    )
    expect(ended.stdout.split('\n').slice(0, 2)).toEqual([
      'secret /ok/1',
      `403 cordon: network access denied: ${url}/no`,
    ])
    expect(ended.stderr).toBe(
      `cordon: refused: ${url}/no: no rule allows localhost:${securePort}/no; to allow it: --allow-net ${url}/no\n` +
        'cordon: the command ended with 0\n' +
        `  refused: ${url}/no: no rule allows localhost:${securePort}/no\n` +
        `    to allow it: --allow-net ${url}/no\n`,
    )
  })

  test('SPEC 4.7 beside a rule for a path over http, the flag is the one that `why` names, and works', async () => {
    const url = `http://localhost:${port}`
    const rule = ['--allow-net', `${url}/x`]
    const { stderr } = await get(rule, `${url}/t`)
    expect(stderr).toBe(
      `cordon: refused: ${url}/t: no rule allows localhost:${port}/t; to allow it: --allow-net ${url}/t\n` +
        'cordon: the command ended with 0\n' +
        `  refused: ${url}/t: no rule allows localhost:${port}/t\n` +
        `    to allow it: --allow-net ${url}/t\n`,
    )
    expect(place.cordon(['why', 'run', 'net', `${url}/t`]).stdout).toContain(
      `    cordon run --allow-net ${url}/t -- COMMAND\n`,
    )
    expect((await get([...rule, '--allow-net', `${url}/t`], `${url}/t`)).stderr).toBe('')
  })

  test('what was allowed and could not be reached is not taken for a refusal', async () => {
    const script = `${GET}\nsys.exit(3)`
    const urls = ['http://a.invalid/', 'https://a.invalid/', 'https://a.invalid/']
    const flags = ['--allow-net', 'a.invalid', '--', 'python3', '-c', script, ...urls]
    const { code, stderr } = await place.runMeanwhile(flags, { env: ENV })
    expect({ code, stderr: stderr.replace(/\(E\w+\)/, '(CODE)') }).toEqual({
      code: 3,
      stderr: 'cordon: the command ended with 3\n  allowed, but: a.invalid cannot be resolved (CODE)\n',
    })
  })

  test('what is refused whatever is granted comes without advice', async () => {
    const send = `
import os, socket, sys
for text in sys.argv[1:]:
    s = socket.create_connection(('127.0.0.1', int(os.environ['HTTP_PROXY'].split(':')[-1])))
    s.sendall(text.encode().decode('unicode_escape').encode())
    while s.recv(9999): pass
`
    const where = `localhost:${port}`
    const { stderr } = await place.runMeanwhile(
      [
        '--allow-net',
        where,
        '--',
        'python3',
        '-c',
        send,
        `CONNECT ${where} HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n`,
        'GET /origin HTTP/1.1\\r\\n\\r\\n',
        'GET http://x$(id).example/ HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n',
      ],
      { env: ENV },
    )
    expect(stderr).toBe(
      `cordon: refused: ${where}: it is for evil.example:80, another host than ${where}, where this tunnel leads\n` +
        "cordon: refused: http://x$(id).example/: no rule allows x$(id).example:80; to allow it: --allow-net 'http://x$(id).example'\n" +
        'cordon: the command ended with 0\n' +
        `  refused: ${where}: it is for evil.example:80, another host than ${where}, where this tunnel leads\n` +
        '  refused: a request: this is a proxy: the target must be a whole http URL\n' +
        '  refused: http://x$(id).example/: no rule allows x$(id).example:80\n' +
        "    to allow it: --allow-net 'http://x$(id).example'\n",
    )
  })

  test('the CA is a read-only file in memory, and of another run each time', async () => {
    const script = 'rm -f $SSL_CERT_FILE; echo x >> $NODE_EXTRA_CA_CERTS; tail -n 3 $NODE_EXTRA_CA_CERTS'
    const one = () =>
      place.runMeanwhile(['-q', '--allow-net', 'https://example.com/x', '--', 'sh', '-c', script], {
        env: ENV,
      })
    const [a, b] = await Promise.all([one(), one()])
    expect(a.stdout).toMatch(/-----END CERTIFICATE-----\n$/)
    expect(a.stdout).not.toBe(b.stdout)
    expect(a.stderr).toBe(
      "rm: cannot remove '/run/cordon/ca-bundle.pem': Read-only file system\n" +
        'sh: 1: cannot create /run/cordon/ca.pem: Permission denied\n',
    )
  })

  test('the proxy’s variables are ours, whatever the host has', async () => {
    const env = { ...ENV, HTTP_PROXY: 'http://evil:1', NO_PROXY: '*', https_proxy: 'http://evil:1' }
    const { stdout } = await place.runMeanwhile(
      ['--env', '*', '--allow-net', 'example.com', '--', 'sh', '-c', 'env | grep -i proxy | sort'],
      { env },
    )
    expect(stdout).toBe(
      [
        'ALL_PROXY=http://127.0.0.1:3128',
        'HTTPS_PROXY=http://127.0.0.1:3128',
        'HTTP_PROXY=http://127.0.0.1:3128',
        'NO_PROXY=localhost,127.0.0.1,::1',
        'all_proxy=http://127.0.0.1:3128',
        'http_proxy=http://127.0.0.1:3128',
        'https_proxy=http://127.0.0.1:3128',
        'no_proxy=localhost,127.0.0.1,::1',
        '',
      ].join('\n'),
    )
  })
})
