import { shellWord, show, showWhole, tomlString, visible } from '@cordon/policy'
import {
  type AttachedResource,
  type ModelChoice,
  type ShownCall,
  shownText,
  shownWithLines,
  type Sight,
  type TurnEnd,
} from '@cordon/host'
import type { Stream } from '../world.ts'
import { formatSeen } from './attachments.ts'
import { clip } from './text.ts'
import { behindMargin, clipColumns, withoutTabs, wrapBelow, wrapMessage } from './wrap.ts'

type Styled = Pick<Stream, 'style' | 'columns'>

const MOST_LINES = 40
/** So many characters of what went wrong are shown. */
const MOST_SAID = 4000
/** So many lines of a result are shown, or only the first. */
const FEW = 6

/**
 * A call before it runs: its words, every argument, and what it would change. What is cut says so, and `whole` cuts
 * nothing. What cannot be seen is written as what it is.
 */
export function formatCall(
  { tool, arguments: args, summary, said, unsaid, leads, changes, isEdited = false }: ShownCall,
  { style, columns }: Styled,
  extent: 'cut' | 'whole' = 'cut',
): string {
  const words = said ?? summary ?? ''
  const cutWords = extent === 'whole' ? words : clip(words, said === undefined ? MOST_SAID : 300)
  const [first = '', ...more] = withoutTabs(visible(cutWords.trimStart())).split('\n')
  const values = shownWithLines(summary === undefined ? args : (unsaid ?? {}), extent)
  const most = extent === 'whole' ? Infinity : MOST_LINES
  const name = `→ ${show(tool)}`
  // Colours, and a second space, come last: a word that has a colour is not cut.
  const begun = wrapBelow(first === '' ? name : `${name} ${first}`, GOES_ON, columns && columns - 1)
  return [
    begun.startsWith(name)
      ? `${style('cyan', '→')} ${style('bold', show(tool))}${begun.slice(name.length).replace(/^ /, '  ')}\n`
      : `${begun}\n`,
    ...(isEdited ? ['    (as you changed it)\n'] : []),
    ...more.map((line) => `${wrapBelow(`    ${line}`, GOES_ON, columns)}\n`),
    ...values.flatMap(({ line, below }) => [
      `${wrapBelow(`    ${line}`, '      ', columns)}\n`,
      ...below.flatMap((text) => quotedRows(text, columns)),
    ]),
    // None is left out: there are no more than a person reads (decision 0456).
    ...leads.flatMap(({ path, place }) =>
      behindMargin(`(${nameIn(path, extent)} leads to ${nameIn(place, 'whole')})`, MARGIN, columns).map(
        (row) => `${row}\n`,
      ),
    ),
    ...changes.map(({ path, lines }) => {
      const rows = lines.flatMap((line) => diffRows(line, { style, columns }))
      const shown = rows.slice(0, most)
      const left = rows.length - shown.length
      return [
        ...behindMargin(showWhole(path), MARGIN, columns).map((row) => `${style('bold', row)}\n`),
        ...shown,
        ...(left > 0 ? [`    ${style('yellow', `… ${left} more lines`)}\n`] : []),
      ].join('')
    }),
  ].join('')
}

/** Whether there is more of it than was shown. */
export const isCut = (call: ShownCall, stream: Styled): boolean =>
  formatCall(call, stream) !== formatCall(call, stream, 'whole')

/** A line that goes on in the next row has the diff's own gutter there, too, and a sign that the margin alone can have. */
function diffRows(line: string, { style, columns }: Styled): string[] {
  const mark = /^[-+ ]/.exec(line)?.[0] ?? ''
  const colour = mark === '+' ? 'green' : mark === '-' ? 'red' : 'dim'
  const [first, more] = MARGIN
  const text = line.slice(mark.length)
  const shown = visible(/[-+]/.test(mark) ? withSeenEnd(text) : text)
  return behindMargin(shown, [first + mark, more + mark], columns).map((row) => `${style(colour, row)}\n`)
}

