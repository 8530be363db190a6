import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type NetRule, parseHost } from '@cordon/policy'
import { type Resource } from '@cordon/workspace'
import { expect, test } from 'vitest'
import { attachUrl, type FetchContext } from '../../src/attachment/fetch.ts'
import { Lab, never, PEM, serve } from './lab.ts'

const rule = (host: string, more: Partial<NetRule> = {}): NetRule => ({
  host: parseHost(host)!,
  allow: true,
  ...more,
})

/** `a.example` and `b.example` lead to 127.0.0.1, which counts as public here; everything else is what it is. */
const network: FetchContext['network'] = {
  resolve: () => Promise.resolve(['127.0.0.1']),
  classify: () => 'public',
  upstreamRoots: [PEM],
}

const lab = new Lab()
const fetched = (
  url: string,
  rules: readonly NetRule[],
  more: Partial<FetchContext> = {},
): Promise<Resource> => attachUrl(url, { rules, store: lab.blobs.shared, signal: never, network, ...more })

const problem = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => new Error('it was attached'),
    (each: unknown) => each as Error,
  )
  return error.message.replace(/^cannot attach \S+: /, '')
}

test('SPEC 6.3 an answer is kept as it is, under the URL that was asked for', async () => {
  const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(200_000, 3)])
  const port = await serve((req, res) => {
    if (req.url === '/moved') res.writeHead(301, { location: '/spec' }).end()
    else if (req.url === '/picture.txt') res.setHeader('content-type', 'text/plain').end(png)
    else res.setHeader('content-type', 'text/html; charset=utf-8').end(`<p>${req.headers['user-agent']}`)
  })
  const here = `https://a.example:${port}`
  const rules = [rule('a.example', { port })]
  const moved = await fetched(`${here}/moved`, rules)
  expect(moved).toMatchObject({ uri: `${here}/moved`, mimeType: 'text/html', name: 'moved' })
  expect((await lab.blobs.read(moved, 100)).toString()).toBe('<p>cordon')
  // The server's word does not make a picture a text.
  const picture = await fetched(`${here}/picture.txt`, rules)
  expect(picture).toMatchObject({ mimeType: 'image/png', name: 'picture.txt' })
  expect((await lab.blobs.read(picture, 1e6)).equals(png)).toBe(true)
  expect(await fetched(`${here}/`, rules)).not.toHaveProperty('name')
})

test('SPEC 1.5, 4.5 without a rule nothing is asked, and the exact edit is in the error', async () => {
  let asked = 0
  const port = await serve((_, res) => res.end(String(++asked)))
  const allow = (fields: string): string =>
    `  to allow it:\n    cordon config set profiles.attach.access.net '+{ ${fields}, allow = true }'`
  const url = `https://a.example:${port}/x`
  // Also an empty list, as it is where the sandbox is off, allows nothing.
  for (const rules of [[], [rule('b.example', { port })]])
    expect(await problem(fetched(url, rules))).toBe(
      `network access denied\n  because: no rule allows a.example:${port}\n${allow(`host = "a.example", scheme = "https", port = ${port}, path_prefix = "/x"`)}`,
    )
  // The name is allowed; the private address it leads to is not, until a rule names it.
  const { resolve, upstreamRoots } = network as Required<typeof network>
  const strict = { network: { resolve, upstreamRoots } }
  const named = [rule('a.example', { port })]
  expect(await problem(fetched(url, named, strict))).toBe(
    'network access denied\n  because: a.example resolves to 127.0.0.1, a loopback address, and no rule names that address\n' +
      allow(`host = "127.0.0.1", port = ${port}`),
  )
  expect(asked).toBe(0)
  expect((await fetched(url, [...named, rule('127.0.0.1', { port })], strict)).uri).toBe(url)
})

