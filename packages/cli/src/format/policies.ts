import type { Holding, PolicyView } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatTable } from './text.ts'

export interface ViewOptions {
  /** `counted` where one tool is shown: there they are not what it is about. */
  readonly guarded?: 'named' | 'counted'
  /** How to see all that is only counted here. */
  readonly all?: string
}

/** `policy explain` for people: one line for the capabilities of a rule that are held in the same way, and below it how, where that needs words. */
export const formatViews = (
  views: readonly PolicyView[],
  { style }: Pick<Stream, 'style'>,
  { guarded = 'named', all = '--json' }: ViewOptions = {},
): string =>
  views
    .map(({ subject, holdings, always, notes, lost = [] }) => {
      const written = holdings.filter(({ guard }) => !guard)
      const lines = [
        formatTable(written.map(rowOf)),
        always ? formatAlways(always, style) : '',
        notesOf(written, style),
        guarded === 'named' ? formatGuard(holdings, style, all) : countGuard(holdings, style),
        ...notes.map((text) => `  ${style('yellow', 'note:')} ${text}\n`),
        ...lost.map((loss) => `  ${style('yellow', 'not held here:')} ${loss}\n`),
      ]
      return `${style('bold', subject)}\n${lines.join('')}`
    })
    .join('\n')

/** What no rule says and every command has (docs/run.md). */
function formatAlways(
  { system, programs, privatePlaces, loopback, variables }: NonNullable<PolicyView['always']>,
  style: Stream['style'],
): string {
  const list = (paths: readonly string[]): string => paths.map((path) => show(path)).join(', ')
  const lines = [
    `read and started, as far as every user may: ${list([...system, ...programs])}`,
    ...(privatePlaces.length === 0 ? [] : [`private, empty and gone at the end: ${list(privatePlaces)}`]),
    ...(loopback ? ['a loopback of its own, which is not the host’s'] : []),
    `variables that are set: ${variables.join(', ')}`,
  ]
  return lines.map((line) => `  ${style('cyan', 'always:')} ${line}\n`).join('')
}

/** SPEC 4.10: what is there is named. What is not, the kernel cannot hold; those are many, and counted. */
function formatGuard(holdings: readonly Holding[], style: Stream['style'], all: string): string {
  const { withheld, there: present, missing, ours } = guardOf(holdings)
  if (withheld.length === 0) return ''
  const label = style('cyan', 'built-in guard:')
  const names = (of: readonly Holding[]): readonly string[] => [
    ...new Set(of.map(({ about }) => show(about))),
  ]
  const there = Map.groupBy(present, ({ holder, detail: [how = ''] }) =>
    holder === 'kernel' ? '' : ` (${holder}: ${how})`,
  )
  return [
    ...[...there].map(
      ([fate, held]) => `  ${label} no create, update or delete${fate}: ${names(held).join(', ')}\n`,
    ),
    ...(missing === 0
      ? []
      : [
          `  ${label} ${missing} names where nothing is yet: ${ours ? 'the tool makes none of them' : 'what appears there is told at the end, and in a git directory moved aside'}; ${all} has all of them\n`,
        ]),
    `  ${style('yellow', 'note:')} a rule that names a guarded path, or one below it, overrides the guard there; cordon why says which\n`,
  ].join('')
}

/** Where one tool is shown they are not what it is about. */
function countGuard(holdings: readonly Holding[], style: Stream['style']): string {
  const { withheld, there, missing, ours } = guardOf(holdings)
  if (withheld.length === 0) return ''
  const count = new Set(there.map(({ about }) => about)).size
  const fate = ours ? 'cannot be made' : 'are told at the end'
  const later = missing === 0 ? '' : `; ${missing} names where nothing is yet ${fate}`
  return `  ${style('cyan', 'built-in guard:')} ${count === 1 ? '1 path cannot be written, because the host obeys or runs it' : `${count} paths cannot be written, because the host obeys or runs them`}${later}; cordon policy explain --json has all of them\n`
}

/**
 * What the guard takes back: where something is, and, counted, where nothing is yet. That is looked for at the end, unless the tool is
 * ours and refuses it (SPEC 4.12).
 */
function guardOf(holdings: readonly Holding[]): {
  readonly withheld: readonly Holding[]
  readonly there: readonly Holding[]
  readonly missing: number
  readonly ours: boolean
} {
  const withheld = holdings.filter(
    ({ guard, granted, capabilities }) => guard && !granted && capabilities.some((each) => WRITING.has(each)),
  )
  const later = withheld.filter(({ missing }) => missing)
  return {
    withheld,
    there: withheld.filter(({ missing }) => !missing),
    missing: new Set(later.map(({ about }) => about)).size,
    ours: later.every(({ holder }) => holder === 'tool'),
  }
}

const WRITING: ReadonlySet<string> = new Set(['create', 'update', 'delete'])

const rowOf = ({ axis, about, capabilities, granted, holder, origin }: Holding): string[] => [
  `  ${axis}`,
  show(about),
  `${granted ? '' : 'no '}${capabilities.join(', ')}`,
  holder,
  origin ?? '',
]

/** What is not held by the kernel or the proxy, and where they are stricter, is said in full. */
function notesOf(holdings: readonly Holding[], style: Stream['style']): string {
  const lines = holdings.flatMap(({ about, capabilities, holder, detail }) => {
    const plain = holder === 'kernel' ? detail.slice(1) : detail
    return plain.map(
      (text) => `  ${style('yellow', 'note:')} ${show(about)} (${capabilities.join(', ')}): ${text}\n`,
    )
  })
  return [...new Set(lines)].join('')
}
