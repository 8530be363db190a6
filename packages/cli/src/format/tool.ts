import {
  type ContentBlock,
  noticed,
  type Told,
  toldText,
  type ToolOutcome,
  type ToolSummary,
  type ToolView,
} from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { refusedJson } from './outcome.ts'
import { formatList } from './text.ts'

/** What a tool gave back, for standard output: texts as they are, blobs as the bytes they stand for. */
export function contentBytes(
  content: readonly ContentBlock[],
  { isTerminal }: Pick<Stream, 'isTerminal'>,
): Buffer {
  const parts = content.map((block) => {
    const text = block.type === 'text' ? block.text : block.resource.text
    if (text !== undefined) return Buffer.from(isTerminal ? plain(text) : text)
    const bytes = Buffer.from((block.type === 'resource' && block.resource.blob) || '', 'base64')
    return isTerminal ? Buffer.from(`(${bytes.length} bytes that are no text)\n`) : bytes
  })
  // Every block but the last ends with a line break, at a terminal the last one too: the next block, or the shell's prompt, begins a line.
  const ended = isTerminal ? parts.length : parts.length - 1
  return Buffer.concat(
    parts.flatMap((part, i) =>
      i < ended && part.length > 0 && part.at(-1) !== 10 ? [part, NEWLINE] : [part],
    ),
  )
}

const NEWLINE = Buffer.from('\n')

/** Untrusted text that may have lines: everything else that could redraw the terminal is made visible. */
export const plain = (text: string): string =>
  text.replace(/[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`)

/** SPEC 4.7: the reason, then exactly what was refused, then guesses that are labelled as such. */
export function formatFailure(
  { reply, end, deniedAt, hints, forPerson }: ToolOutcome,
  { style }: Pick<Stream, 'style'>,
): string {
  if (reply.type !== 'error') return ''
  const lines = [
    ...(deniedAt === undefined ? [] : [`rule at: ${deniedAt}`]),
    ...reply.trace.map((line) => style('dim', `trace: ${plain(line)}`)),
    ...(reply.transient ? ['the same call may work later'] : []),
    ...forPerson.map((told) => inset(toldText(told)).replace(/^refused:/, (word) => style('red', word))),
    ...(end?.exit.pressure ?? []).map(({ text }) => `${style('yellow', 'limit:')} ${text}`),
    ...hints.map((hint) => `${style('cyan', 'hint:')} ${inset(toldText(hint))}`),
  ]
  return `${plain(reply.message)}\n${[...new Set(lines)].map((line) => `  ${line}\n`).join('')}`
}

const inset = (text: string): string => text.replaceAll('\n', '\n  ')

/** What a person should know whatever came of the call. Why it failed is said with the failure. */
export const warningsOf = ({ reply, end, notes, forPerson }: ToolOutcome): string[] => [
  ...notes,
  ...(end ? noticed(end) : []),
  ...(reply.type === 'success' ? forPerson.map(toldText) : []),
]

/** What `tool run --json` writes beside the reply: these keys are always there. */
export const toldJson = ({ notes, end, hints, forPerson }: ToolOutcome): Record<string, unknown> => ({
  notes,
  refused: (end?.refused ?? []).map(refusedJson),
  hints: [...hints, ...forPerson].flatMap(hintJson),
})

/** Whoever hands this on to a model leaves out what is for the person: so a command stands only there. */
function hintJson({ about, text, audience, fix }: Told): readonly Record<string, unknown>[] {
  const command = fix.length > 0 ? { fix: fix.join('\n') } : {}
  if (audience === 'person') return [{ about, text, ...command, audience }]
  const forPerson = { about, text: 'what would allow it', ...command, audience: 'person' }
  return [{ about, text, audience }, ...(fix.length > 0 ? [forPerson] : [])]
}

export const formatTools = (
  tools: readonly ToolSummary[],
  { style, columns }: Pick<Stream, 'style' | 'columns'>,
): string =>
  formatList(
    tools.map(({ name, source, run, enabled, description }) => [
      name,
      source,
      runText(run),
      enabled ? 'enabled' : style('dim', 'disabled'),
      show(description ?? '-'),
    ]),
    columns,
  )

const runText = (run: ToolSummary['run']): string => (typeof run === 'string' ? run : 'by argument')

export function formatView(view: ToolView, { style }: Pick<Stream, 'style'>): string {
  const { name, source, run, enabled, description, command, parameters } = view
  const lines = [
    `${style('bold', name)}${description === undefined ? '' : `: ${show(description)}`}`,
    `  source:    ${source}${enabled ? '' : ' (disabled)'}`,
    `  run mode:  ${runText(run)}`,
    ...(command === undefined ? [] : [`  command:   ${JSON.stringify(command)}`]),
    ...(parameters === undefined
      ? []
      : [
          '  arguments:',
          ...JSON.stringify(parameters, undefined, 2)
            .split('\n')
            .map((line) => `    ${line}`),
        ]),
  ]
  return `${lines.join('\n')}\n\n`
}
