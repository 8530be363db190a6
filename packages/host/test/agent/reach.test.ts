import { once } from 'node:events'
import { createServer } from 'node:http'
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
      why: 'its list is longer than 4 MiB',
      models: [],
    },
  ])
  server.closeAllConnections()
  server.close()
})
