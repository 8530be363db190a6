import type { StoredEvent } from '@cordon/workspace'
import { CUT_SHORT } from './turn.ts'

interface Rest {
  /** Calls that nobody answered. */
  readonly unanswered: readonly string[]
  /** The last word is the model's, and it was not finished. */
  readonly needsWords: boolean
}

/** What is left of the last turn; undefined when it is finished, or there is none. */
export function restOf(events: readonly StoredEvent[]): Rest | undefined {
  const from = events.findLastIndex(({ kind }) => kind === 'turn')
  if (from < 0) return undefined
  const turn = events.slice(from)
  const answered = new Set(turn.flatMap((event) => (event.kind === 'tool_result' ? [event.id] : [])))
  const unanswered = turn.flatMap((event) =>
    event.kind === 'tool_call' && !answered.has(event.id) ? [event.id] : [],
  )
  const last = turn.findLast(({ kind }) => SPOKEN.has(kind))
  if (last?.kind !== 'response') return { unanswered, needsWords: false }
  return UNFINISHED.has(last.stop ?? '') ? { unanswered, needsWords: true } : undefined
}

const SPOKEN: ReadonlySet<string> = new Set(['request', 'response', 'tool_call', 'tool_result'])
const UNFINISHED: ReadonlySet<string> = new Set(['interrupted', 'broken', ...CUT_SHORT])
