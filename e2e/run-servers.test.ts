import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chromiumPath } from '../packages/provider/test/browser/chromium.ts'
import { type Postgres, startPostgres } from '../packages/provider/test/postgres.ts'
import { PEOPLE, Place, PROGRAM } from './harness/place.ts'
import { type SshServer, startSsh } from './harness/ssh-server.ts'

/** Issue 13: programs that talk to servers, each with what it needs and without. */
const NODE = dirname(PROGRAM.node)
const ENV = { PATH: `/usr/local/bin:/usr/bin:/bin:${NODE}` }
const MODULES = join(import.meta.dirname, '../node_modules')

/** vite, which comes with vitest, and what it cannot start without. */
const VITE =
  'vite rolldown @rolldown @oxc-project picomatch tinyglobby fdir postcss nanoid picocolors source-map-js'.split(
    ' ',
  )

function copyModules(place: Place, names: readonly string[]): void {
  const modules = place.mkdir(join(place.root, 'node_modules'))
  for (const name of names)
    if (existsSync(join(MODULES, name))) cpSync(join(MODULES, name), join(modules, name), { recursive: true })
}

const has = (program: string): boolean => {
  const works = spawnSync('sh', ['-c', `command -v ${program}`], { env: ENV }).status === 0
  if (!works) console.warn(`skipped: there is no ${program}`)
  return works
}