test('SPEC 1.5 every redirect is decided anew', async () => {
  const seen: string[] = []
  const port = await serve((req, res) => {
    seen.push(`${req.headers.host}${req.url}`)
    const to = new URL(req.url ?? '', 'https://x').searchParams.get('to')
    if (to === null) res.end('secret')
    else res.writeHead(302, { location: to }).end()
  })
  const start = `https://a.example:${port}/r`
  const rules = [rule('a.example', { port, pathPrefix: '/r' })]
  expect(await problem(fetched(`${start}?to=https://b.example:${port}/x?token=1`, rules))).toMatch(
    new RegExp(
      `^it redirects to https://b\\.example:${port}/x: network access denied\n {2}because: no rule allows b\\.example`,
    ),
  )
  // Of the same host, too: the rule is for a path.
  expect(await problem(fetched(`${start}?to=/admin`, rules))).toMatch(
    /^it redirects to \S+\/admin: network access denied\n/,
  )
  expect(await problem(fetched(`${start}?to=http://a.example:${port}/r`, rules))).toBe(
    `it redirects to http://a.example:${port}/r: it is not an https URL`,
  )
  expect(await problem(fetched(`${start}?to=https://u:p@a.example:${port}/r`, rules))).toMatch(
    /it holds a user name or a password$/,
  )
  expect(await problem(fetched(`${start}?to=https://[`, rules))).toBe(
    'it redirects to https://[, which is not a URL',
  )
  expect(seen.every((each) => each.startsWith(`a.example:${port}/r?`))).toBe(true)
  seen.length = 0
  expect(await problem(fetched(`${start}?to=/r?to=/r?to=x`, rules))).toMatch(/^it redirects to /)
  let hops = 0
  const loop = await serve((_, res) => res.writeHead(307, { location: `/${++hops}` }).end())
  expect(await problem(fetched(`https://a.example:${loop}/`, [rule('a.example', { port: loop })]))).toBe(
    'it redirects more than 5 times',
  )
  expect(hops).toBe(6)
})

test('what a server can do wrong is an error, and nothing is kept of it', async () => {
  const port = await serve((req, res) => {
    switch (req.url) {
      case '/missing':
        return res.writeHead(404).end('no')
      case '/declared':
        return res.writeHead(200, { 'content-length': String(2 * 1024 * 1024) }).end()
      case '/endless': {
        const more = (): boolean => res.write(Buffer.alloc(65_536, 'x'))
        res.on('drain', more)
        return void more()
      }
      case '/encoded':
        return res.writeHead(200, { 'content-encoding': 'br' }).end('x')
      case '/short':
        res.writeHead(200, { 'content-length': '100' })
        return res.write('x', () => res.destroy())
      case '/slow':
        return void res.write('x')
      case undefined:
      default:
        return void res.destroy()
    }
  })
  const rules = [rule('a.example', { port })]
  const before = readdirSync(join(lab.root, '.cordon/blobs'))
  const say = (path: string, seconds = 100): Promise<string> =>
    problem(fetched(`https://a.example:${port}${path}`, rules, { limits: { bytes: 1024 * 1024, seconds } }))
  expect(await say('/missing')).toBe('the server answered 404 Not Found')
  expect(await say('/declared')).toBe('it is larger than 1 MiB')
  expect(await say('/endless')).toBe('it is larger than 1 MiB')
  expect(await say('/encoded')).toBe('the server sends it encoded as br, which was not asked for')
  expect(await say('/short')).toBe('it broke off (ECONNRESET)')
  expect(await say('/slow', 1)).toBe('it took longer than 1 seconds')
  expect(await say('/nothing')).toMatch(/^a\.example broke the connection \(/)
  expect(
    await problem(
      fetched(`https://a.example:${port}/`, rules, { network: { ...network, upstreamRoots: [] } }),
    ),
  ).toBe('TLS with a.example failed (DEPTH_ZERO_SELF_SIGNED_CERT)')
  expect(readdirSync(join(lab.root, '.cordon/blobs'))).toEqual(before)
})
