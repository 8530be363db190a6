import { isDeepStrictEqual } from 'node:util'

/** What of a program's settings names other programs that it starts by itself, in the files that profiles write back. */
const STARTED = ['mcpServers', 'hooks'] as const

/**
 * Decision 0451: of a file with settings and login in one, whether other programs are started by it now than before. What is no
 * JSON to us may be some to the program that reads it, so there the names of such settings are enough.
 */
export function startsOthers(before: Buffer | undefined, after: Buffer): boolean {
  const now = parsed(after)
  if (now === undefined) return before?.equals(after) !== true && STARTED.some((name) => after.includes(name))
  const was = before && parsed(before)
  return !isDeepStrictEqual(startedIn(was, ''), startedIn(now, ''))
}

/** Every such setting, at any depth: Claude Code has some for each project. By the path of its keys. */
function startedIn(value: unknown, path: string): readonly (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value)
    .flatMap(([key, inner]): readonly (readonly [string, unknown])[] => {
      const at = `${path}/${key}`
      if (!STARTED.some((name) => name === key)) return startedIn(inner, at)
      return isEmpty(inner) ? [] : [[at, inner]]
    })
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** An agent writes `"mcpServers": {}` for each new project. */
const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

function parsed(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString('utf8').replace(/^\ufeff/, '')) as unknown
  } catch {
    return undefined
  }
}
