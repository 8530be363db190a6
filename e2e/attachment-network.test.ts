import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cordon, cordonMeanwhile, type Ended, temporary, trust } from './harness/cordon.ts'

const FILE = join(import.meta.dirname, '../packages/host/test/attachment/loopback.pem')
const PEM = readFileSync(FILE, 'utf8')

let here: { cwd: string; home: string; env: Record<string, string> }
let port: number
let asked: string[]
const server = createServer({ key: PEM, cert: PEM }, (req, res) => {
  asked.push(req.url ?? '')
  if (req.url === '/away') res.writeHead(302, { location: `https://127.0.0.1:${port}/private` }).end()
  else res.setHeader('content-type', 'text/html').end('<h1>Spec</h1>')
})

beforeEach(async () => {
  asked = []
  // The machine's own trust, extended the way a person would.
  here = { cwd: temporary(), home: temporary(), env: { SSL_CERT_FILE: FILE } }
  mkdirSync(join(here.cwd, '.cordon'))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  port = (server.address() as AddressInfo).port
})
afterEach(() => {
  server.close().closeAllConnections()
})

const add = (...what: string[]): Promise<Ended> => cordonMeanwhile(here, 'attachment', 'add', ...what)

const rule = (host: string): string =>
  `[[profiles.attach.access.net]]\nhost = "${host}"\nport = ${port}\nallow = true\n`
const edit = (host: string, path: string): string =>
  `    cordon config set profiles.attach.access.net '+{ host = "${host}", scheme = "https", port = ${port}, path_prefix = "${path}", allow = true }'`

test('SPEC 6.3, 4.5 https on loopback: only by a rule that names it, and the error holds that rule', async () => {
  const url = `https://localhost:${port}/spec`
  const denied = await add(url)
  expect(denied).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: cannot attach ${url}: network access denied
  because: no rule allows localhost:${port}
  to allow it:
${edit('localhost', '/spec')}
`,
  })
  expect(asked).toEqual([])
  // What the error says, pasted.
  const [, key = '', value = ''] = /config set (\S+) '(.*)'/.exec(denied.stderr) ?? []
  expect(cordon(here, 'config', 'set', key, value).code).toBe(0)
  const added = await add(url)
  expect(added.stderr).toBe('')
  expect(added.stdout).toMatch(
    /^attached https:\/\/localhost:\d+\/spec \(text\/html, 13 B\)\nin the new conversation /,
  )
  expect(cordon(here, 'attachment', 'print', url).stdout).toBe('<h1>Spec</h1>')
  expect(cordon(here, 'attachment', 'ls').stdout).toContain(`text/html  localhost:${port}  `)
  // `why` speaks of the same rule.
  expect(cordon(here, 'why', 'attach', 'net', url).code).toBe(0)
  expect(cordon(here, 'why', 'attach', 'net', `https://127.0.0.1:${port}/`).code).toBe(1)
  // By an address that no rule names, and by a redirect to it: no.
  expect((await add(`https://127.0.0.1:${port}/spec`)).code).toBe(1)
  expect((await add(`https://localhost:${port}/away`)).stderr).toContain(`no rule allows localhost:${port}\n`)
  writeFileSync(join(here.cwd, '.cordon/config.toml'), rule('localhost'))
  trust(here)
  const away = await add(`https://localhost:${port}/away`)
  expect(away).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: cannot attach https://localhost:${port}/away: it redirects to https://127.0.0.1:${port}/private: network access denied
  because: no rule allows 127.0.0.1:${port}
  to allow it:
${edit('127.0.0.1', '/private')}
`,
  })
  expect(asked).toEqual(['/spec', '/away'])
  // For one command only.
  const cfg = `profiles.attach.access.net=[{ host = "127.0.0.1", port = ${port}, allow = true }]`
  expect((await add('--cfg', cfg, `https://127.0.0.1:${port}/spec`)).code).toBe(0)
})

test('a server that the machine does not trust, and one that is not there', async () => {
  writeFileSync(join(here.cwd, '.cordon/config.toml'), rule('localhost'))
  trust(here)
  here.env = {}
  expect(await add(`https://localhost:${port}/spec`)).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: cannot attach https://localhost:${port}/spec: TLS with localhost failed (DEPTH_ZERO_SELF_SIGNED_CERT)\n`,
  })
  server.close().closeAllConnections()
  expect((await add(`https://localhost:${port}/spec`)).stderr).toBe(
    `cordon: cannot attach https://localhost:${port}/spec: localhost:${port} cannot be reached (ECONNREFUSED)\n`,
  )
  expect(asked).toEqual([])
})

test('a command is confined: what it may not reach it cannot attach', async () => {
  writeFileSync(join(here.cwd, 'a.md'), 'in the workspace\n')
  mkdirSync(join(here.home, '.ssh'))
  writeFileSync(join(here.home, '.ssh/id_ed25519'), 'SECRET')
  expect((await add('command:cat a.md')).stdout).toMatch(
    /^attached command:cat a\.md \(text\/plain, 17 B\)\n/,
  )
  const secret = await add(`command:cat ${here.home}/.ssh/id_ed25519`)
  expect(secret.code).toBe(1)
  expect(secret.stderr).toContain('the command ended with 1\n')
  expect(secret.stderr).not.toContain('SECRET')
  expect((await add(`command:sh -c 'exec 3<>/dev/tcp/127.0.0.1/${port}'`)).code).toBe(1)
  expect(cordon(here, 'attachment', 'print', 'command:cat a.md').stdout).toBe('in the workspace\n')
})
