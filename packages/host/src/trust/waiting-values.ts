import { isDeep, isTable, uncheckedValues } from '@cordon/config'
import type { Waiting } from './items.ts'

/** SPEC 2.1: what a file says that nobody has trusted. Read, and not checked: it is for a person to look at. */
export interface WaitingValue {
  /** The file, as `cordon trust ls` names it. */
  readonly path: string
  readonly value: unknown
}

/** What waits of one key; of all keys, for an empty path. A file that is no TOML says nothing. */
export const waitingValues = (waiting: readonly Waiting[], key: readonly string[]): readonly WaitingValue[] =>
  waiting.flatMap(({ path, sources }) =>
    sources.flatMap((source) => {
      const read = uncheckedValues(source)
      const value = read.kind === 'broken' ? undefined : valueAt(read.values, key)
      return value === undefined ? [] : [{ path, value: isDeep(value) ? TOO_DEEP : value }]
    }),
  )

const TOO_DEEP = '… more levels than anybody writes'

function valueAt(values: unknown, [first, ...rest]: readonly string[]): unknown {
  if (first === undefined) return values
  return isTable(values) && Object.hasOwn(values, first) ? valueAt(values[first], rest) : undefined
}
