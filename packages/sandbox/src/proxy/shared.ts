import { type Dialer } from './dial.ts'
import { type Gate } from './gate.ts'
import { type Journal } from './journal.ts'
import { type ProxyLimits } from './options.ts'

/** What every part of one running proxy works with. */
export interface Shared {
  readonly gate: Gate
  readonly dialer: Dialer
  readonly journal: Journal
  readonly limits: ProxyLimits
}
