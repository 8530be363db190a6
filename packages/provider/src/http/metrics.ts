interface Gauges {
  readonly auditRecords: number
  readonly ready: boolean
  readonly running: number
}

/** What Prometheus is told: counts and durations by command and answer, never by path or agent. */
export class Metrics {
  readonly #requests = new Map<string, number>()
  readonly #buckets = BOUNDS.map(() => 0)
  #seconds = 0
  #count = 0
  #bytes = 0

  /** Command names are a closed set; what was asked for and is none is one of them, too. */
  finish(command: string, code: string, seconds: number): void {
    const key = `command="${command}",code="${code}"`
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1)
    this.#seconds += seconds
    this.#count += 1
    const bucket = BOUNDS.findIndex((bound) => seconds <= bound)
    if (bucket >= 0) this.#buckets[bucket]! += 1
  }

  transferred(bytes: number): void {
    this.#bytes += bytes
  }

  /** The text format, version 0.0.4. */
  render({ auditRecords, ready, running }: Gauges): string {
    let below = 0
    const histogram = BOUNDS.map((bound, i) => {
      below += this.#buckets[i]!
      return `cordon_request_duration_seconds_bucket{le="${bound}"} ${below}`
    })
    return [
      '# TYPE cordon_requests_total counter',
      ...[...this.#requests].map(([labels, count]) => `cordon_requests_total{${labels}} ${count}`),
      '# TYPE cordon_request_duration_seconds histogram',
      ...histogram,
      `cordon_request_duration_seconds_bucket{le="+Inf"} ${this.#count}`,
      `cordon_request_duration_seconds_sum ${this.#seconds}`,
      `cordon_request_duration_seconds_count ${this.#count}`,
      '# TYPE cordon_requests_running gauge',
      `cordon_requests_running ${running}`,
      '# TYPE cordon_content_bytes_total counter',
      `cordon_content_bytes_total ${this.#bytes}`,
      '# TYPE cordon_audit_records gauge',
      `cordon_audit_records ${auditRecords}`,
      '# TYPE cordon_ready gauge',
      `cordon_ready ${ready ? 1 : 0}`,
      '',
    ].join('\n')
  }
}

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
