import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import ssh2 from 'ssh2'

export interface SshServer {
  readonly port: number
  close(): void
}

/** A server of SSH on the host's loopback that lets everybody in, and runs what it is asked to: for `git clone`. */
export async function startSsh(): Promise<SshServer> {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  })
  const server = new ssh2.Server({ hostKeys: [privateKey] }, (client) => {
    client.on('error', () => {}) // it left
    client.on('authentication', (asked) => asked.accept())
    client.on('session', (accept) => {
      const session = accept()
      session.on('exec', (take, _refuse, { command }) => {
        const stream = take()
        const child = spawn('/bin/sh', ['-c', command], { env: { PATH: '/usr/bin:/bin' } })
        stream.pipe(child.stdin)
        child.stdout.pipe(stream, { end: false })
        child.stderr.pipe(stream.stderr, { end: false })
        child.once('close', (code) => {
          stream.exit(code ?? 1)
          stream.end()
        })
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}