/** Where a line goes on in the next row: no words of others can have it, and none of theirs begins a row as ours do. */
const GOES_ON = '  ↳ '
const MARGIN = ['    ', GOES_ON] as const
const QUOTED = ['  │ ', GOES_ON] as const

/** A name that could read as the rest of the line is quoted; as long as one that is read anyway, or else cut with its length. */
const nameIn = (name: string, extent: 'cut' | 'whole'): string => {
  if (name.length <= LONGEST_PLAIN && !/[\s()]/.test(name)) return showWhole(name)
  return extent === 'whole' ? tomlString(name) : shownText(name)
}

const LONGEST_PLAIN = 300

const quotedRows = (line: string, columns: number | undefined): string[] =>
  behindMargin(visible(withSeenEnd(line)), QUOTED, columns).map((row) => `${row}\n`)

/** Spaces at the end of a line are a change like any other. */
const withSeenEnd = (line: string): string =>
  line.replace(/[ \t]+$/, (end) => end.replaceAll(' ', '·').replaceAll('\t', '→'))

/** A result that a person may hand over, or not: all of it. */
export const formatHanded = (text: string, { columns }: Styled): string =>
  visible(text)
    .split('\n')
    .flatMap((line) => behindMargin(line, QUOTED, columns))
    .map((row) => `${row}\n`)
    .join('')

/**
 * What came of it, in one line; a refusal whole, because it says what would allow it, up to what a person reads. Commands
 * of tools that Cordon ships stand unbroken; what others write stays behind its margin (decision 0341).
 */
export function formatResult(
  { outcome, text }: Extract<Sight, { kind: 'result' }>,
  { style, columns }: Styled,
  whose: 'ours' | 'others' = 'others',
): string {
  if (outcome === 'success') {
    const all = text.trimEnd().split('\n')
    const lines = all.filter((line) => line.trim() !== '')
    const few = lines.length <= FEW ? lines : lines.slice(0, 1)
    const more = lines.length > few.length ? `  (${all.length} lines)` : ''
    const room = Math.max(2, Math.min(100, (columns ?? 104) - 4 - more.length))
    const [first = 'done', ...rest] = few.map((line) => clipColumns(visible(clip(line, 1000)), room))
    return `  ${style('green', '✓')} ${[first + more, ...rest].map((line) => style('dim', line)).join('\n    ')}\n`
  }
  const { head, left, tail } = endsOf(text)
  const [first = '', ...rest] = linesToRead(head)
  const said = wrapBelow(`  ${style('red', '✗')} ${outcome}: ${first}`, '    ', columns)
  const below = (lines: readonly string[]): string[] =>
    whose === 'ours'
      ? wrapMessage(lines, { margin: '    ', indent: '    ', columns })
      : lines.map((line) => wrapBelow(`    ${line}`, '    ', columns))
  return [
    said,
    ...below(rest),
    ...(left > 0 ? [`    ${style('yellow', `… ${left.toLocaleString('en')} more characters …`)}`] : []),
    ...(left > 0 ? below(linesToRead(tail)) : []),
  ]
    .map((line) => `${line}\n`)
    .join('')
}

/** The beginning says what it is, and the end what came of it, as tests and compilers write. */
function endsOf(text: string): { readonly head: string; readonly left: number; readonly tail: string } {
  const lines = text.trimEnd().split('\n')
  if (text.length <= MOST_SAID && lines.length <= MOST_LINES) return { head: text, left: 0, tail: '' }
  const head = lines.slice(0, HEAD_LINES).join('\n').slice(0, HEAD_SAID)
  const rest = text.slice(head.length)
  const tail = rest
    .trimEnd()
    .split('\n')
    .slice(HEAD_LINES - MOST_LINES)
    .join('\n')
    .slice(HEAD_SAID - MOST_SAID)
  return { head, left: rest.length - tail.length, tail: tail.replace(/^\n/, '') }
}

