import { type Examination, reachText, recipeLines, type Suggestion } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { clip, foreign } from './text.ts'

type Style = Pick<Stream, 'style' | 'isTerminal'>

const MOST_SAID = 10
const LONGEST_DETAIL = 300

/** How far a server got, then what was refused exactly, then guesses, then its last words. */
export function formatExamination(server: string, found: Examination, out: Style, home: string): string {
  const { style } = out
  const lines = [
    ...found.steps.map(({ name, ok, detail }) => {
      const text = clip(foreign(detail, out), LONGEST_DETAIL).replaceAll('\n', '\n    ')
      return `${ok ? style('green', 'ok') : style('red', 'failed')}  ${name}: ${text}`
    }),
    ...new Set(
      found.refused.map(
        ({ url, host, port, reason }) =>
          `${style('red', 'refused:')} ${show(url ?? (port === undefined ? host : `${host}:${port}`))}: ${show(reason)}`,
      ),
    ),
    ...new Set(found.missed.map(({ reason }) => `${style('yellow', 'allowed, but:')} ${show(reason)}`)),
    // What would help is said below: as lines of the configuration, or as commands for places outside.
    ...found.hints.map(({ text }) => `${style('cyan', 'hint:')} ${text}`),
    ...(found.unreached.places.length === 0
      ? []
      : [
          `${style('yellow', 'warning:')} ${reachText(found.unreached.places, home)}`,
          ...recipeLines(found.unreached),
        ]),
    ...noticedLines(found, out),
    ...(found.said.length === 0
      ? []
      : [`it had said:`, ...found.said.slice(-MOST_SAID).map((line) => `  ${foreign(line, out)}`)]),
  ]
  return `${style('bold', `MCP server ${server}`)}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

/** SPEC 4.10: what is new since it was started. */
export const noticedLines = ({ noticed }: Pick<Examination, 'noticed'>, { style }: Style): string[] =>
  noticed.map((text) => `${style('yellow', 'warning:')} ${text}`)

export const formatSuggestions = (suggestions: readonly Suggestion[], { style }: Style): string =>
  suggestions
    .map(
      ({ about, isExact, toml }) =>
        `  ${style('bold', 'this would allow')} ${show(about)}${isExact ? '' : ' (a guess)'}:\n${toml
          .split('\n')
          .map((line) => `    ${line}\n`)
          .join('')}`,
    )
    .join('')
