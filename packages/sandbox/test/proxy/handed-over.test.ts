import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openProxy } from '../../src/proxy/serve.ts'
import { Client, rules, startHttp } from './lab.ts'

const LISTENER = `
const server = require('node:net').createServer().listen(0, '127.0.0.1', () =>
  process.send(server.address().port, server, () => process.disconnect()))`

test('SPEC 4.5 the listening socket comes from another process, as a handle', async () => {
  const child = spawn(process.execPath, ['-e', LISTENER], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  onTestFinished(() => void child.kill())
  const [port, server] = (await once(child, 'message')) as [number, Server]
  const target = await startHttp((_, res) => res.end('through'), '127.0.0.1')
  const proxy = await openProxy({ rules: rules({ host: 'localhost', port: target }) })
  proxy.serve(server)
  onTestFinished(() => proxy.close())
  child.kill()
  await once(child, 'exit')
  const client = new Client(port).send(`GET http://localhost:${target}/ HTTP/1.1\r\nHost: x\r\n\r\n`)
  expect((await client.takeAnswer()).body).toBe('through')
})

const STARTED = `
const { openProxy } = await import('@cordon/sandbox')
const loaded = async (rule) => {
  await (await openProxy({ rules: [{ host: 'a.example', allow: true, ...rule }] })).close()
  return 'getMetadata' in Reflect
}
console.log(await loaded({}), await loaded({ pathPrefix: '/x' }))`

test('decision 0052: the certificate library is loaded only when a rule needs it', () => {
  const args = ['--conditions=cordon-source', '--input-type=module', '-e', STARTED]
  expect(execFileSync(process.execPath, args, { encoding: 'utf8', cwd: import.meta.dirname })).toBe(
    'false true\n',
  )
})
