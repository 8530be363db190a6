import type { AuditBody } from '../audit/record.ts'
import type { Database } from '../storage/database.ts'
import type { Day } from './answers.ts'

const HOUR_MS = 3_600_000
const HOURS = 24
/** At the first look so many records are counted, and then what came since; were there more, the page says so. */
const MOST_RECORDS = 50_000
const CHUNK = 1000

interface Activity {
  readonly requests: number
  readonly refused: number
  readonly lastAt: number
}

interface Seen {
  readonly at: number
  readonly app: string
  readonly refused: boolean
}

/** What happened in the last day, by hour and app; kept up to date by reading only what came since. */
export class DayView {
  readonly #database: Database
  readonly #hours = new Map<number, Map<string, Activity>>()
  #last = 0
  /** Until then a part of the day was not looked at. */
  #incompleteUntil = 0
  #reading: Promise<void> | undefined

  constructor(database: Database) {
    this.#database = database
  }

  async read(now: number): Promise<Day> {
    this.#reading ??= this.#catchUp(now).finally(() => {
      this.#reading = undefined
    })
    await this.#reading
    return this.#sum(now)
  }

  async #catchUp(now: number): Promise<void> {
    const oldest = hourOf(now) - HOURS + 1
    let before = Number.MAX_SAFE_INTEGER
    let newest = this.#last
    for (let looked = 0; ; looked += CHUNK) {
      const rows = await this.#database.queries
        .selectFrom('audit_records')
        .select(['seq', 'body'])
        .where('seq', '>', this.#last)
        .where('seq', '<', before)
        .orderBy('seq', 'desc')
        .limit(CHUNK)
        .execute()
      newest = Math.max(newest, rows[0]?.seq ?? 0)
      let isOld = false
      for (const { body } of rows) {
        const seen = seenOf(body)
        if (seen && hourOf(seen.at) >= oldest) this.#add(seen)
        isOld ||= seen !== undefined && hourOf(seen.at) < oldest
      }
      if (rows.length < CHUNK || isOld) break
      before = rows.at(-1)!.seq
      if (looked >= MOST_RECORDS) {
        this.#incompleteUntil = now + HOURS * HOUR_MS
        break
      }
      await new Promise(setImmediate) // others have their turn
    }
    this.#last = newest
    for (const hour of this.#hours.keys()) if (hour < oldest) this.#hours.delete(hour)
  }

  #add({ at, app, refused }: Seen): void {
    const hour = this.#hours.get(hourOf(at)) ?? new Map<string, Activity>()
    this.#hours.set(hourOf(at), hour)
    hour.set(app, joined(hour.get(app), { requests: 1, refused: refused ? 1 : 0, lastAt: at }))
  }

  #sum(now: number): Day {
    const apps = new Map<string, Activity>()
    const denied = Array.from({ length: HOURS }, (_, i) => {
      let refused = 0
      for (const [app, activity] of this.#hours.get(hourOf(now) - HOURS + 1 + i) ?? []) {
        refused += activity.refused
        apps.set(app, joined(apps.get(app), activity))
      }
      return refused
    })
    const active = [...apps].map(([app, { requests, refused, lastAt }]) => ({
      app,
      requests,
      refused,
      last_at: lastAt,
    }))
    return {
      denied,
      active: active.sort((a, b) => b.last_at - a.last_at).slice(0, 20),
      complete: now > this.#incompleteUntil,
    }
  }
}

const hourOf = (at: number): number => Math.floor(at / HOUR_MS)

const joined = (a: Activity | undefined, b: Activity): Activity => ({
  requests: (a?.requests ?? 0) + b.requests,
  refused: (a?.refused ?? 0) + b.refused,
  lastAt: Math.max(a?.lastAt ?? 0, b.lastAt),
})

/** Refused, and not because somebody may not: what waits for a person is not denied yet, and what is not there is no secret. */
const NO_DENIAL: ReadonlySet<string> = new Set([
  'step_up_required',
  'not_found',
  'already_exists',
  'not_empty',
  'wrong_kind',
  'changed',
  'bad_request',
  'client_gone',
  'timed_out',
])

function seenOf(text: string): Seen | undefined {
  try {
    const body = JSON.parse(text) as AuditBody
    if (body.kind !== 'intent' && body.kind !== 'refused') return undefined
    const refused = body.kind === 'refused' && !NO_DENIAL.has(body.code)
    return { at: body.at, app: body.app, refused }
  } catch {
    return undefined
  }
}