const HEAD_LINES = 10
const HEAD_SAID = 1000

const linesToRead = (text: string): string[] => withoutTabs(visible(text.toWellFormed())).split('\n')

/** After `always`: how long it holds, and how it is taken back. */
export const formatAllowed = ({ tool, until }: Extract<Sight, { kind: 'allowed' }>): string =>
  until === 'taken back'
    ? `  in this conversation ${show(tool)} is not asked about any more, except where it may be secret\n    to take it back: cordon conversation forget ${shellWord(tool)}\n`
    : `  until this cordon q ends, ${show(tool)} is not asked about any more, except where it may be secret\n`

/** What goes to the model beside the text. Of a directory the first ones. */
export function formatAllAttached(items: readonly AttachedResource[], { style, columns }: Styled): string {
  const shown = items.slice(0, MOST_LINES).map(formatSeen)
  const left = items.length - shown.length
  return [...shown, ...(left > 0 ? [`… and ${left} more`] : [])]
    .map((line) => `${style('dim', wrapBelow(line, '    ', columns))}\n`)
    .join('')
}

/** At the end of a turn: what it took. */
export function formatTurn(
  { usage, steps, kind }: TurnEnd,
  { id, model, config }: ModelChoice,
  { style, columns }: Styled,
): string {
  const prices = Object.hasOwn(config.models, model) ? config.models[model] : undefined
  const isUnknown = usage.input + usage.output === 0
  const counted = [
    `${usage.input.toLocaleString('en')} in${usage.cached > 0 ? ` (${usage.cached.toLocaleString('en')} cached)` : ''}`,
    `${usage.output.toLocaleString('en')} out`,
    ...(usage.partial ? ['and what was stopped'] : []),
  ]
  const parts = [
    id,
    ...(isUnknown ? ['tokens unknown'] : counted),
    ...(steps > 1 ? [`${steps} requests`] : []),
    ...(prices && !isUnknown ? [`${usage.partial ? 'at least ' : ''}${formatCost(usage, prices)}`] : []),
    ...(kind === 'done' ? [] : [kind]),
  ]
  // A part is not torn apart where it fits; so its spaces are none while it is wrapped.
  const line = wrapBelow(parts.map((part) => part.replaceAll(' ', '\u00a0')).join(' · '), '  ', columns)
  return `${style('dim', line.replaceAll('\u00a0', ' '))}\n`
}

function formatCost(
  { input, cached, output }: TurnEnd['usage'],
  prices: ModelChoice['config']['models'][string],
): string {
  const { input_price = 0, cached_price = input_price, output_price = 0 } = prices
  const dollars = ((input - cached) * input_price + cached * cached_price + output * output_price) / 1e6
  return `$${dollars.toFixed(dollars < 0.01 ? 4 : 2)}`
}

/** One line of `--json`. */
export function sightJson(sight: Sight): object {
  switch (sight.kind) {
    case 'answered': {
      const { text, stop, usage, calls } = sight.reply
      return { kind: 'response', text, stop, usage, calls: calls.length }
    }
    case 'call': {
      const { tool, arguments: args } = sight.call
      return { kind: 'tool_call', id: sight.id, tool, arguments: args }
    }
    case 'result':
      return {
        kind: 'tool_result',
        id: sight.id,
        tool: sight.tool,
        outcome: sight.outcome,
        text: sight.text,
      }
    case 'allowed':
      return { kind: 'allowed', tool: sight.tool, until: sight.until.replaceAll(' ', '_') }
    case 'left out':
      return { kind: 'left_out', what: sight.what }
    case 'calls left out':
      return { kind: 'calls_left_out', count: sight.count }
    case 'text':
    case 'reasoning':
    case 'retry':
      return sight
    case 'attached':
      return {
        kind: 'attached',
        items: sight.items.map(({ uri, mimeType, size }) => ({
          uri,
          mime_type: mimeType ?? null,
          size,
        })),
      }
  }
}
