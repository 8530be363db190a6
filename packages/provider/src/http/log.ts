/** One JSON object a line. What may be in it is closed: no token, no content, no path can get into a log by accident (decision 0156). */
export interface LogEntry {
  readonly level: 'info' | 'warn' | 'error'
  readonly event: 'stopping' | 'stopped' | 'request' | 'audit broken' | 'database failed' | 'unexpected'
  readonly command?: string
  readonly code?: string
  readonly status?: number
  readonly ms?: number
  /** Of an audit chain that is not whole, or of the database: what is wrong with it. */
  readonly problem?: string
  /** Of a bug: its stack, which names our code and nobody's data. */
  readonly stack?: string
}

export type Log = (entry: LogEntry) => void

/**
 * What is told of requests that one turn of the event loop answered is written in one go, after their answers; whatever else
 * happens is written at once, with what was before it.
 */
export function jsonLog(write: (lines: string) => void, clock: () => number = Date.now): Log {
  let waiting = ''
  const flush = (): void => {
    if (waiting !== '') write(waiting)
    waiting = ''
  }
  return (entry) => {
    if (waiting === '') setImmediate(flush)
    waiting += `${JSON.stringify({ time: new Date(clock()).toISOString(), ...entry })}\n`
    if (entry.event !== 'request') flush()
  }
}