describe('servers of its own, without any flag', () => {
  const place = new Place()
  const run = (...command: readonly string[]) => place.run(['--', ...command], { env: ENV })

  test('npm test of a package with an HTTP server in its tests', () => {
    place.write(
      'package.json',
      JSON.stringify({ name: 'x', scripts: { test: 'node --test --test-reporter=tap' } }),
    )
    place.write(
      'x.test.js',
      `const { test } = require('node:test'), assert = require('node:assert'), http = require('node:http')
for (const host of ['localhost', '127.0.0.1', '::1'])
  test('on ' + host, async () => {
    const server = http.createServer((req, res) => res.end('hello ' + req.url)).listen(0, host === 'localhost' ? undefined : host)
    await new Promise((done) => server.once('listening', done))
    const at = host.includes(':') ? '[' + host + ']' : host
    const answer = await fetch('http://' + at + ':' + server.address().port + '/x')
    assert.equal(await answer.text(), 'hello /x')
    server.close()
  })`,
    )
    const { code, stdout, stderr } = run('npm', '--silent', 'test')
    expect([code, /^# pass (\d+)$/m.exec(stdout)?.[1], stderr]).toEqual([0, '3', ''])
  })

  test('which interfaces there are, as Fastify asks before it listens (decision 0650)', () => {
    const { stdout, code } = place.run(['--', 'node', '-p', 'Object.keys(os.networkInterfaces()).join()'])
    expect([code, stdout]).toEqual([0, 'lo\n'])
  })

  test('a live server in Python’s tests', () => {
    place.write(
      'live.py',
      `import http.server, threading, unittest, urllib.request
class Live(unittest.TestCase):
    def test_it(self):
        server = http.server.ThreadingHTTPServer(('', 0), http.server.SimpleHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = 'http://localhost:%d/live.py' % server.server_port
        self.assertIn(b'test_it', urllib.request.urlopen(url, timeout=100).read())
        server.shutdown()
unittest.main()`,
    )
    expect(run('python3', 'live.py')).toMatchObject({ code: 0, stdout: '' })
  })

  test('vite, and a client that looks at it and is told of a change', () => {
    copyModules(place, VITE)
    place.write('index.html', '<script type=module src=/main.ts></script>\n')
    place.write('main.ts', 'const n: number = 1\n')
    place.write(
      'dev.mjs',
      `import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'vite'
const server = await createServer({ logLevel: 'error', server: { port: 5173, strictPort: true } })
await server.listen()
const text = async (path) => (await fetch('http://localhost:5173' + path)).text()
console.log((await text('/')).includes('/@vite/client'), await text('/main.ts').then((code) => code.split('\\n')[0]))
const changes = new WebSocket('ws://localhost:5173/?token=' + server.config.webSocketToken, 'vite-hmr')
const told = async () => JSON.parse((await once(changes, 'message'))[0].data).type
console.log(await told())
const changed = told()
let n = 1 // again and again: nobody says when the files are being watched
const writing = setInterval(() => writeFileSync('main.ts', 'const n: number = ' + ++n), 100)
console.log(await changed)
clearInterval(writing)
process.exit()`,
    )
    expect(run(PROGRAM.node, 'dev.mjs')).toMatchObject({
      code: 0,
      stdout: 'true const n = 1;\nconnected\nfull-reload\n',
      stderr: '',
    })
  })
})

describe('servers of the host, through a rule', () => {
  let ssh: SshServer
  let postgres: Postgres
  let repository: Place
  const http = createServer((request, response) => {
    const file = join(
      repository.root,
      'bare.git',
      new URL(request.url ?? '', 'http://x').pathname.replace('/r', ''),
    )
    if (existsSync(file)) response.end(readFileSync(file))
    else response.writeHead(404).end()
  })
  let port: number

  beforeAll(async () => {
    repository = new Place(PEOPLE[0])
    const git =
      'git init -q one && cd one && echo hello > file && git add file && ' +
      'git -c user.name=a -c user.email=a@example.com commit -qm first && cd .. && ' +
      'git clone -q --bare one bare.git && git -C bare.git update-server-info'
    expect(spawnSync('sh', ['-ec', git], { cwd: repository.root, env: { ...ENV, HOME: '/' } }).status).toBe(0)
    await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
    port = (http.address() as AddressInfo).port
    ssh = await startSsh()
    postgres = await startPostgres()
  })

  afterAll(async () => {
    http.close()
    ssh.close()
    await postgres.stop()
  })

  test.runIf(has('git'))('git clone over http', async () => {
    const place = new Place()
    const url = `http://localhost:${port}/r`
    const clone = ['--', 'git', 'clone', '-q', url, 'copy']
    const refused = await place.runMeanwhile(clone, { env: ENV })
    expect([refused.code, existsSync(join(place.root, 'copy/file'))]).toEqual([128, false])
    expect(refused.stderr).toContain(`    to allow it: --allow-net localhost:${port}\n`)
    const { code } = await place.runMeanwhile(['--allow-net', `localhost:${port}`, ...clone], { env: ENV })
    expect([code, readFileSync(join(place.root, 'copy/file'), 'utf8')]).toEqual([0, 'hello\n'])
  })

  // OpenSSH wants to know its user by name, so it is tried as who has one.
  test.runIf(has('ssh'))('git clone over ssh', async () => {
    const place = new Place(PEOPLE[0])
    const url = `ssh://git@localhost:${ssh.port}${repository.root}/bare.git`
    const script = `GIT_SSH_COMMAND='ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR' git clone -q ${url} copy`
    const clone = ['--', 'sh', '-c', script]
    const refused = await place.runMeanwhile(clone, { env: ENV })
    expect([refused.code, existsSync(join(place.root, 'copy'))]).toEqual([128, false])
    const { code, stderr } = await place.runMeanwhile(['--allow-net', `localhost:${ssh.port}`, ...clone], {
      env: ENV,
    })
    expect({ code, stderr: stderr.replace(/^cordon: the command ended.*\n(?: {2}new: .*\n)+/, '') }).toEqual({
      code: 0,
      stderr: '',
    })
    expect(readFileSync(join(place.root, 'copy/file'), 'utf8')).toBe('hello\n')
  })

  test.runIf(has('psql'))('psql', async () => {
    const place = new Place()
    const at = new URL(postgres.url).port
    const psql = [
      '--',
      'psql',
      '-X',
      '-At',
      `postgresql://cordon@localhost:${at}/postgres`,
      '-c',
      'select 6 * 7',
    ]
    const refused = await place.runMeanwhile(psql, { env: ENV })
    expect(refused.stdout).toBe('')
    expect(refused.stderr).toContain(`    to allow it: --allow-net localhost:${at}\n`)
    expect(await place.runMeanwhile(['--allow-net', `localhost:${at}`, ...psql], { env: ENV })).toMatchObject(
      {
        code: 0,
        stdout: '42\n',
        stderr: '',
      },
    )
  })
})

describe('unix sockets of its own', () => {
  const place = new Place()
  const SOCKETS = ['-q', '--unix-sockets', '--']
  const HINT = '  hint: of unix sockets only pairs are allowed\n    to allow it: --unix-sockets\n'

  test('a manager of Python’s multiprocessing', () => {
    place.write(
      'manager.py',
      `from multiprocessing import Manager
if __name__ == '__main__':
    with Manager() as manager: print(manager.list([1, 2]))`,
    )
    expect(place.run([...SOCKETS, 'python3', 'manager.py'], { env: ENV })).toMatchObject({
      code: 0,
      stdout: '[1, 2]\n',
      stderr: '',
    })
    const without = place.run(['--', 'python3', 'manager.py'], { env: ENV })
    expect([without.code, without.stderr.includes(HINT)]).toEqual([1, true])
  })

  test.runIf(has('tmux'))('tmux', () => {
    const script =
      'tmux -L t -f /dev/null new-session -d "echo inside > said; sleep 600" && until test -s said; do sleep 0.05; done; cat said; tmux -L t kill-server'
    expect(place.run([...SOCKETS, 'sh', '-c', script], { env: { ...ENV, LC_ALL: 'C.UTF-8' } })).toMatchObject(
      { code: 0, stdout: 'inside\n' },
    )
    const without = place.run(['--', 'tmux', '-L', 't', '-f', '/dev/null', 'new-session', '-d', 'true'], {
      env: ENV,
    })
    expect([without.code, without.stderr.includes(HINT)]).toEqual([1, true])
  })

  test('tsx', () => {
    place.write('hello.ts', 'const said: string = "typed"\nconsole.log(said)\n')
    const tsx = [PROGRAM.node, join(place.root, 'node_modules/tsx/dist/cli.mjs'), 'hello.ts'] as const
    copyModules(place, ['tsx', 'esbuild', '@esbuild', 'get-tsconfig', 'resolve-pkg-maps'])
    expect(place.run([...SOCKETS, ...tsx], { env: ENV })).toMatchObject({
      code: 0,
      stdout: 'typed\n',
      stderr: '',
    })
  })

  test('Playwright’s Chromium', async () => {
    cpSync(await chromiumPath(), join(place.root, 'chromium'))
    place.give(join(place.root, 'chromium'))
    copyModules(place, ['playwright-core'])
    place.write(
      'browse.mjs',
      `import { createServer } from 'node:http'
import { chromium } from 'playwright-core'
const page = '<p id=x></p><script>x.textContent = 6 * 7</script>'
const server = createServer((_, res) => res.setHeader('content-type', 'text/html').end(page)).listen(8080)
const args = ['--headless=shell', '--no-sandbox', '--no-zygote', '--disable-gpu', '--disable-dev-shm-usage']
const browser = await chromium.launch({ executablePath: './chromium', args, timeout: 0 })
const tab = await browser.newPage()
tab.setDefaultTimeout(0) // whoever runs us has one
await tab.goto('http://localhost:8080/')
console.log(await tab.textContent('#x'))
await browser.close()
server.close()`,
    )
    const browse = [PROGRAM.node, 'browse.mjs'] as const
    expect(place.run([...SOCKETS, ...browse], { env: ENV })).toMatchObject({
      code: 0,
      stdout: '42\n',
      stderr: '',
    })
  })
})
