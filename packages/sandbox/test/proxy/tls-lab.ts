import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import * as x509 from '@peculiar/x509'
import { createServer as createHttps } from 'node:https'
import { type RequestListener } from 'node:http'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { type Client, listen, PUBLIC } from './lab.ts'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** A self-signed server certificate. The judges are Node's, curl's, git's and Python's TLS. */
export async function serverCertificate(...names: string[]): Promise<Certificate> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=lab',
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 3_600_000),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value })),
      ),
    ],
  })
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { key: x509.PemConverter.encode(key, 'PRIVATE KEY'), cert: certificate.toString('pem') }
}

export async function startHttps(
  certificate: Certificate,
  handler: RequestListener,
  host = PUBLIC,
): Promise<{ port: number; server: ReturnType<typeof createHttps> }> {
  const server = createHttps(certificate, handler)
  server.on('tlsClientError', () => {})
  onTestFinished(() => server.close().closeAllConnections())
  return { port: await listen(server, host), server }
}

/** TLS inside a tunnel that is already open. */
export async function secure(client: Client, servername: string, ca: string): Promise<TLSSocket> {
  client.socket.removeAllListeners('data')
  // An address is no server name (RFC 6066 §3): it is checked, not sent.
  const name = /^[\d.]+$/.test(servername) ? { host: servername } : { servername }
  const socket = connectTls({ socket: client.socket, ...name, ca, ALPNProtocols: ['http/1.1'] })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  socket.on('error', () => {})
  return socket
}

/** One request on a kept connection; the answer must have a Content-Length. */
export async function ask(socket: TLSSocket, head: string): Promise<{ status: string; body: string }> {
  let text = ''
  const { promise, resolve, reject } = Promise.withResolvers<{ status: string; body: string }>()
  const read = (chunk: Buffer): void => {
    text += chunk.toString('latin1')
    const end = text.indexOf('\r\n\r\n')
    if (end === -1) return
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
    if (text.length >= end + 4 + length)
      resolve({ status: text.slice(9, text.indexOf('\r\n')), body: text.slice(end + 4) })
  }
  const close = (): void => reject(new Error(`ended after ${JSON.stringify(text)}`))
  socket.on('data', read).once('close', close)
  socket.write(head)
  try {
    return await promise
  } finally {
    socket.off('data', read).off('close', close)
  }
}
