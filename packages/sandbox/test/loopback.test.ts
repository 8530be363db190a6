import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { IDENTITIES, makeWorld, removeWorlds, run } from './confine.ts'

afterAll(removeWorlds)

/** What a test suite does: a server on each of the addresses, and a client to it. */
const ROUND_TRIPS = `
import socket, threading
def tcp(family, address):
    server = socket.socket(family); server.bind((address, 0)); server.listen()
    def serve():
        with server.accept()[0] as s: s.sendall(s.recv(9).upper())
    threading.Thread(target=serve).start()
    client = socket.create_connection(server.getsockname()[:2]); client.sendall(b'tcp')
    return client.recv(9).decode()
def udp(family, address):
    server = socket.socket(family, socket.SOCK_DGRAM); server.bind((address, 0))
    client = socket.socket(family, socket.SOCK_DGRAM); client.sendto(b'UDP', server.getsockname())
    return server.recv(9).decode()
for address, family in (('127.0.0.1', socket.AF_INET), ('127.9.9.9', socket.AF_INET), ('0.0.0.0', socket.AF_INET),
                        ('::1', socket.AF_INET6), ('::', socket.AF_INET6)):
    print(address, tcp(family, address), udp(family, address))
`

/** Everything that could lead to a port of the host. */
const TO_THE_HOST = `
import socket, sys
port = int(sys.argv[1])
for address in ('127.0.0.1', '127.0.0.2', '0.0.0.0', '::1', '::ffff:127.0.0.1', *sys.argv[2:]):
    try: print(address, socket.create_connection((address, port), 2).recv(9).decode())
    except OSError: print(address, 'no')
`

describe.each(IDENTITIES)('SPEC 4.5 the sandbox’s own loopback, as $name', (who) => {
  test('is up: servers and their clients work, in both families', async () => {
    const world = makeWorld(who)
    const { stdout, stderr } = await run({ who, world, argv: ['/usr/bin/python3', '-c', ROUND_TRIPS] })
    expect({ stdout, stderr }).toEqual({
      stdout: ['127.0.0.1', '127.9.9.9', '0.0.0.0', '::1', '::'].map((at) => `${at} TCP UDP\n`).join(''),
      stderr: '',
    })
  })

  test('is not the host’s', async () => {
    const world = makeWorld(who)
    const server = createServer((socket) => socket.end('HOST')).listen(0)
    await once(server, 'listening')
    const port = String((server.address() as AddressInfo).port)
    const { stdout } = await run({ who, world, argv: ['/usr/bin/python3', '-c', TO_THE_HOST, port] })
    server.close()
    expect(stdout).toBe(
      ['127.0.0.1', '127.0.0.2', '0.0.0.0', '::1', '::ffff:127.0.0.1'].map((at) => `${at} no\n`).join(''),
    )
  })
})
