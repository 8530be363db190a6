import { createServer as createHttp, type Server } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PEOPLE, Place } from './harness/place.ts'

const ENV = { PATH: '/usr/bin:/bin' }

/** What a hostile program says to the proxy, byte by byte; prints the status of each answer. */
const RAW = `
import socket, sys
for line in sys.argv[1:]:
    s = socket.create_connection(('127.0.0.1', 3128), 100)
    s.sendall(line.encode().decode('unicode_escape').encode('latin1') + b'\\r\\n\\r\\n')
    answer = b''
    while b'\\r\\n' not in answer:
        data = s.recv(65536)
        if not data: break
        answer += data
    print((answer.split(b'\\r\\n')[0].split(b' ') + [b'', b'closed'])[1].decode() or 'closed')
`

let server: Server
let port: number
let seen: string[] = []

beforeAll(async () => {
  server = createHttp((request, response) => {
    seen.push(`${request.headers.host} ${request.url}`)
    response.end('reached')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  port = (server.address() as AddressInfo).port
})

afterAll(() => server.close())

describe.each(PEOPLE)('a program that wants more network than it was granted, run by $name', (person) => {
  const place = new Place(person)
  const say = async (flags: readonly string[], lines: readonly string[]): Promise<Record<string, string>> => {
    seen = []
    const { stdout, stderr } = await place.runMeanwhile(
      ['-q', ...flags, '--', 'python3', '-c', RAW, ...lines],
      {
        env: ENV,
      },
    )
    expect(stderr).toBe('')
    return Object.fromEntries(
      stdout
        .trim()
        .split('\n')
        .map((status, i) => [lines[i], status]),
    )
  }

  test('look-alikes, user names, dots and addresses are not the host that was granted', async () => {
    const get = (target: string): string => `GET ${target} HTTP/1.1`
    const good = [get(`http://localhost:${port}/ok`), get(`http://LOCALHOST.:${port}/ok`)]
    const refused = [
      `http://localhost.evil.example:${port}/`,
      `http://evil-localhost:${port}/`,
      `http://localhost.evil:${port}/`,
      `http://notlocalhost:${port}/`,
      `http://127.0.0.1:${port}/`,
      `http://127.1:${port}/`,
      `http://2130706433:${port}/`,
      `http://0x7f000001:${port}/`,
      `http://0177.0.0.1:${port}/`,
      `http://0.0.0.0:${port}/`,
      `http://[::1]:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      `http://localhost:${port + 1}/`,
      'http://localhost/',
    ].map(get)
    const unreadable = [
      `http://user@localhost:${port}/`,
      `http://localhost:${port}@evil.example/`,
      `http://evil.example@localhost:${port}/`,
      `http://localhost:${port}\\\\@evil.example/`,
      `http://localhost%2eevil.example:${port}/`,
      `http://localhost..:${port}/`,
      '/',
    ].map(get)
    const expected = {
      ...Object.fromEntries(good.map((line) => [line, '200'])),
      ...Object.fromEntries(refused.map((line) => [line, '403'])),
      ...Object.fromEntries(unreadable.map((line) => [line, '400'])),
    }
    expect(await say(['--allow-net', `localhost:${port}`], Object.keys(expected))).toEqual(expected)
    expect(seen).toHaveLength(good.length)
  })

  test('scheme and path: another spelling of a path, and a Host header that lies, open nothing', async () => {
    const at = `http://localhost:${port}`
    const expected = {
      [`GET ${at}/ok/a HTTP/1.1`]: '200',
      [`GET ${at}/ok/../secret HTTP/1.1`]: '403',
      [`GET ${at}/ok/%2e%2e/secret HTTP/1.1`]: '403',
      [`GET ${at}/ok%2f..%2fsecret HTTP/1.1`]: '403',
      [`GET ${at}//ok HTTP/1.1`]: '403',
      [`GET ${at}/okay HTTP/1.1`]: '403',
      [`GET ${at}/secret HTTP/1.1\\r\\nHost: localhost:${port}/ok`]: '403',
    }
    expect(await say(['--allow-net', `${at}/ok`], Object.keys(expected))).toEqual(expected)
    expect(seen).toEqual([`localhost:${port} /ok/a`])
  })

  test('no way past the proxy: fast open, MPTCP, SCTP, UDP, ping sockets, and the ssh agent by its variable', async () => {
    seen = []
    const agent = join(place.home, 'agent.sock')
    const reached: string[] = []
    const listener = createServer(() => reached.push('agent')).listen(agent)
    const script = `
import os, socket
port = ${port}
def attempt(name, f):
    try: f(); print(name, 'ok')
    except OSError: print(name, 'refused')
def to(kind, protocol):
    s = socket.socket(socket.AF_INET, kind, protocol); s.settimeout(3); s.connect(('127.0.0.1', port)); s.send(b'x')
attempt('fast-open', lambda: socket.socket().sendto(b'GET / HTTP/1.1\\r\\n\\r\\n', 0x20000000, ('127.0.0.1', port)))
attempt('mptcp', lambda: to(socket.SOCK_STREAM, 262))
attempt('sctp', lambda: to(socket.SOCK_STREAM, 132))
attempt('ping', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).sendto(b'\\x08\\0' + bytes(6), ('192.0.2.1', 0)))
attempt('ping6', lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6).sendto(b'\\x80\\0' + bytes(6), ('2001:db8::1', 0)))
attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53)))
attempt('udp6', lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('2001:db8::1', 53)))
attempt('multicast', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('224.0.0.251', 5353)))
attempt('agent', lambda: socket.socket(socket.AF_UNIX).connect(os.environ['SSH_AUTH_SOCK']))
for path in ('/run/docker.sock', '/var/run/docker.sock', '/run/dbus/system_bus_socket', '/run/user'):
    if os.path.exists(path): print(path, 'is there')
`
    for (const flags of [[], ['--allow-net', 'example.com']]) {
      const { stdout } = await place.runMeanwhile(
        ['-q', '--env', 'SSH_AUTH_SOCK', ...flags, '--', 'python3', '-c', script],
        { env: { ...ENV, SSH_AUTH_SOCK: agent } },
      )
      const ways = ['fast-open', 'mptcp', 'sctp', 'ping', 'ping6', 'udp', 'udp6', 'multicast', 'agent']
      expect(stdout.trim().split('\n')).toEqual(ways.map((way) => `${way} refused`))
    }
    listener.close()
    expect({ seen, reached }).toEqual({ seen: [], reached: [] })
  })
})
