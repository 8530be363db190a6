import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import type { Gateway } from './gateway.ts'
import { serveClient } from './serve.ts'

export interface StdioStreams {
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WriteStream
}

/**
 * SPEC 5.5: one client on standard input and output. Resolves when it is gone, or the signal says so, and nothing of the
 * session is left.
 */
export async function serveStdio(
  gateway: Gateway,
  { input, output }: StdioStreams,
  signal: AbortSignal,
): Promise<void> {
  const client = serveClient(gateway)
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
    // A client that died takes its end of the pipe along; nothing more can be said to it.
    output.once('error', () => resolve())
  })
  await client.server.connect(new StdioServerTransport(input, output))
  await Promise.race([client.gone, stopped])
  await client.close()
}
