import { show } from '@cordon/policy'
import { differenceOf } from './difference.ts'
import type { TrustItem, Waiting } from './items.ts'
import { CATEGORIES, type Category, summarize, type Summary } from './summary.ts'

/** `asked`: more would scroll what matters off the screen; that there is more is said, and `v` shows all of it. */
type Extent = 'asked' | 'whole'
const MOST_LINES = 20
const MOST_DIFFERENT_LINES = 60

/** SPEC 2.1: what a person sees before the question: what it would grant, then what is different. */
export function reviewText(
  item: Waiting,
  problems: readonly string[] = [],
  extent: Extent = 'asked',
): string {
  const { path, was } = item
  const head = was
    ? `${show(path)} changed since it was trusted (${show(was.trusted_at)}).`
    : `${show(path)} came with the files, and nobody has trusted it.`
  return `${head} It would grant:\n\n${lostText(item)}${invalidText(problems)}${summaryText(summarize(item), extent)}${differenceText(item, extent)}`
}

/** Of a conversation: who trusts what is left of its log trusts that the rest is gone, too. */
export const lostText = ({ lost = 0 }: TrustItem): string =>
  lost === 0
    ? ''
    : '  the log was cut or replaced: not all of your own changes of this conversation are there any more, and what is left takes effect only as it is trusted here.\n' +
      '  What the missing ones granted is not granted, and what they took away is not taken away.\n\n'

/** What is wrong with it, from `problemsOf`: said before what it would grant. */
export const invalidText = (problems: readonly string[]): string =>
  problems.map((problem) => `  it is not valid, and commands here would fail: ${problem}\n`).join('')

/** One line to stand right before the question, whatever came before it. */
export function countsText(item: TrustItem): string {
  const summary = summarize(item)
  const counts = CATEGORIES.flatMap((category) => {
    const { length } = summary[category]
    return length === 0 ? [] : [`${COUNTED[category]}: ${length}`]
  })
  return `In all: ${counts.join(', ') || 'nothing'}`
}

/** All of it, line by line, with the same care. */
export const wholeText = ({ path, text }: TrustItem): string =>
  `${show(path)}, whole:\n\n${text
    .split('\n')
    .map((line) => `  ${visible(line)}`.trimEnd())
    .join('\n')}\n`

export function summaryText(summary: Summary, extent: Extent): string {
  const named = CATEGORIES.filter((category) => summary[category].length > 0)
  const problems = summary.problems.map((problem) => `  it cannot be read: ${problem}\n`).join('')
  if (named.length === 0) return problems === '' ? '  nothing\n' : problems
  return problems + named.map((category) => block(TITLES[category], summary[category], extent)).join('')
}

const COUNTED: Readonly<Record<Category, string>> = {
  guarded: 'guarded paths',
  renamed: 'other names',
  programs: 'programs',
  hosts: 'hosts',
  outside: 'places outside',
  variables: 'variables',
  unattended: 'without asking',
  inside: 'paths inside',
  also: 'settings',
}

const TITLES: Readonly<Record<Category, string>> = {
  guarded: 'GUARDED PATHS THAT COULD THEN BE CHANGED (what your machine, or Cordon, obeys by itself later)',
  renamed: 'OTHER NAMES FOR TOOLS OF MCP SERVERS (which run with what the server may do)',
  programs: 'programs it starts',
  hosts: 'hosts',
  outside: 'places outside the workspace, once their targets are approved',
  variables: 'variables of your environment',
  unattended: 'tools that run without asking',
  inside: 'paths in the workspace',
  also: 'settings',
}

/** One thing a line, so that none hides behind another. */
const block = (title: string, lines: readonly string[], extent: Extent): string =>
  [`  ${title}:`, ...capped(lines, MOST_LINES, extent).map((line) => `    ${line}`), ''].join('\n')

function differenceText({ was, text }: Waiting, extent: Extent): string {
  if (!was) return ''
  if (was.text === undefined) return '\n  The earlier text was not kept, so the difference cannot be shown.\n'
  const lines = differenceOf(was.text, text)
  return [
    '',
    '  The difference:',
    '',
    ...capped(lines, MOST_DIFFERENT_LINES, extent).map((line) => `  ${visible(line)}`),
    '',
  ].join('\n')
}

const capped = (lines: readonly string[], most: number, extent: Extent): readonly string[] =>
  extent === 'whole' || lines.length <= most
    ? lines
    : [...lines.slice(0, most), `and ${lines.length - most} more (v shows all)`]

/** Untrusted text, whole: what could redraw the terminal is written out, tabs stay. */
export const visible = (line: string): string =>
  line.replace(
    /[^\P{C}\t]|[\p{Zl}\p{Zp}\p{DI}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]/gu,
    (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`,
  )
