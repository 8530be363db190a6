import { createServer as createHttps } from 'node:https'
import { type RequestListener } from 'node:http'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { once } from 'node:events'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Client, listen, PUBLIC } from './lab.ts'

/** A server certificate made by openssl, so that our own maker of certificates is not its own judge. */
export function serverCertificate(...names: string[]): { key: string; cert: string } {
  const dir = mkdtempSync(join(tmpdir(), 'cordon-tls-'))
  try {
    const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
    const alt = names.map((name) => (/^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(',')
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=lab',
        '-addext',
        `subjectAltName=${alt}`,
        '-keyout',
        key,
        '-out',
        cert,
      ],
      { stdio: 'ignore' },
    )
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

export async function startHttps(
  certificate: { key: string; cert: string },
  handler: RequestListener,
): Promise<{ port: number; server: ReturnType<typeof createHttps> }> {
  const server = createHttps(certificate, handler)
  server.on('tlsClientError', () => {})
  onTestFinished(() => void server.close().closeAllConnections())
  return { port: await listen(server, PUBLIC), server }
}

/** TLS inside a tunnel that is already open. */
export async function secure(client: Client, servername: string, ca: string): Promise<TLSSocket> {
  client.socket.removeAllListeners('data')
  const socket = connectTls({ socket: client.socket, servername, ca, ALPNProtocols: ['http/1.1'] })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  socket.on('error', () => {})
  return socket
}

/** One request on a kept connection; the answer must have a Content-Length. */
export async function ask(socket: TLSSocket, head: string): Promise<{ status: string; body: string }> {
  socket.write(head)
  let text = ''
  for (;;) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    text += chunk.toString('latin1')
    const end = text.indexOf('\r\n\r\n')
    if (end === -1) continue
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
    if (text.length >= end + 4 + length)
      return { status: text.slice(9, text.indexOf('\r\n')), body: text.slice(end + 4) }
  }
}
