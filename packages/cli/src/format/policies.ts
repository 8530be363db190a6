import type { Holding, PolicyView } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatTable } from './table.ts'

/** `policy explain` for people: a line a fate, and below it how, where it is not plain. */
export const formatViews = (views: readonly PolicyView[], { style }: Pick<Stream, 'style'>): string =>
  views
    .map(
      ({ subject, holdings }) =>
        `${style('bold', subject)}\n${formatTable(holdings.map(rowOf))}${notes(holdings, style)}`,
    )
    .join('\n')

const rowOf = ({ axis, about, capabilities, granted, holder, origin }: Holding): string[] => [
  `  ${axis}`,
  show(about),
  `${granted ? '' : 'no '}${capabilities.join(', ')}`,
  holder,
  origin ?? '',
]

/** What is not held by the kernel or the proxy, and where they are stricter, is said in full. */
function notes(holdings: readonly Holding[], style: Stream['style']): string {
  const lines = holdings.flatMap(({ about, capabilities, holder, detail }) => {
    const plain = holder === 'kernel' ? detail.slice(1) : detail
    return plain.map(
      (text) => `  ${style('yellow', 'note:')} ${show(about)} (${capabilities.join(', ')}): ${text}\n`,
    )
  })
  return [...new Set(lines)].join('')
}
