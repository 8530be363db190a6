import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Of connections over which nothing was asked yet no more than `most` are held: then the one that has been silent longest
 * goes. Whoever opens thousands and says nothing would else have all that the server takes, and shut everybody out.
 */
export function boundSilent(server: Server, most: number): void {
  const silent = new Map<string, Socket>()
  const forget = (socket: Socket, name: string): void => {
    if (silent.get(name) === socket) silent.delete(name)
  }
  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket)
    silent.set(name, socket)
    socket.once('close', () => forget(socket, name))
    if (silent.size <= most) return
    const [oldest] = silent
    silent.delete(oldest![0])
    oldest![1].destroy()
  })
  server.on('request', ({ socket }) => silent.delete(nameOf(socket)))
}

/** With TLS a request has another socket than the connection, with the same other end. */
const nameOf = ({ remoteAddress = '', remotePort = 0 }: Socket): string => `${remoteAddress} ${remotePort}`
