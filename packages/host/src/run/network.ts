import { createServer, type Server } from 'node:net'
import type { NetRule } from '@cordon/policy'
import { FILES, type ProxyDecision, serveProxy } from '@cordon/sandbox'

/** The filtering proxy of one confined process, ready before the process exists (SPEC 4.5). */
export interface Network {
  /** What the process must be told: where the proxy is, and whom to trust. */
  readonly env: Readonly<Record<string, string>>
  /** PEM texts that have to be readable inside, by path. */
  readonly files: ReadonlyMap<string, string>
  /** Takes over the socket that the launcher made inside the sandbox. */
  readonly attach: (socket: Server) => void
  /** Ends it and says what was decided. */
  readonly close: () => Promise<readonly ProxyDecision[]>
}

const CERTIFICATE = `${FILES}/ca.pem`
const BUNDLE = `${FILES}/ca-bundle.pem`

/** Each can hold a URL of the program's choice; a program that asks a million times must not fill our memory. */
const MOST_DECISIONS = 1000

export async function openNetwork(rules: readonly NetRule[], port: number): Promise<Network> {
  // The real socket comes later, from inside; until then connections wait in the kernel's queue.
  const front = createServer()
  const proxy = await serveProxy(front, { rules, limits: { maxDecisions: MOST_DECISIONS } })
  let inside: Server | undefined
  let closed: Promise<void> | undefined
  return {
    env: {
      ...proxy.env({ host: '127.0.0.1', port }),
      ...proxy.ca?.env({ certificate: CERTIFICATE, bundle: BUNDLE }),
    },
    files: proxy.ca
      ? new Map([
          [CERTIFICATE, proxy.ca.certPem],
          [BUNDLE, proxy.ca.bundlePem],
        ])
      : new Map(),
    attach: (socket) => {
      inside = socket
      socket.on('connection', (connection) => front.emit('connection', connection))
    },
    close: async () => {
      inside?.close()
      inside = undefined
      if (!closed) await (closed = proxy.close())
      return proxy.decisions()
    },
  }
}
