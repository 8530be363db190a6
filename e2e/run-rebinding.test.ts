import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificate, serverCertificate } from '../packages/sandbox/test/proxy/tls-lab.ts'
import { hasInternet, inInternet, type Seen } from './harness/internet.ts'
import { PEOPLE, Place, PROGRAM } from './harness/place.ts'

/** Addresses that are public, in a network that is not. */
const OUTSIDE = '93.184.216.34'
const SILENT = '93.184.216.35'
const INSIDE = {
  '127.0.0.1': 'loopback',
  '10.0.0.5': 'private',
  '192.168.7.7': 'private',
  '172.16.9.9': 'private',
  '169.254.169.254': 'metadata',
  '169.254.7.7': 'link-local',
  '100.64.0.1': 'private',
  '::1': 'loopback',
  'fd00::5': 'private',
  'fe80::5': 'link-local',
  '::ffff:10.0.0.5': 'private',
}
const NAME = 'rebind.example'
/** The system's resolver asks for both families. */
const LOOKUP = [`A ${NAME}`, `AAAA ${NAME}`]

/** One connection to the proxy an argument, one request a line of it; prints the status and the body of each. */
const ASK = `
import socket, sys
def answer(f):
    status = f.readline().split(b' ')[1].decode(); length = 0
    while (line := f.readline().strip()):
        if line.lower().startswith(b'content-length:'): length = int(line.split(b':')[1])
    return status, f.read(length).decode()
def socks(s, name):
    s.sendall(b'\\5\\1\\0'); s.recv(2)
    s.sendall(b'\\5\\1\\0\\3' + bytes([len(name)]) + name.encode() + b'\\0\\x50'); return str(s.recv(10)[1])
for conversation in sys.argv[1:]:
    s = socket.create_connection(('127.0.0.1', 3128), 100); f = s.makefile('rb')
    for line in conversation.split('\\n'):
        if line.startswith('SOCKS '):
            print(line, socks(s, line[6:])); continue
        s.sendall(b'%s HTTP/1.1\\r\\nHost: ${NAME}\\r\\n\\r\\n' % line.encode())
        status, body = answer(f)
        print(line, status, body.split('\\n')[1] if status == '403' else body)
`

if (!hasInternet)
  console.warn('skipped: no network namespace of our own for a name server that changes its mind')

let certificate: Certificate
beforeAll(async () => {
  certificate = await serverCertificate(NAME)
})

