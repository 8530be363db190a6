import type { App } from '../apps/app.ts'
import { Refusal } from '../errors.ts'

/** What one app has used at this process: buckets that fill up again by the minute. */
interface Usage {
  requests: number
  bytes: number
  running: number
  at: number
}

const MINUTE_MS = 60_000

/** Limits per app (rate, concurrent, bytes): one agent cannot take the provider from the others. */
export class Limits {
  readonly #used = new Map<string, Usage>()

  /** Takes a request's share, with the bytes that it announces; whoever got a lease gives it back. */
  enter({ id, limits }: App, now: number, announced: number): Lease {
    const usage = this.#usage(id, now)
    const share = Math.max(0, now - usage.at) / MINUTE_MS
    usage.requests = Math.max(0, usage.requests - share * limits.requestsPerMinute)
    usage.bytes = Math.max(0, usage.bytes - share * limits.bytesPerMinute)
    usage.at = now
    if (usage.running >= limits.concurrent)
      throw new Refusal('too_many_at_once', `${limits.concurrent} operations of this app are running already`)
    if (usage.requests + 1 > limits.requestsPerMinute)
      throw limited(`${limits.requestsPerMinute} requests a minute`, MINUTE_MS / limits.requestsPerMinute)
    if (usage.bytes > limits.bytesPerMinute)
      throw limited(
        `${limits.bytesPerMinute} bytes a minute`,
        ((usage.bytes - limits.bytesPerMinute) / limits.bytesPerMinute) * MINUTE_MS,
      )
    usage.requests += 1
    usage.running += 1
    usage.bytes += announced // now and not when they are here: others may ask meanwhile, and it may fail
    let open = true
    return {
      charge: (bytes) => void (usage.bytes = Math.max(0, usage.bytes + bytes)),
      leave: () => {
        if (open) usage.running -= 1
        open = false
      },
    }
  }

  #usage(id: string, now: number): Usage {
    const known = this.#used.get(id)
    if (known) return known
    if (this.#used.size >= MOST_REMEMBERED)
      for (const [each, { running, at }] of this.#used)
        if (running === 0 && now - at > MINUTE_MS) this.#used.delete(each)
    const made = { requests: 0, bytes: 0, running: 0, at: now }
    this.#used.set(id, made)
    return made
  }
}

const MOST_REMEMBERED = 10_000

export interface Lease {
  /** Fewer than none: given back. */
  charge(bytes: number): void
  leave(): void
}

const limited = (what: string, waitMs: number): Refusal =>
  new Refusal('rate_limited', `this app may have ${what}; wait a moment`, {
    retry_after_seconds: Math.max(1, Math.ceil(waitMs / 1000)),
  })
