import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mergeSources } from '@cordon/config'
import { expect, test } from 'vitest'
import { listModels } from '../../src/agent/reach.ts'

test('SPEC 6.5 a list of models that never ends is given up', async () => {
  const server = createServer((_, response) => {
    response.write('{"data": [')
    const more = (): void => {
      while (!response.destroyed && response.write('{"id": "x"},'.repeat(1000)));
    }
    response.on('drain', more)
    more()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/v1`
  const text = `[providers.llm.endless]\nkind = "openai-compatible"\nbase_url = "${url}"\n`
  const { config } = mergeSources([{ layer: 'user', label: 'config.toml', text }])
  const only = {
    ...config,
    providers: { ...config.providers, llm: { endless: config.providers.llm['endless']! } },
  }
  expect(await listModels(only, { env: {}, cwd: '/' })).toEqual([
    {
      name: 'endless',
      kind: 'openai-compatible',
      address: url,
      state: 'refused',
      key: undefined,
      why: 'its list is longer than 4 MiB',
      models: [],
    },
  ])
  server.closeAllConnections()
  server.close()
})

test.each<[what: string, answer: RequestListener, why: string]>([
  [
    'a page',
    (_, response) => response.end('<html>welcome</html>'),
    'it answered with something that is no list of models',
  ],
  [
    'a redirect',
    (_, response) => response.writeHead(302, { location: '/login' }).end(),
    'it sends us elsewhere (status 302), and no key goes there',
  ],
])('SPEC 6.5 of a server that answers with %s it is said what it did', async (_what, answer, why) => {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const text = `[providers.llm.odd]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:${port}/v1"\n`
  const { config } = mergeSources([{ layer: 'user', label: 'config.toml', text }])
  const views = await listModels(config, { env: {}, cwd: '/' })
  expect(views.find(({ name }) => name === 'odd')).toMatchObject({ state: 'refused', why })
  server.closeAllConnections()
  server.close()
})
