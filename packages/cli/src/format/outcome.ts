import type { RunOutcome } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'

/** SPEC 4.8: what was denied, at the end, on stderr. Empty when there is nothing to say. */
export function formatOutcome(outcome: RunOutcome, { style }: Pick<Stream, 'style'>): string {
  const { exit, refused, lost, hints } = outcome
  const lines = [
    ...lost.map(({ loss, why, fix }) => `${style('yellow', 'not held:')} ${loss} (${why})\n    fix: ${fix}`),
    ...exit.createdDenied.map(
      ({ path, movedTo, why }) =>
        `${style('red', 'moved aside:')} ${show(path)} was made although a rule denies it` +
        (movedTo === undefined ? `; it is still there: ${why}` : `; it is now ${show(movedTo)}`),
    ),
    ...exit.pressure.map((text) => `${style('yellow', 'limit:')} ${text}`),
    ...tally(
      refused.map(({ host, port, url, reason }) => `${show(url ?? `${host}:${port ?? ''}`)}: ${reason}`),
    ).map((text) => `${style('red', 'refused:')} ${text}`),
    ...hints.map(
      ({ text, fix }) =>
        `${style('cyan', 'hint:')} ${text}${fix === undefined ? '' : `\n    to allow it: ${fix}`}`,
    ),
  ]
  if (lines.length === 0) return ''
  const how = exit.signal ? `was ended by ${exit.signal}` : `ended with ${exit.code ?? 'no exit code'}`
  return `${style('bold', `cordon: the command ${how}`)}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

/** A program that retries is not worth a line each time. */
function tally(lines: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return [...counts].map(([line, count]) => (count === 1 ? line : `${line} (${count} times)`))
}