/** SPEC 4.5 with the real program and the system’s resolver. */
describe.runIf(hasInternet).each(PEOPLE)('a name whose address changes, run by $name', (person) => {
  const place = new Place(person)

  function run(
    answers: readonly (readonly string[])[],
    flags: readonly string[],
    command: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Seen {
    const { uid, gid } = person
    return inInternet({
      argv: [PROGRAM.node, PROGRAM.cordon, 'run', '-q', ...flags, '--', ...command],
      options: {
        cwd: place.root,
        env: place.env({
          PATH: '/usr/bin:/bin',
          SSL_CERT_FILE: place.write(`${place.home}/roots.pem`, certificate.cert),
          ...env,
        }),
        ...(uid === undefined ? {} : { uid, gid: gid! }),
      },
      answers,
      addresses: [
        OUTSIDE,
        ...Object.keys(INSIDE).filter((each) => !['127.0.0.1', '::1', '::ffff:10.0.0.5'].includes(each)),
      ],
      certificate,
    })
  }

  const ask = (answers: readonly (readonly string[])[], ...conversations: string[]): Seen =>
    run(answers, ['--allow-net', NAME], ['python3', '-c', ASK, ...conversations])

  test.each([
    ['a request', `GET http://${NAME}/1`, `GET http://${NAME}/1 200 from ${OUTSIDE}\n`],
    [
      'a tunnel',
      `CONNECT ${NAME}:80\nGET /1\nGET /2`,
      `CONNECT ${NAME}:80 200 \nGET /1 200 from ${OUTSIDE}\nGET /2 200 from ${OUTSIDE}\n`,
    ],
    ['a SOCKS tunnel', `SOCKS ${NAME}\nGET /1`, `SOCKS ${NAME} 0\nGET /1 200 from ${OUTSIDE}\n`],
  ])('%s goes where the first answer said, and nobody asks again', (_, conversation, stdout) => {
    expect(ask([[OUTSIDE], ['127.0.0.1']], conversation)).toMatchObject({
      stdout,
      stderr: '',
      lookups: LOOKUP,
      connections: [`${OUTSIDE}:80`],
    })
  })

  test('a name with a dot is asked for as it stands: nobody’s search domain makes another of it', () => {
    const searching = { LOCALDOMAIN: 'evil.example', RES_OPTIONS: 'ndots:15' }
    const names = [NAME, 'Written.example']
    const flags = names.flatMap((name) => ['--allow-net', name])
    const asked = names.map((name) => `GET http://${name}/1`)
    const seen = run([[OUTSIDE]], flags, ['python3', '-c', ASK, ...asked], searching)
    expect(seen).toMatchObject({
      stdout: asked.map((each) => `${each} 200 from ${OUTSIDE}\n`).join(''),
      lookups: LOOKUP, // the other one is in /etc/hosts
    })
    // One without a dot is nobody's otherwise.
    const short = run(
      [[OUTSIDE]],
      ['--allow-net', 'intranet'],
      ['python3', '-c', ASK, 'CONNECT intranet:80'],
      searching,
    )
    expect(short.lookups).toEqual(['A intranet.evil.example', 'AAAA intranet.evil.example'])
  })

  test('what is kept open goes on where it leads; a new connection asks anew, and the answer is judged anew', () => {
    const kept = `GET http://${NAME}/1\nGET http://${NAME}/2`
    const refused = `403   because: ${NAME} resolves to 127.0.0.1, a loopback address, and no rule names that address\n`
    expect(ask([[OUTSIDE], ['127.0.0.1']], kept, `GET http://${NAME}/3`, `CONNECT ${NAME}:443`)).toEqual({
      stdout:
        `GET http://${NAME}/1 200 from ${OUTSIDE}\nGET http://${NAME}/2 200 from ${OUTSIDE}\n` +
        `GET http://${NAME}/3 ${refused}CONNECT ${NAME}:443 ${refused}`,
      stderr: '',
      lookups: [...LOOKUP, ...LOOKUP, ...LOOKUP],
      connections: [`${OUTSIDE}:80`],
      reached: [`${OUTSIDE} /1`, `${OUTSIDE} /2`],
    })
  })

  test('an answer that is not public is refused, and nobody is connected to', () => {
    const refusals = Object.entries(INSIDE).map(
      ([address, kind]) =>
        `GET http://${NAME}/ 403   because: ${NAME} resolves to ${address}, a ${kind} address, and no rule names that address\n`,
    )
    const answers = Object.keys(INSIDE).map((address) => [address])
    expect(ask(answers, ...answers.map(() => `GET http://${NAME}/`))).toEqual({
      stdout: refusals.join(''),
      stderr: '',
      lookups: answers.flatMap(() => LOOKUP),
      connections: [],
      reached: [],
    })
  })

  test('among several answers only the public ones count, also when nobody is there', () => {
    const inside = Object.keys(INSIDE)
    const unreachable = `502 cordon: ${NAME}:80 cannot be reached (ENETUNREACH).\n`
    expect(
      ask(
        [
          [...inside, OUTSIDE],
          [SILENT, ...inside],
        ],
        `GET http://${NAME}/1`,
        `GET http://${NAME}/2`,
      ),
    ).toEqual({
      stdout: `GET http://${NAME}/1 200 from ${OUTSIDE}\nGET http://${NAME}/2 ${unreachable}\n`,
      stderr: '',
      lookups: [...LOOKUP, ...LOOKUP],
      connections: [`${OUTSIDE}:80`],
      reached: [`${OUTSIDE} /1`],
    })
  })

  test('a path rule on https: what is opened behind the interception goes where the answer said', () => {
    const script = `
import sys, urllib.request, urllib.error
for url in sys.argv[1:]:
    try: print(urllib.request.urlopen(url, timeout=100).read().decode())
    except urllib.error.URLError as e: print(e.reason)
`
    const url = `https://${NAME}/ok`
    const command = ['python3', '-c', script, `${url}/1`, `${url}/2`]
    expect(run([[OUTSIDE], ['127.0.0.1']], ['--allow-net', url], command)).toEqual({
      stdout: `from ${OUTSIDE}\nTunnel connection failed: 403 Forbidden\n`,
      stderr: '',
      lookups: [...LOOKUP, ...LOOKUP],
      connections: [`${OUTSIDE}:443`],
      reached: [`${OUTSIDE} /ok/1`],
    })
  })

  test('a name that no rule allows is not looked up, and what a command looks up itself goes nowhere', () => {
    const script = `
import socket
for name in ('leak.example', '${NAME}'):
    try: print(socket.gethostbyname(name))
    except OSError: print('no')
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for address in ('127.0.0.1', '${OUTSIDE}'):
    try: s.sendto(b'leak', (address, 53))
    except OSError: print('no')
`
    const nothing = { stderr: '', lookups: [], connections: [], reached: [] }
    // An allowed name has an address of the sandbox's own, and only we answer there.
    expect(run([[OUTSIDE]], ['--allow-net', NAME], ['python3', '-c', script])).toEqual({
      ...nothing,
      stdout: 'no\n127.128.0.1\nno\n',
    })
    expect(ask([[OUTSIDE]], 'GET http://leak.example/', 'CONNECT leak.example:443')).toEqual({
      stdout:
        'GET http://leak.example/ 403   because: no rule allows leak.example:80\nCONNECT leak.example:443 403   because: no rule allows leak.example:443\n',
      ...nothing,
    })
  })
})
