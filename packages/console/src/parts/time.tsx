import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { clockSkew } from '../api.ts'

/** The provider's clock, as far as it is known here. */
const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1000)

const STEPS = [
  [60, 'second', 1],
  [3600, 'minute', 60],
  [86_400, 'hour', 3600],
  [30 * 86_400, 'day', 86_400],
  [365 * 86_400, 'month', 30 * 86_400],
  [Number.POSITIVE_INFINITY, 'year', 365 * 86_400],
] as const
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

function distance(at: number): string {
  const seconds = Math.round((at - now.value - clockSkew.value) / 1000)
  if (Math.abs(seconds) < 5) return 'just now'
  const [, unit, size] = STEPS.find(([most]) => Math.abs(seconds) < most)!
  // What is past has lasted so long; what is to come is nearer to the next one than to the last.
  return relative.format(seconds < 0 ? Math.trunc(seconds / size) : Math.round(seconds / size), unit)
}

/** How long ago; exactly when, where the pointer rests. */
export const Time = ({ at }: { at: number }): JSX.Element => (
  <time dateTime={new Date(at).toISOString()} title={exact(at)}>
    {distance(at)}
  </time>
)

const exact = (at: number): string =>
  new Date(at).toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'long' })

/** `45 s`, `4 min 39 s`. */
export const shownFor = (seconds: number): string =>
  `${seconds < 60 ? '' : `${Math.floor(seconds / 60)} min `}${seconds % 60} s`

export const shownLeft = (seconds: number): string => `${shownFor(seconds)} left`

/** Seconds that are left, or 0: by the clock itself, which is up to a second ahead of what told us to look. */
export const secondsLeft = (until: number): number =>
  Math.max(0, Math.ceil((until - Math.max(now.value, Date.now()) - clockSkew.value) / 1000))
