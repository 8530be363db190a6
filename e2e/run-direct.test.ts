import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificate, serverCertificate } from '../packages/sandbox/test/proxy/tls-lab.ts'
import { hasInternet, inInternet, type Seen } from './harness/internet.ts'
import { Place, PROGRAM, SOMEBODY } from './harness/place.ts'
import { Repository } from './harness/repository.ts'

/** A public address in a network that is not, and a private one. */
const OUTSIDE = '93.184.216.34'
const PRIVATE = '10.0.0.5'
const NAME = 'api.example'

let certificate: Certificate
beforeAll(async () => {
  certificate = await serverCertificate(NAME)
})

if (!hasInternet) console.warn('skipped: no network namespace of our own to stand for the internet')

/** Node 20, whose `fetch` knows no proxy; where the machine's own Node is newer it is tried all the same. */
const NODES = ['/usr/bin/node', PROGRAM.node].filter((node) => existsSync(node))
if (NODES.length < 2) console.warn('skipped: the machine has no Node of its own')

/** SPEC 4.5: programs that know no proxy. */
describe.runIf(hasInternet)('programs that know no proxy', () => {
  const person = SOMEBODY
  const place = new Place(person)
  const roots = (): string => place.write(`${place.home}/roots.pem`, certificate.cert)

  function run(
    flags: readonly string[],
    script: string,
    more: { answers?: string[]; quiet?: false; beside?: readonly string[] } = {},
  ): Seen {
    const { uid, gid } = person
    const quiet = more.quiet === false ? [] : ['-q']
    return inInternet({
      argv: [
        ...((more.beside ?? []) as []),
        PROGRAM.node,
        PROGRAM.cordon,
        'run',
        ...quiet,
        ...flags,
        '--env',
        'SSL_CERT_FILE',
        '--',
        'sh',
        '-c',
        script,
      ],
      options: {
        cwd: place.root,
        env: place.env({ PATH: `/usr/bin:/bin:${dirname(PROGRAM.node)}`, SSL_CERT_FILE: roots() }),
        ...(uid === undefined ? {} : { uid, gid: gid! }),
      },
      answers: [more.answers ?? [OUTSIDE]],
      addresses: [OUTSIDE, PRIVATE],
      certificate,
    })
  }
  /** What makes programs use the proxy is taken away again. */
  const UNSET = 'unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy;'

  test('curl, Python, Node 20 and 24 reach a host that is allowed', () => {
    place.write('roots.pem', certificate.cert)
    const fetched = `fetch('https://${NAME}/node').then((r) => r.text()).then(console.log)`
    const script = `${UNSET}
curl -sS -m 100 http://${NAME}/curl; echo
curl -sS -m 100 --cacert roots.pem https://${NAME}/curl-tls; echo
python3 -c "import urllib.request as u; print(u.urlopen('http://${NAME}/python', timeout=100).read().decode())"
${NODES.map((node) => `NODE_EXTRA_CA_CERTS=roots.pem ${node} -e "${fetched}"`).join('\n')}
`
    const { stdout, stderr, reached, connections } = run(['--allow-net', NAME], script)
    expect({ stdout, stderr }).toEqual({ stdout: `from ${OUTSIDE}\n`.repeat(3 + NODES.length), stderr: '' })
    expect(reached).toEqual(
      ['/curl', '/curl-tls', '/python', ...NODES.map(() => '/node')].map((path) => `${OUTSIDE} ${path}`),
    )
    expect(new Set(connections)).toEqual(new Set([`${OUTSIDE}:80`, `${OUTSIDE}:443`]))
  })

  test('a static program that asks the name server itself, by either transport', () => {
    const built = spawnSync('cc', [
      '-static',
      '-O1',
      '-o',
      join(place.root, 'raw'),
      join(import.meta.dirname, 'harness/raw-client.c'),
    ])
    expect(built.stderr.toString()).toBe('')
    chmodSync(join(place.root, 'raw'), 0o755)
    const script = `./raw ${NAME} 80 udp; ./raw ${NAME} 80 tcp; ./raw other.example 80 udp; ./raw other.example 80 tcp`
    const { stdout, lookups } = run(['--allow-net', NAME], script)
    expect(stdout).toBe(`127.128.0.1 from ${OUTSIDE}\n127.128.0.1 from ${OUTSIDE}\ncode 3\ncode 3\n`)
    expect(lookups.every((lookup) => lookup.endsWith(` ${NAME}`))).toBe(true)
  })

  test('musl’s way to look up a name, and that of c-ares: an answer at once, to every question', () => {
    place.write('lookup.py', readFileSync(join(import.meta.dirname, 'harness/musl-lookup.py'), 'utf8'))
    const ask = `const { resolve4, resolve6 } = require('node:dns').promises
for (const resolve of [resolve4, resolve6]) for (const name of ['${NAME}', 'other.example'])
  resolve(name).catch((e) => e.code).then((found) => console.log(resolve === resolve4 ? 4 : 6, name, String(found)))`
    place.write('ares.cjs', ask)
    const script = `python3 lookup.py ${NAME} other.example; ${NODES.map((node) => `${node} ares.cjs | sort`).join('; ')}`
    const { stdout, lookups } = run(['--allow-net', NAME], script)
    // That there is no second address must not read as if there were no name: musl would give up.
    const byMusl = `${NAME} A 0 127.128.0.1\n${NAME} AAAA 0 none\nother.example A 3 none\nother.example AAAA 3 none\n`
    const byAres = `4 ${NAME} 127.128.0.1\n4 other.example ENOTFOUND\n6 ${NAME} ENODATA\n6 other.example ENOTFOUND\n`
    expect(stdout).toBe(byMusl + byAres.repeat(NODES.length))
    expect(lookups).toEqual([])
  })

  /** Serves the repository of a directory on git's own port, outside, while a command runs. */
  const gitDaemon = (base: string): readonly string[] => [
    'sh',
    '-c',
    `daemon=$("$(git --exec-path)/git-daemon" --base-path="$0" --export-all >/dev/null 2>&1 & echo $!)
until git ls-remote -q git://${OUTSIDE}/.git >/dev/null 2>&1; do kill -0 $daemon || exit 9; sleep 0.05; done
"$@"; kill $daemon`,
    base,
  ]

  test('git:// through a rule with its port', () => {
    const source = new Repository(person)
    const clone = (to: string): string =>
      `git clone -q git://${NAME}/.git ${to} && git -C ${to} log --format=%s`
    const more = { beside: gitDaemon(source.root), quiet: false } as const
    const allowed = run(['--allow-net', `${NAME}:9418`], clone('one'), more)
    expect(allowed).toMatchObject({ stdout: 'first\n', stderr: '' })
    // 80 and 443 are another matter, and so is no rule at all.
    const refused = run(['--allow-net', NAME], clone('two'), more)
    expect(refused.stdout + refused.stderr).toBe(
      `fatal: unable to connect to ${NAME}:\n${NAME}[0: 127.128.0.1]: errno=Connection refused\n\n`,
    )
    const unknown = run([], clone('three'), more)
    expect(unknown.stdout).toBe('')
    expect(unknown.stderr.split('\n')).toContain(
      `fatal: unable to look up ${NAME} (port 9418) (Name or service not known)`,
    )
  })

  test('an address that a rule names has a door of its own, and so has an address in brackets', () => {
    const script = `${UNSET} for at in ${OUTSIDE} ${PRIVATE}; do curl -sS -m 100 http://$at/x; echo; done; curl -sS -m 100 http://${OUTSIDE}:443/; echo $?`
    const { stdout, stderr } = run(['--allow-net', `${OUTSIDE}:80`, '--allow-net', PRIVATE], script)
    expect({ stdout, stderr: stderr.replace(/after \d+ ms/, '') }).toMatchObject({
      stdout: `from ${OUTSIDE}\nfrom ${PRIVATE}\n7\n`,
    })
  })

  test('path rules hold there too, in plain HTTP and in TLS', () => {
    const script = `${UNSET}
curl -sS -m 100 http://${NAME}/ok/1; echo
curl -sS -m 100 http://${NAME}/no | head -n 1
curl -sS -m 100 --cacert $NODE_EXTRA_CA_CERTS https://${NAME}/ok/2; echo
curl -sS -m 100 --cacert $NODE_EXTRA_CA_CERTS https://${NAME}/no | head -n 1
`
    const { stdout, stderr, reached } = run(['--allow-net', `${NAME}/ok`], script)
    expect({ stdout, stderr }).toEqual({
      stdout:
        `from ${OUTSIDE}\ncordon: network access denied: http://${NAME}/no\n` +
        `from ${OUTSIDE}\ncordon: network access denied: https://${NAME}/no\n`,
      stderr: '',
    })
    expect(reached).toEqual([`${OUTSIDE} /ok/1`, `${OUTSIDE} /ok/2`])
  })

  test('a name that leads to a private address needs that address’s own rule, and the refusal says the flag', () => {
    const script = `${UNSET} curl -sS -m 100 http://${NAME}/x | head -n 2`
    const { stdout, stderr, reached } = run(['--allow-net', NAME], script, {
      answers: [PRIVATE],
      quiet: false,
    })
    const reason = `${NAME} resolves to ${PRIVATE}, a private address, and no rule names that address`
    expect({ stdout, stderr, reached }).toEqual({
      stdout: `cordon: network access denied: ${NAME}:80\n  because: ${reason}\n`,
      stderr:
        `cordon: refused: ${NAME}:80: ${reason}; to allow it: --allow-net http://${PRIVATE}\n` +
        `cordon: the command ended with 0\n  refused: ${NAME}:80: ${reason}\n    to allow it: --allow-net http://${PRIVATE}\n`,
      reached: [],
    })
    const both = run(['--allow-net', NAME, '--allow-net', `${PRIVATE}:80`], script, { answers: [PRIVATE] })
    expect(both).toMatchObject({ stdout: `from ${PRIVATE}`, stderr: '' })
  })
})
