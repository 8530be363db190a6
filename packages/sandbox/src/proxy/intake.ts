import { connect, type Socket, type TcpNetConnectOpts } from 'node:net'
import { type Writable } from 'node:stream'

/** How many connections may read in large buffers at once, so that a thousand busy ones stay bounded. */
export class LargeReads {
  #left = 64

  take(): boolean {
    if (this.#left === 0) return false
    this.#left--
    return true
  }

  giveBack(): void {
    this.#left++
  }
}

/** What a sink is to get of a connection. */
export interface Share {
  /** At least one byte. */
  readonly length: number
  count(bytes: number): void
  /** Called in the turn that has the last byte. */
  done(): void
}

/**
 * A connection whose reads we size ourselves. Node reads 64 KiB at a time into fresh memory; a tunnel that
 * fills its buffer gets a larger one, used again as soon as it was written out: 1.5 times the throughput,
 * and an idle connection holds no more than before (bench/proxy.ts).
 */
export class Intake {
  readonly socket: Socket
  readonly #free: Buffer[] = []
  #size = SMALLEST
  #sink: Writable | undefined
  #due: (Share & { left: number }) | undefined
  readonly #large: LargeReads

  constructor(options: TcpNetConnectOpts, large: LargeReads) {
    this.#large = large
    const onread = {
      buffer: () => this.#next(),
      callback: (n: number, bytes: Uint8Array) => this.#read(n, bytes),
    }
    this.socket = connect({ ...options, onread })
  }

  /** From now on what is read goes to `sink`, not to the stream; so does what the stream still holds. */
  pour(sink: Writable): void {
    const { socket } = this
    for (let held: unknown; (held = socket.read()) !== null;) sink.write(held)
    if (socket.readableEnded) {
      sink.end()
      return
    }
    this.#sink = sink
    socket.once('end', () => sink.end())
    socket.resume()
  }

  /**
   * The next so many bytes go to `sink`, past whoever reads the stream. Then no more is read: the stream's
   * reader has missed a part, so the connection is good for nothing else.
   */
  pourExactly(sink: Writable, share: Share): void {
    this.#sink = sink
    this.#due = { ...share, left: share.length }
    this.socket.resume()
  }

  #next(): Buffer {
    const reused = this.#free.pop()
    return reused?.length === this.#size ? reused : Buffer.allocUnsafeSlow(this.#size)
  }

  #read(length: number, bytes: Uint8Array): boolean {
    const { socket } = this
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    if (length === buffer.length) this.#grow()
    // As a stream: the reader keeps the memory, and asks for more when it wants more.
    if (!this.#sink) return socket.push(buffer.subarray(0, length))
    const sink = this.#sink
    if (sink.destroyed) return false
    const taken = this.#take(length)
    const goOn = sink.write(buffer.subarray(0, taken), () => {
      if (this.#free.length === 0) this.#free.push(buffer)
    })
    if (this.#due?.left === 0) {
      this.#due.done()
      return false
    }
    if (!goOn) {
      socket.pause()
      sink.once('drain', () => socket.resume())
    }
    return true
  }

  #take(length: number): number {
    const due = this.#due
    if (!due) return length
    const taken = Math.min(length, due.left)
    due.left -= taken
    due.count(taken)
    return taken
  }

  #grow(): void {
    if (this.#size === SMALLEST) this.#size = USUAL
    else if (this.#size === USUAL && this.#sink && this.#large.take()) {
      this.#size = LARGEST
      this.socket.once('close', () => this.#large.giveBack())
    }
  }
}

const SMALLEST = 16 * 1024
const USUAL = 64 * 1024
const LARGEST = 512 * 1024
