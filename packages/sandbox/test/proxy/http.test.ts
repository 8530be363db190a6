import { expect, test } from 'vitest'
import { Client, PUBLIC, rules, settled, startHttp, startLab } from './lab.ts'

test('SPEC 4.5 an allowed http request reaches its server, rewritten for it', async () => {
  const port = await startHttp((req, res) => res.end(JSON.stringify([req.method, req.url, req.rawHeaders])))
  const lab = await startLab(rules({ host: 'api.example', port }))
  const client = new Client(lab.port)
  client.send(
    `GET http://API.Example.:${port}/a/b?q=1 HTTP/1.1\r\nHost: other.example\r\nConnection: keep-alive, X-Drop\r\n` +
      'X-Drop: 1\r\nProxy-Authorization: secret\r\nAccept: */*\r\n\r\n',
  )
  const head = await client.takeHead()
  expect(head.slice(0, 17)).toBe('HTTP/1.1 200 OK\r\n')
  const body = JSON.stringify([
    'GET',
    '/a/b?q=1',
    ['Host', `api.example:${port}`, 'Accept', '*/*', 'Connection', 'keep-alive'],
  ])
  expect((await client.take(body.length)).toString()).toBe(body)
  expect(lab.asked).toEqual(['api.example'])
  client.socket.destroy()
  expect(await settled(lab, 1)).toEqual([
    {
      kind: 'http',
      host: 'api.example',
      port,
      url: `http://api.example:${port}/a/b`,
      allowed: true,
      rule: { index: 0, origin: 'config.toml:1' },
      reason: 'allowed',
      bytesUp: 0,
      bytesDown: body.length,
    },
  ])
  expect(PUBLIC).toBe('127.1.0.1')
})
