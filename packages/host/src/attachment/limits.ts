import { CordonError } from '@cordon/policy'
import type { Chunks } from '@cordon/workspace'

/** At most so many bytes; one more is an error, so that what is kept is never a part that looks whole. */
export async function* bounded(
  content: AsyncIterable<Uint8Array>,
  most: number,
  tooLarge: () => Error,
): Chunks & AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of content) {
    size += chunk.length
    if (size > most) throw tooLarge()
    yield chunk
  }
}

/** A signal that a person or the clock aborts, and that remembers which of them. */
export class Deadline {
  readonly #person: AbortSignal
  readonly #seconds: number
  readonly #over = new AbortController()
  readonly #timer: NodeJS.Timeout
  #late = false

  constructor(person: AbortSignal, seconds: number) {
    this.#person = person
    this.#seconds = seconds
    this.#timer = setTimeout(() => {
      this.#late = true
      this.#over.abort()
    }, seconds * 1000)
  }

  get signal(): AbortSignal {
    return AbortSignal.any([this.#person, this.#over.signal])
  }

  /** Stops whatever still listens to the signal. */
  end(): void {
    clearTimeout(this.#timer)
    this.#over.abort()
  }

  /** When a person or the clock stopped it, that is reported, and not the error that stopping it caused. */
  explain(error: unknown, describe: (why: string) => CordonError): unknown {
    if (this.#person.aborted) return this.#person.reason
    if (this.#late) return describe(`it took longer than ${this.#seconds} seconds`)
    if (error instanceof CordonError) return error
    return describe(error instanceof Error ? `it broke off (${codeOf(error)})` : String(error))
  }
}

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? error.code : error.message
