import type { Holding, PolicyView } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatTable } from './text.ts'

/** `policy explain` for people: one line for the capabilities of a rule that are held in the same way, and below it how, where that needs words. */
export const formatViews = (
  views: readonly PolicyView[],
  { style }: Pick<Stream, 'style'>,
  guarded: 'all' | 'counted' = 'all',
): string =>
  views
    .map(({ subject, holdings, notes, lost = [] }) => {
      const written = holdings.filter(({ guard }) => !guard)
      const lines = [
        formatTable(written.map(rowOf)),
        notesOf(written, style),
        guarded === 'all' ? formatGuard(holdings, style) : countGuard(holdings, style),
        ...notes.map((text) => `  ${style('yellow', 'note:')} ${text}\n`),
        ...lost.map((loss) => `  ${style('yellow', 'not held here:')} ${loss}\n`),
      ]
      return `${style('bold', subject)}\n${lines.join('')}`
    })
    .join('\n')

/** SPEC 4.10: many guarded paths, most of them held in the same way: they share a line. */
function formatGuard(holdings: readonly Holding[], style: Stream['style']): string {
  const withheld = holdings.filter(
    ({ guard, granted, capabilities }) => guard && !granted && capabilities.some((each) => WRITING.has(each)),
  )
  const fates = Map.groupBy(withheld, ({ holder, detail: [how = ''] }) =>
    holder === 'kernel' ? `held by ${holder}` : `held by ${holder} (${how})`,
  )
  const lines = [...fates].map(([fate, all]) => {
    const paths = [...new Set(all.map(({ about }) => show(about)))].join(', ')
    return `  ${style('cyan', 'built-in guard:')} no create, update or delete, ${fate}: ${paths}\n`
  })
  if (lines.length === 0) return ''
  return `${lines.join('')}  ${style('yellow', 'note:')} a rule that names a guarded path, or one below it, overrides the guard there; cordon why says which\n`
}

/** Where one tool is shown they are not what it is about. */
function countGuard(holdings: readonly Holding[], style: Stream['style']): string {
  const paths = new Set(holdings.flatMap(({ guard, granted, about }) => (guard && !granted ? [about] : [])))
  if (paths.size === 0) return ''
  return `  ${style('cyan', 'built-in guard:')} ${paths.size} paths cannot be written, because the host obeys or runs them; cordon policy explain has all of them\n`
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
