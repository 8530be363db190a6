import type { RunOutcome } from '@cordon/host'
import { shellWord, show } from '@cordon/policy'
import type { Stream } from '../world.ts'

/** SPEC 4.8: what was denied, at the end, on stderr. Empty when there is nothing to say. */
export function formatOutcome(outcome: RunOutcome, { style }: Pick<Stream, 'style'>): string {
  const { exit, refused, unreached, lost, hints } = outcome
  const lines = [
    ...lost.map(({ loss, why, fix }, i) => {
      // One cause takes several guarantees: it is said once, under the last of them.
      const cause = lost[i + 1]?.fix === fix ? '' : `\n    why: ${why}\n    fix: ${fix}`
      return `${style('yellow', 'not held:')} ${loss}${cause}`
    }),
    ...exit.createdDenied.map(
      ({ path, movedTo, why }) =>
        `${style('red', 'moved aside:')} ${show(path)} was made although a rule denies it` +
        (movedTo === undefined ? `; it is still there: ${show(why ?? '')}` : `; it is now ${show(movedTo)}`),
    ),
    ...exit.pressure.map((text) => `${style('yellow', 'limit:')} ${text}`),
    ...tally(refused).map(([text, fix]) => `${style('red', 'refused:')} ${text}${fix}`),
    ...unreached.slice(0, MOST_LINES).map((reason) => `${style('yellow', 'allowed, but:')} ${show(reason)}`),
    ...hints.map(
      ({ text, fix }) =>
        `${style('cyan', 'hint:')} ${text}${fix === undefined ? '' : `\n    to allow it: ${fix}`}`,
    ),
  ]
  if (lines.length === 0) return ''
  const how = exit.signal ? `was ended by ${exit.signal}` : `ended with ${exit.code ?? 'no exit code'}`
  return `${style('bold', `cordon: the command ${how}`)}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

/** A program that retries is not worth a line each time, and one that tries everything is not worth a screen. */
function tally(refused: RunOutcome['refused']): [text: string, fix: string][] {
  const groups = Map.groupBy(refused, ({ host, port, url, reason }) =>
    [whatFor(url ?? `${host}${port === undefined ? '' : `:${port}`}`), show(reason)].join(': '),
  )
  const lines = [...groups].map(([line, [first, ...more]]): [string, string] => [
    more.length === 0 ? line : `${line} (${more.length + 1} times)`,
    first ? fixFor(first) : '',
  ])
  const rest = lines.length - MOST_LINES
  return rest > 0 ? [...lines.slice(0, MOST_LINES), [`and ${rest} others`, '']] : lines
}

const MOST_LINES = 20

/** Some never said what they wanted. */
const whatFor = (place: string): string => (place === '' ? 'a request' : show(place))

/**
 * Only what no rule speaks of is granted by a flag alone: a rule that says no was written on purpose, and what could
 * not be read is refused whatever is granted.
 */
function fixFor({ host, port, url, rule, reason }: RunOutcome['refused'][number]): string {
  const unspoken = `no rule allows ${host}:${port}` // sandbox/src/proxy/denial.ts; a path may follow
  const part = reason.slice(unspoken.length)
  if (rule || !reason.startsWith(unspoken) || !/^(?:\/.*)?$/.test(part)) return ''
  const usual = port === (url?.startsWith('http:') ? 80 : 443)
  return `\n    to allow it: --allow-net ${shellWord(`${host}${usual ? '' : `:${port}`}${part}`)}`
}
