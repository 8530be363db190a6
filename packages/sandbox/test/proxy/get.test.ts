import { expect, test } from 'vitest'
import { classifyAddress } from '../../src/proxy/address.ts'
import { type GetOptions, getUnderRules, type Got } from '../../src/proxy/get.ts'
import { PUBLIC, type RuleText, rules } from './lab.ts'
import { serverCertificate, startHttps } from './tls-lab.ts'

const certificate = await serverCertificate('a.example', 'localhost', '127.0.0.1')

const get = (url: string, list: RuleText[], options: Partial<GetOptions> = {}): Promise<Got> =>
  getUnderRules(url, {
    rules: rules(...list),
    resolve: () => Promise.resolve([PUBLIC]),
    classify: (address) => (address.startsWith('127.1.') ? 'public' : classifyAddress(address)),
    upstreamRoots: [certificate.cert],
    headers: { 'user-agent': 'test' },
    signal: AbortSignal.timeout(100_000),
    ...options,
  })

async function bodyOf(got: Got): Promise<string> {
  if (got.kind !== 'answer') throw new Error(JSON.stringify(got))
  let body = `${got.response.statusCode} `
  for await (const chunk of got.response) body += String(chunk)
  return body
}

test('SPEC 4.5 a request of the host is decided like one of a confined process', async () => {
  const { port } = await startHttps(certificate, (req, res) =>
    res.writeHead(req.url === '/repos/moved' ? 302 : 200, { location: '/admin' }).end(`${req.url}`),
  )
  const rule = { host: 'a.example', port, pathPrefix: '/repos' }
  expect(await bodyOf(await get(`https://a.example:${port}/repos/x?q=1#f`, [rule]))).toBe('200 /repos/x?q=1')
  expect(await bodyOf(await get(`https://a.example:${port}/repos/moved`, [rule]))).toBe('302 /repos/moved')
  for (const path of [
    '/admin',
    '/repos/../admin',
    '/repos/%2e%2e/admin',
    '/repos/..%2fadmin',
    '/repositories',
  ])
    expect(await get(`https://a.example:${port}${path}`, [rule]), path).toEqual({
      kind: 'denied',
      denial: {
        reason: `no rule allows a.example:${port}`,
        fix: expect.stringMatching(/^\{ host = "a\.example", .*allow = true \}$/),
        wish: { scheme: 'https', host: 'a.example', port },
      },
    })
})

test('SPEC 4.5 a name that leads to loopback needs a rule that names the address; localhost names it', async () => {
  const local = await startHttpsAt('127.0.0.1')
  const resolve = () => Promise.resolve(['127.0.0.1'])
  const name = { host: 'a.example', port: local }
  expect(await get(`https://a.example:${local}/`, [name], { resolve })).toEqual({
    kind: 'denied',
    denial: {
      reason: 'a.example resolves to 127.0.0.1, a loopback address, and no rule names that address',
      fix: `{ host = "127.0.0.1", port = ${local}, allow = true }`,
      wish: { host: '127.0.0.1', port: local },
    },
  })
  const both = [name, { host: '127.0.0.1', port: local }]
  expect(await bodyOf(await get(`https://a.example:${local}/`, both, { resolve }))).toBe('200 here')
  expect(await bodyOf(await get(`https://localhost:${local}/`, [{ host: 'localhost', port: local }]))).toBe(
    '200 here',
  )
})

async function startHttpsAt(host: string): Promise<number> {
  const { server } = await startHttps(certificate, (_, res) => res.end('here'))
  await new Promise((done) => server.close(done))
  await new Promise<void>((done) => server.listen(0, host, done))
  return (server.address() as { port: number }).port
}

test('what cannot be read in one way, is not https, or holds a password, is refused before anything is asked', async () => {
  const asked: string[] = []
  const resolve = (host: string): Promise<string[]> => {
    asked.push(host)
    return Promise.resolve([PUBLIC])
  }
  for (const url of [
    'http://a.example/',
    'https://u:p@a.example/',
    'https://a.example\\@b.example/',
    'https://a b/',
  ])
    await expect(get(url, [{ host: 'a.example' }], { resolve }), url).rejects.toMatchObject({
      code: 'URL_INVALID',
    })
  expect(asked).toEqual([])
})

test('a certificate that nobody vouches for, and a server that never answers', async () => {
  const { port } = await startHttps(certificate, () => {})
  const rule = { host: 'a.example', port }
  expect(await get(`https://a.example:${port}/`, [rule], { upstreamRoots: [] })).toEqual({
    kind: 'failed',
    reason: 'TLS with a.example failed (DEPTH_ZERO_SELF_SIGNED_CERT)',
  })
  expect(await get(`https://a.example:${port}/`, [rule], { signal: AbortSignal.timeout(300) })).toMatchObject(
    {
      kind: 'failed',
    },
  )
})
