import type { JSX } from 'preact'
import { plural } from './text.tsx'

const HOUR_MS = 3_600_000
const [WIDTH, HEIGHT, GAP] = [480, 96, 4]

/** Twenty-four hours, one bar each; in words for who does not see it. */
export function DayChart({ counts, now }: { counts: readonly number[]; now: number }): JSX.Element {
  const most = Math.max(1, ...counts)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const worst = counts.indexOf(Math.max(...counts))
  const step = WIDTH / counts.length
  const hour = (i: number): string =>
    hourOf(Math.floor(now / HOUR_MS) * HOUR_MS - (counts.length - 1 - i) * HOUR_MS)
  const words =
    total === 0
      ? 'nothing was denied in the last 24 hours'
      : `${plural(total, 'request')} denied in the last 24 hours, most of them (${counts[worst]}) from ${hour(worst)}`
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT + 2}`} role="img" aria-label={words} preserveAspectRatio="none">
        {counts.map((count, i) => {
          const height = count === 0 ? 2 : Math.max(6, (count / most) * HEIGHT)
          return (
            <rect
              key={i}
              class={count === 0 ? 'none' : 'some'}
              x={i * step + GAP / 2}
              y={HEIGHT - height + 2}
              width={step - GAP}
              height={height}
              rx="2"
            >
              <title>{`${plural(count, 'denial')} from ${hour(i)}`}</title>
            </rect>
          )
        })}
      </svg>
      <figcaption>
        <span>{hour(0)}</span>
        <span>now</span>
      </figcaption>
    </figure>
  )
}

const hourOf = (at: number): string =>
  new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
