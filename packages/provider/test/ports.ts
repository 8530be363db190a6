import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

/** Browsers refuse some of the lower ones. */
const [LOWEST, HIGHEST] = [12_000, 65_535]

/**
 * A port to give up and take again: one that the kernel gives to nobody who has not asked for it. Of those that it gives
 * out, each may have become another test's between two uses.
 */
export async function ownPort(): Promise<number> {
  const range = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
  const [from = LOWEST, to = HIGHEST] = range.trim().split(/\s+/).map(Number)
  const ports = Array.from({ length: HIGHEST - LOWEST + 1 }, (_, i) => LOWEST + i)
  const own = ports.filter((port) => port < from || port > to)
  const choice = own.length > 0 ? own : ports
  for (;;) {
    const port = choice[Math.floor(Math.random() * choice.length)]!
    if ((await isFree(port, '127.0.0.1')) && (await isFree(port, '::1'))) return port
  }
}

async function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EADDRNOTAVAIL' // a machine without that family
  }
}
