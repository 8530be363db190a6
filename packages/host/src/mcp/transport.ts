import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client'
import type { ConfinedProgram } from '../confine/program.ts'
import { LastLines } from './last-lines.ts'

/** A larger message of a server ends it: nothing that a model can use has that size. */
const MOST_MESSAGE = 10 * 1024 * 1024
/** A server that prints to standard output by mistake is forgiven; one that prints nothing else is not. */
const MOST_NOISE = 256 * 1024
/** What waits for a server that does not read. */
const MOST_QUEUED = 64 * 1024 * 1024
/** Of its own accord a server may say so much at once, and so much each second; then it is read no faster. */
const BURST = 1000
const EACH_SECOND = 500
/** How long a server may take to end by itself, once its input has ended. */
const GRACE_MS = 1000

export interface TransportOptions {
  /** SPEC 5.3: told to the server with `initialize`. */
  readonly meta: Readonly<Record<string, unknown>>
  /** Ends the program with everything it started. */
  readonly kill: () => void
}

/**
 * The stdio transport over a confined process: messages are the SDK's business, and so are their limits as far as it has
 * some. What a hostile server can do to us by talking is bounded here: by size, by rate, and by what waits for it
 * (decision 0231).
 */
export class ConfinedTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /** What it wrote to standard error, the end of it. */
  readonly stderr: LastLines
  readonly #program: ConfinedProgram
  readonly #options: TransportOptions
  readonly #buffer = new ReadBuffer({ maxBufferSize: MOST_MESSAGE })
  readonly #allowance = new Allowance()
  /** What the server was asked, and has not answered. */
  readonly #asked = new Set<string | number>()
  /** Lines that were not looked at yet, or were no message. */
  #lines = 0
  #partial = 0
  #noise = 0
  /** What was handed on last may not have been looked at yet. */
  #isBehind = false
  #timer: NodeJS.Timeout | undefined
  #offence: string | undefined

  constructor(program: ConfinedProgram, options: TransportOptions) {
    this.#program = program
    this.#options = options
    this.stderr = new LastLines(program.stderr)
  }

  /** Why it was ended by us, for breaking one of the bounds. */
  get offence(): string | undefined {
    return this.#offence
  }

  start(): Promise<void> {
    const { stdout, ended } = this.#program
    stdout.on('data', (chunk: Buffer) => this.#take(chunk))
    const close = (): void => {
      clearTimeout(this.#timer)
      this.onclose?.()
    }
    ended.then(close, close)
    return Promise.resolve()
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#program
    if (stdin.writableLength > MOST_QUEUED) this.#end('it does not read what it is told')
    this.#noteAsked(message)
    if (stdin.writable) stdin.write(serializeMessage(this.#withMeta(message)))
    return Promise.resolve()
  }

  /** Its input ends first, so that it can end by itself. */
  async close(): Promise<void> {
    const { stdin, ended } = this.#program
    stdin.end()
    const timer = setTimeout(this.#options.kill, GRACE_MS)
    await ended.catch(() => undefined)
    clearTimeout(timer)
  }

  #noteAsked(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message) this.#asked.add(message.id)
    if (message.method !== 'notifications/cancelled') return
    const { requestId } = (message.params ?? {}) as { readonly requestId?: string | number }
    if (requestId !== undefined) this.#asked.delete(requestId)
  }

  /** What the server says because it was asked; an answer to nothing, or a second one, is not (decision 0501). */
  #isAnswer(message: JSONRPCMessage): boolean {
    // The buffer hands out what the SDK has checked; of its four kinds, the two that answer name no method.
    return !('method' in message) && message.id !== undefined && this.#asked.delete(message.id)
  }

  #withMeta(message: JSONRPCMessage): JSONRPCMessage {
    if (!('method' in message) || message.method !== 'initialize') return message
    const _meta = { ...message.params?._meta, ...this.#options.meta }
    return { ...message, params: { ...message.params, _meta } }
  }

  #take(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk)
    } catch {
      return this.#end(`it sent a message of more than ${MOST_MESSAGE / 1024 / 1024} MiB`)
    }
    for (let at = -1; (at = chunk.indexOf(10, at + 1)) >= 0;) this.#lines++
    const lastBreak = chunk.lastIndexOf(10)
    const whole = lastBreak < 0 ? 0 : this.#partial + lastBreak + 1
    this.#partial = lastBreak < 0 ? this.#partial + chunk.length : chunk.length - lastBreak - 1
    const read = this.#read()
    this.#noise = read > 0 ? 0 : this.#noise + whole
    if (this.#noise > MOST_NOISE) this.#end('it prints to standard output what is no message')
  }

  /** Hands on what is there, and returns how many messages that were. */
  #read(): number {
    for (let read = 0; ; read++) {
      if (this.#offence !== undefined) return read
      if (this.#allowance.isSpent) {
        this.#wait()
        return read + 1
      }
      const message = this.#next()
      if (message === null) {
        this.#spendNoise()
        return read
      }
      this.#lines--
      if (!message || !this.#isAnswer(message)) this.#allowance.spend()
      if (message) this.#inOrder(message)
    }
  }

  /** The SDK looks at a notification a moment later than at an answer, and by then who waited for progress is gone. */
  #inOrder(message: JSONRPCMessage): void {
    if ('method' in message) {
      this.#isBehind = true
      this.#hand(message)
    } else if (this.#isBehind) {
      queueMicrotask(() => {
        this.#isBehind = false
        this.#hand(message)
      })
    } else this.#hand(message)
  }

  /** Everything was looked at: the lines that are left over were none (decision 0501). */
  #spendNoise(): void {
    this.#allowance.spend(this.#lines)
    this.#lines = 0
    if (this.#allowance.isSpent) this.#wait()
  }

  /** A message can be nested so deeply that nobody has the stack to look at it: it counts as none. */
  #hand(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message)
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** Undefined: a line of JSON that is no message. */
  #next(): JSONRPCMessage | null | undefined {
    try {
      return this.#buffer.readMessage()
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
      return undefined
    }
  }

  /** A server that floods us waits for its own pipe, and for nobody else's. */
  #wait(): void {
    const { stdout } = this.#program
    stdout.pause()
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#read()
      if (!this.#timer) stdout.resume()
    }, 1000)
  }

  #end(why: string): void {
    if (this.#offence !== undefined) return
    this.#offence = why
    this.#buffer.clear()
    this.#options.kill()
  }
}

/** What is said unasked costs; what was not spent for a while is there again. */
class Allowance {
  #left = BURST
  #since = performance.now()

  get isSpent(): boolean {
    const now = performance.now()
    this.#left = Math.min(BURST, this.#left + ((now - this.#since) / 1000) * EACH_SECOND)
    this.#since = now
    return this.#left < 1
  }

  /** No more than there is: whoever said much at once waits no longer for it. */
  spend(count = 1): void {
    this.#left = Math.max(0, this.#left - count)
  }
}
