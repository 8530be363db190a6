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

/** What a request would come to. A no holds for that, however it is spelled and whichever key of the app asks (decision 0318). */
export interface Meaning extends Pick<Binding, 'app' | 'command' | 'path' | 'destination' | 'content'> {
  /** Of an edit the text that it makes, of a search the one that it looks for. */
  readonly wanted: string | undefined
}

export const digestMeaning = ({ app, command, path, destination, content, wanted }: Meaning): string =>
  hash(
    'sha256',
    JSON.stringify(['cordon meaning 1', app, command, path, destination ?? null, content, wanted ?? null]),
  )

/** One spelling, whatever the order in which the agent wrote its arguments. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, part]) => [key, sorted(part)])
}
