import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createReadStream, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, expect, test } from 'vitest'
import { proxyEnv } from '../../src/proxy/environment.ts'
import { type Lab, rules, startHttp, startLab } from './lab.ts'
import { serverCertificate, startHttps } from './tls-lab.ts'

interface Ran {
  readonly code: number
  readonly out: string
}

/** Runs a real program with nothing but the variables that a sandboxed one gets. */
function run(lab: Lab, program: string, args: string[], extra: Record<string, string> = {}): Promise<Ran> {
  const home = mkdtempSync(join(tmpdir(), 'cordon-client-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const env: Record<string, string> = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    ...proxyEnv({ address: '127.0.0.1', port: lab.port }, []),
    NODE_USE_ENV_PROXY: '1', // for the tests of fetch: inside, it goes by the address that stands for the host
  }
  if (lab.proxy.ca) {
    const files = { certificate: join(home, 'run.pem'), bundle: join(home, 'bundle.pem') }
    writeFileSync(files.certificate, lab.proxy.ca.certPem)
    writeFileSync(files.bundle, lab.proxy.ca.bundlePem)
    Object.assign(env, lab.proxy.ca.env(files))
  }
  return new Promise((done) => {
    execFile(
      program,
      args,
      { env: { ...env, ...extra }, cwd: home, timeout: 110_000 },
      (error, stdout, stderr) =>
        done({ code: error ? Number(error.code ?? -1) : 0, out: `${stdout}${error ? stderr : ''}` }),
    )
  })
}

const has = (program: string, ...args: string[]): boolean => {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const certificate = await serverCertificate('a.example', 'b.example')

async function twoServers(): Promise<{ lab: Lab; http: string; https: string }> {
  const plain = await startHttp((req, res) => res.end(`plain ${req.url}`))
  const { port } = await startHttps(certificate, (req, res) => res.end(`tls ${req.url}`))
  const lab = await startLab(
    rules(
      { host: 'a.example', port: plain },
      { host: 'a.example', port, pathPrefix: '/ok' },
      { host: 'b.example', port },
    ),
    { upstreamRoots: [certificate.cert] },
  )
  return { lab, http: `http://a.example:${plain}`, https: `https://a.example:${port}` }
}

test.runIf(has('curl', '--version'))(
  'curl: http, intercepted https, opaque https, SOCKS5, a denial',
  async () => {
    const { lab, http, https } = await twoServers()
    const curl = (...args: string[]): Promise<Ran> => run(lab, 'curl', ['-sS', '--max-time', '100', ...args])
    expect(await curl(`${http}/1`)).toEqual({ code: 0, out: 'plain /1' })
    expect(await curl(`${https}/ok/1`, `${https}/ok/2`)).toEqual({ code: 0, out: 'tls /ok/1tls /ok/2' })
    expect(await curl('-o', '/dev/null', '-w', '%{http_code}', `${https}/no`)).toEqual({
      code: 0,
      out: '403',
    })
    expect(await curl(`${https.replace('a.', 'b.')}/any`)).toEqual({ code: 0, out: 'tls /any' })
    expect(await curl('--proxy', `socks5h://127.0.0.1:${lab.port}`, `${http}/2`, `${https}/ok/3`)).toEqual({
      code: 0,
      out: 'plain /2tls /ok/3',
    })
    const denied = await curl('-w', '%{http_connect}', 'https://evil.example/')
    expect(denied.code).toBe(56)
    expect(denied.out).toContain('403')
    const posted = await curl('-H', 'Expect: 100-continue', '--data-binary', 'x'.repeat(2000), `${http}/3`)
    expect(posted).toEqual({ code: 0, out: 'plain /3' })
  },
)

test('node fetch: http, intercepted https, a denial', async () => {
  const { lab, http, https } = await twoServers()
  const script = `
    const text = async (url) => { const r = await fetch(url); return r.status + ' ' + (await r.text()).split('\\n')[0] }
    console.log(await text('${http}/1')); console.log(await text('${https}/ok')); console.log(await text('${https}/no'))
    await fetch('https://evil.example/').catch((e) => console.log(e.message))`
  const { code, out } = await run(lab, process.execPath, ['--input-type=module', '-e', script], {
    NODE_NO_WARNINGS: '1',
  })
  expect([code, out.split('\n')]).toEqual([
    0,
    ['200 plain /1', '200 tls /ok', `403 cordon: network access denied: ${https}/no`, 'fetch failed', ''],
  ])
})

test.runIf(has('python3', '--version'))('python urllib: http, intercepted https, a denial', async () => {
  const { lab, http, https } = await twoServers()
  const script = `
import urllib.request as u, urllib.error
print(u.urlopen('${http}/1').read().decode()); print(u.urlopen('${https}/ok').read().decode())
for url in ('${https}/no', 'https://evil.example/'):
    try: u.urlopen(url)
    except urllib.error.HTTPError as e: print(e.code)
    except urllib.error.URLError as e: print(e.reason)`
  expect(await run(lab, 'python3', ['-c', script])).toEqual({
    code: 0,
    out: 'plain /1\ntls /ok\n403\nTunnel connection failed: 403 Forbidden\n',
  })
})

test.runIf(has('git', '--version'))(
  'git clone over intercepted https, and not from a path beside it',
  async () => {
    const served = mkdtempSync(join(tmpdir(), 'cordon-git-'))
    onTestFinished(() => rmSync(served, { recursive: true }))
    const git = (...args: string[]): unknown =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', '-C', served, ...args], {
        stdio: 'ignore',
      })
    git('init', '-q', 'work')
    writeFileSync(join(served, 'work', 'file'), 'content')
    git('-C', 'work', 'add', '.')
    git('-C', 'work', 'commit', '-qm', 'one')
    git('clone', '-q', '--bare', 'work', 'repo.git')
    git('-C', 'repo.git', 'update-server-info')
    const { port } = await startHttps(certificate, (req, res) => {
      const file = join(served, new URL(req.url!, 'http://x').pathname.replace(/^\/(ok|no)\//, ''))
      if (existsSync(file)) createReadStream(file).pipe(res)
      else res.writeHead(404).end()
    })
    const lab = await startLab(rules({ host: 'a.example', port, pathPrefix: '/ok' }), {
      upstreamRoots: [certificate.cert],
    })
    const into = mkdtempSync(join(tmpdir(), 'cordon-clone-'))
    onTestFinished(() => rmSync(into, { recursive: true }))
    expect(
      (await run(lab, 'git', ['clone', '-q', `https://a.example:${port}/ok/repo.git`, join(into, 'a')])).code,
    ).toBe(0)
    expect(readdirSync(join(into, 'a'))).toEqual(['.git', 'file'])
    const denied = await run(lab, 'git', [
      'clone',
      '-q',
      `https://a.example:${port}/no/repo.git`,
      join(into, 'b'),
    ])
    expect(denied.code).toBe(128)
    expect(denied.out).toContain('403')
    expect(readdirSync(into)).toEqual(['a'])
  },
)
