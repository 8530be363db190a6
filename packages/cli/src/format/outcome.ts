import {
  appearedTexts,
  changedTexts,
  describeDenied,
  type Forewarning,
  howEnded,
  lossTexts,
  type RunOutcome,
  isStillThere,
} from '@cordon/host'
import { allowNetFlag, shellWord, show } from '@cordon/policy'
import type { Stream } from '../world.ts'

type ProxyDecision = RunOutcome['refused'][number]

/** SPEC 4.11: one warning each, before the command starts. `--quiet` keeps back what nobody declared. */
export function formatLosses({ lost, notes }: Forewarning, quiet: boolean): string[] {
  const said = quiet ? lost.filter(({ declared }) => declared) : lost
  return [...lossTexts(said), ...(quiet ? [] : notes)]
}

/**
 * SPEC 4.8: what was denied, at the end, on stderr. Empty when there is nothing to say. `more` says what
 * would explain more: at a terminal stderr is the program's own, so all that is known is that it failed (SPEC 4.7).
 */
export function formatOutcome(
  outcome: RunOutcome,
  { style, isTerminal }: Pick<Stream, 'style' | 'isTerminal'>,
  more?: string,
): string {
  const { exit, refused, unreached, left, notices, hints } = outcome
  const lines = [
    ...exit.createdDenied.map(
      (denied) =>
        `${style('red', isStillThere(denied) ? 'still there:' : denied.linkTo === undefined ? 'moved aside:' : 'removed:')} ${describeDenied(denied)}`,
    ),
    ...changedTexts(exit.changed).map((text) => `${style('red', 'changed:')} ${text}`),
    ...appearedTexts(exit.appeared).map((text) => `${style('yellow', 'new:')} ${text}`),
    ...notices.map((text) => `${style('yellow', 'note:')} ${text}`),
    ...leftTexts(left).map((text) => `${style('yellow', 'gone:')} ${text}`),
    ...exit.pressure.map(({ limit, text }) => {
      const fix = hints.find(({ known, about }) => known && about === limit)?.fix
      return `${style('yellow', 'limit:')} ${text}${fix === undefined ? '' : `\n    to allow it: ${fix}`}`
    }),
    ...tally(refused).map(([text, fix]) => `${style('red', 'refused:')} ${text}${fix}`),
    ...unreached.slice(0, MOST_LINES).map((reason) => `${style('yellow', 'allowed, but:')} ${show(reason)}`),
    ...hints
      .filter(({ known }) => !known)
      .map(
        ({ text, first, fix }) =>
          `${style('cyan', 'hint:')} ${text}` +
          (first === undefined ? '' : `\n    to allow it, first: ${first}`) +
          (fix === undefined ? '' : `\n    to allow it: ${fix}`),
      ),
  ]
  if (lines.length === 0 && more === undefined) return ''
  const clause = more === undefined ? '' : `; ${more}`
  // The terminal has shown what was typed, ^C, and is still on that line.
  const start = isTerminal && exit.signal === 'SIGINT' ? '\n' : ''
  return `${start}${style('bold', `cordon: the command ${howEnded(exit)}`)}${clause}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

/** The same command with `--why`, as it was typed; of a long one as many words as fit. */
export function withWhy(argv: readonly string[]): string {
  const at = argv.findIndex((word) => word === 'run' || word === 'wrap') + 1
  const words = [...argv.slice(0, at), '--why', ...argv.slice(at)].map(shellWord)
  let typed = 'cordon'
  for (const word of words) {
    if (typed.length + word.length >= LONGEST_COMMAND) return `${typed} …`
    typed += ` ${word}`
  }
  return typed
}

const LONGEST_COMMAND = 300

/** What is said also with `--quiet`: a rule is broken, and nobody has mended it. */
export const stillThere = ({ exit }: RunOutcome): RunOutcome => ({
  exit: {
    ...exit,
    createdDenied: exit.createdDenied.filter(isStillThere),
    appeared: [],
    changed: [],
    pressure: [],
  },
  refused: [],
  unreached: [],
  left: undefined,
  notices: [],
  hints: [],
})

/** SPEC 4.3: what was written to the private home, and how to keep it the next time. */
function leftTexts(left: RunOutcome['left']): string[] {
  if (!left) return []
  const { names, others, first, keep, delicate } = left
  const more = others === undefined ? ' and more' : others > 0 ? ` and ${others} others` : ''
  return [
    `${names.map(show).join(', ')}${more}: written to the private home, which is no more` +
      (first === undefined ? '' : `\n    to keep it, first: ${first}`) +
      (keep === undefined ? '' : `\n    to keep it: ${keep}`) +
      (delicate.length === 0
        ? ''
        : `\n    start-up files, places of secrets, or Cordon’s own, so no flag is named: ${delicate.map(show).join(', ')}`),
  ]
}

/** SPEC 4.8: a refusal while the command runs, in the same words as at the end. */
export function formatRefusal(
  decision: ProxyDecision,
  { style, isTerminal }: Pick<Stream, 'style' | 'isTerminal'>,
): string {
  const flag = flagFor(decision)
  const fix = flag === undefined ? '' : `; to allow it: ${flag}`
  const line = `${style('bold', 'cordon:')} ${style('red', 'refused:')} ${textOf(decision)}${fix}`
  // Clears what the program has on the line. It may have put the terminal into raw mode, where a new line does not return to the left.
  return isTerminal ? `\r\u001b[K${line}\r\n` : `${line}\n`
}

/** A program that retries is not worth a line each time, and one that tries everything is not worth a screen. */
function tally(refused: RunOutcome['refused']): [text: string, fix: string][] {
  const connected = new Set(refused.flatMap(({ kind, host }) => (kind === 'name' ? [] : [host])))
  const told = refused.filter(({ kind, host }) => kind !== 'name' || !connected.has(host))
  const lines = [...Map.groupBy(told, textOf)].map(([line, [first, ...more]]): [string, string] => [
    // A program asks for both kinds of address of a name, and some ask again and again.
    more.length === 0 || first?.kind === 'name' ? line : `${line} (${more.length + 1} times)`,
    first ? fixFor(first) : '',
  ])
  const rest = lines.length - MOST_LINES
  return rest > 0 ? [...lines.slice(0, MOST_LINES), [`and ${rest} others`, '']] : lines
}

const MOST_LINES = 20

const textOf = ({ host, port, url, reason }: ProxyDecision): string =>
  [whatFor(url ?? `${host}${port === undefined ? '' : `:${port}`}`), show(reason)].join(': ')

/** For connections that ended before they said which host they wanted. */
const whatFor = (place: string): string => (place === '' ? 'a request' : show(place))

const fixFor = (decision: ProxyDecision): string => {
  const flag = flagFor(decision)
  return flag === undefined ? '' : `\n    to allow it: ${flag}`
}

/** Only what no rule speaks of is granted by a flag alone. */
const flagFor = ({ wish }: ProxyDecision): string | undefined => wish && allowNetFlag(wish)

/** Exactly what was refused: the same keys wherever it is told. */
export const refusedJson = ({ host, port, url, reason }: ProxyDecision): Record<string, unknown> => ({
  host,
  port: port ?? null,
  url: url ?? null,
  reason,
})

/** What `--json-fd` writes: these keys are always there. */
export const outcomeJson = (
  { exit, refused, unreached, left, notices, hints }: RunOutcome,
  subject: string,
): Record<string, unknown> => ({
  subject,
  code: exit.code,
  signal: exit.signal,
  refused: refused.map((decision) => ({ ...refusedJson(decision), fix: flagFor(decision) ?? null })),
  unreached,
  denied_paths: exit.createdDenied.map(({ path, movedTo, linkTo }) => ({
    path,
    moved_to: movedTo ?? null,
    ...(linkTo === undefined ? {} : { removed_link_to: linkTo }),
  })),
  appeared: exit.appeared,
  changed: exit.changed,
  limits: exit.pressure.map(({ text }) => text),
  gone: left
    ? { names: left.names, others: left.others ?? null, first: left.first ?? null, keep: left.keep ?? null }
    : null,
  notices,
  hints: hints.map(({ text, first, fix, audience }) => ({
    text,
    first: first ?? null,
    fix: fix ?? null,
    // Decision 0468: what would allow it is the person's, whoever may read the text.
    audience: fix === undefined ? audience : 'person',
  })),
})
