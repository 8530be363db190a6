import { type Examination, reachText, recipeLines, refusalReason, type Suggestion } from '@cordon/host'
import { show, visible } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { clip } from './text.ts'

type Style = Pick<Stream, 'style' | 'isTerminal'>

const LONGEST_DETAIL = 300

/** How far a server got, then what was refused exactly, then guesses, then its last words. */
export function formatExamination(server: string, found: Examination, out: Style, home: string): string {
  const { style } = out
  const lines = [
    ...found.steps.flatMap(({ name, ok, detail, whose }) => {
      const step = `${ok ? style('green', 'ok') : style('red', 'failed')}  ${name}:`
      return whose === 'ours' ? [`${step} ${detail}`] : [step, ...quoted(clip(detail, LONGEST_DETAIL))]
    }),
    ...(found.likely === undefined ? [] : [found.likely]),
    ...new Set(
      found.refused.map((decision) => {
        const { url, host, port } = decision
        const place = show(url ?? (port === undefined ? host : `${host}:${port}`))
        return `${style('red', 'refused:')} ${place}: ${refusalReason(decision)}`
      }),
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
    ...(found.said.length === 0 ? [] : [`it had said:`, ...found.said.flatMap(quoted)]),
  ]
  return `${style('bold', `MCP server ${server}`)}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

/** The report is ours, also in a pipe: what a server says stands behind a mark, and nothing in it is hidden. */
const quoted = (text: string): string[] =>
  visible(text)
    .split('\n')
    .map((line) => `  │ ${line}`)

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
