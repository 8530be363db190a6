import { type NetRule } from '@cordon/policy'
import { type Gate } from './gate.ts'
import { type DecisionKind, type NetWish, type ProxyDecision } from './options.ts'

interface Subject {
  readonly kind: DecisionKind
  readonly host: string
  readonly port: number | undefined
  readonly url?: string
}

/** Every decision, bounded: the newest are kept, the rest only counted. */
export class Journal {
  readonly #kept: ProxyDecision[] = []
  readonly #open = new Set<Entry>()
  readonly #gate: Gate
  readonly #limit: number
  readonly #tell: (decision: ProxyDecision) => void
  readonly now: () => number
  #oldest = 0
  dropped = 0

  constructor(gate: Gate, limit: number, tell: (decision: ProxyDecision) => void, now: () => number) {
    this.#gate = gate
    this.#limit = limit
    this.#tell = tell
    this.now = now
  }

  open(subject: Subject): Entry {
    const entry = new Entry(this, subject)
    this.#open.add(entry)
    return entry
  }

  /** A decision that is over as soon as it is made. */
  refuse(subject: Subject, rule: NetRule | undefined, reason: string, wish?: NetWish): void {
    this.open(subject).finish({ allowed: false, rule, reason, wish })
  }

  settle(entry: Entry, decision: Omit<ProxyDecision, 'rule'>, rule: NetRule | undefined): void {
    if (!this.#open.delete(entry)) return
    const full = { ...decision, rule: rule && this.#name(rule) }
    if (this.#kept.length < this.#limit) this.#kept.push(full)
    else {
      // A ring: the slot of the oldest is reused, so a long run costs no copying.
      if (this.#limit > 0) this.#kept[this.#oldest] = full
      this.#oldest = this.#limit > 0 ? (this.#oldest + 1) % this.#limit : 0
      this.dropped++
    }
    this.#tell(full)
  }

  list(): ProxyDecision[] {
    return [...this.#kept.slice(this.#oldest), ...this.#kept.slice(0, this.#oldest)]
  }

  /** What is still open is recorded as it stands. */
  close(): void {
    for (const entry of this.#open) entry.finish({})
  }

  #name(rule: NetRule): NonNullable<ProxyDecision['rule']> {
    const index = this.#gate.indexOf(rule)
    return rule.origin === undefined ? { index } : { index, origin: rule.origin }
  }
}

interface Outcome {
  readonly allowed: boolean
  readonly rule: NetRule | undefined
  readonly reason: string
  readonly failed?: true
  readonly wish?: NetWish | undefined
}

export class Entry {
  readonly #journal: Journal
  readonly #subject: Subject
  readonly #time: number
  #outcome: Outcome = { allowed: false, rule: undefined, reason: 'closed before it was decided' }
  /** Read when the entry ends: counting costs nothing while bytes flow. */
  traffic: () => { up: number; down: number } = () => ({ up: 0, down: 0 })

  constructor(journal: Journal, subject: Subject) {
    this.#journal = journal
    this.#subject = subject
    this.#time = journal.now()
  }

  allow(rule: NetRule): void {
    this.#outcome = { allowed: true, rule, reason: 'allowed' }
  }

  finish(outcome: Partial<Outcome>): void {
    const { rule, wish, ...said } = { ...this.#outcome, ...outcome }
    const { up, down } = this.traffic()
    const durationMs = Math.max(0, this.#journal.now() - this.#time)
    const bytes = { bytesUp: up, bytesDown: down, durationMs }
    const wished = wish && !said.allowed ? { wish } : {}
    this.#journal.settle(this, { time: this.#time, ...this.#subject, ...said, ...wished, ...bytes }, rule)
  }
}
