import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '@cordon/workspace'
import type { ServerIdentity } from './identity.ts'
import type { Offer } from './offer.ts'

/**
 * SPEC 5.1: what a server offers, kept so that the next session need not wait for it, and a stateless call need not ask
 * again. In the user's own place, where nothing confined can write. What is in it passed no trust yet.
 */
export class SchemaCache {
  readonly #dir: string

  constructor(local: string) {
    this.#dir = join(local, 'mcp-schemas')
  }

  find(key: string): Offer | undefined {
    try {
      const offer: unknown = JSON.parse(readFileSync(this.#file(key), 'utf8'))
      return isOffer(offer) ? offer : undefined
    } catch {
      return undefined // not there, or half of it: it is asked for
    }
  }

  /** A cache that cannot be written is none, and no error. */
  keep(key: string, offer: Offer): void {
    const temporary = `${this.#file(key)}.${process.pid}`
    try {
      mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
      writeFileSync(temporary, JSON.stringify(offer), { mode: 0o600 })
      renameSync(temporary, this.#file(key))
    } catch {
      rmSync(temporary, { force: true })
    }
  }

  #file(key: string): string {
    return join(this.#dir, `${key}.json`)
  }
}

/** Whose offer it is, and to whom: two servers may have the same command line (decision 0472). */
export interface AskedServer {
  readonly name: string
  readonly stateful: boolean
  readonly argv: readonly string[]
  /** What it was told that its client can be asked for; it may offer more tools for that. */
  readonly capabilities: readonly string[]
}

/** By server, command, arguments, capabilities, resolved program and package: whatever else changes, a server is asked again. */
export const schemaKey = (
  { name, stateful, argv, capabilities }: AskedServer,
  identity: ServerIdentity,
): string => sha256(JSON.stringify([name, stateful, argv, capabilities, identity]))

const isOffer = (value: unknown): value is Offer =>
  typeof value === 'object' &&
  value !== null &&
  'tools' in value &&
  Array.isArray(value.tools) &&
  'unusable' in value &&
  Array.isArray(value.unusable) &&
  'omitted' in value &&
  typeof value.omitted === 'number' &&
  'capabilities' in value &&
  typeof value.capabilities === 'object' &&
  value.capabilities !== null
