import { type Socket } from 'node:net'

export type HeldRead =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'ended' | 'closed' | 'late' | 'too-long' }

export interface HeldReadOptions {
  readonly limit: number
  readonly ms: number
  /** How many of these bytes to take; undefined when more must come first. */
  readonly take: (bytes: Buffer) => number | undefined
}

/** Reads until `take` is content; what it leaves is put back for the next reader. The socket is left paused. */
export function readHeld(socket: Socket, { limit, ms, take }: HeldReadOptions): Promise<HeldRead> {
  return new Promise((done) => {
    let bytes: Buffer = Buffer.alloc(0)
    const finish = (result: HeldRead): void => {
      clearTimeout(timer)
      socket.off('data', onData).off('end', onEnd).off('close', onClose)
      socket.pause()
      done(result)
    }
    const onData = (chunk: Buffer): void => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
      const taken = take(bytes)
      if (taken === undefined) {
        if (bytes.length > limit) finish({ kind: 'too-long' })
        return
      }
      finish({ kind: 'read', bytes: bytes.subarray(0, taken) })
      if (taken < bytes.length) socket.unshift(bytes.subarray(taken))
    }
    const onEnd = (): void => finish({ kind: 'ended' })
    const onClose = (): void => finish({ kind: 'closed' })
    const timer = setTimeout(finish, ms, { kind: 'late' })
    if (socket.destroyed) return onClose()
    if (socket.readableEnded) return onEnd()
    socket.on('data', onData).once('end', onEnd).once('close', onClose)
    socket.resume()
  })
}
