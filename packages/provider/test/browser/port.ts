import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'

/** Somebody else at a port that the provider has left, at both addresses of localhost. Returns how he gives it up. */
export async function takePort(port: number, answer: RequestListener): Promise<() => Promise<void>> {
  const servers: Server[] = []
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer(answer)
    server.listen(port, host)
    await once(server, 'listening').then(
      () => servers.push(server),
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EADDRNOTAVAIL') throw error // a machine without IPv6
      },
    )
  }
  return async () => {
    for (const server of servers) {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}
