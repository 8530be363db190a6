import { type Duplex } from 'node:stream'
import { type Intake } from './intake.ts'

/**
 * Both ways until both ends are done: back-pressure and half-close are `pipe`'s; an end that breaks takes
 * the other with it. Resolves when both are closed.
 */
export function splice(a: Duplex, b: Duplex): Promise<void> {
  flow(a, b)
  flow(b, a)
  return bothClosed(a, b)
}

/** The same for a tunnel: most bytes come down from the server, and they take the fast way. */
export function spliceTunnel(client: Duplex, upstream: Intake): Promise<void> {
  flow(client, upstream.socket)
  upstream.pour(client)
  return bothClosed(client, upstream.socket)
}

function flow(from: Duplex, to: Duplex): void {
  // Whoever had already finished before we came emits no second `end` for `pipe` to pass on.
  if (from.readableEnded) to.end()
  else from.pipe(to)
}

const bothClosed = (a: Duplex, b: Duplex): Promise<void> =>
  Promise.all([closed(a, b), closed(b, a)]).then(() => undefined)

function closed(one: Duplex, other: Duplex): Promise<void> {
  return new Promise((done) => {
    const finish = (): void => {
      // An orderly end was passed on by `pipe` and may still be flushing; anything else is a break.
      if (!one.readableEnded || !one.writableFinished) other.destroy()
      done()
    }
    if (one.closed) finish()
    else one.once('close', finish)
  })
}
