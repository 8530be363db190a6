import { hash } from 'node:crypto'
import type { Command } from '../commands.ts'

/** SPEC 7.5: what a person signs for, and nothing else. Another path, content or argument is another request (decision 0153). */
export interface Binding {
  readonly app: string
  readonly agent: string
  readonly command: Command
  /** As signed by the agent. */
  readonly args: Readonly<Record<string, unknown>>
  /** Canonical. */
  readonly path: string
  readonly destination: string | undefined
  /** Of everything that would be touched, as it is now. */
  readonly content: string
}

export const digestBinding = ({ app, agent, command, args, path, destination, content }: Binding): string =>
  hash(
    'sha256',
    JSON.stringify([
      'cordon approval 1',
      app,
      agent,
      command,
      sorted(args),
      path,
      destination ?? null,
      content,
    ]),
  )

/** One spelling, whatever the order in which the agent wrote its arguments. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, part]) => [key, sorted(part)])
}
