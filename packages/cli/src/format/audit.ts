import { show } from '@cordon/policy'
import type { AuditVerdict, ChainedRecord } from '@cordon/provider'
import { isoTime } from './text.ts'

export const recordJson = ({ seq, prev, hash, body }: ChainedRecord): object => ({
  seq,
  prev,
  hash,
  record: parseBody(body),
})

/** What was edited may not be JSON any more; it is shown as it is. */
function parseBody(body: string): Record<string, unknown> | string {
  try {
    return JSON.parse(body) as Record<string, unknown>
  } catch {
    return body
  }
}

/** What a person reads of a record; the rest, and what proves it, is in `--json` and the export. */
export function recordRow({ seq, body }: ChainedRecord): string[] {
  const record = parseBody(body)
  if (typeof record === 'string') return [String(seq), 'unreadable', show(record)]
  const { at, kind, op, app, command, path, destination, result, code, approval, name, by, detail, after } =
    record
  const { made } = (after ?? {}) as { made?: unknown }
  const what = [
    ...[app, command, path, destination, result, code, name].flatMap(words),
    ...[made ?? []]
      .flat()
      .flatMap(words)
      .map((text) => `with ${text}`),
    ...words(by).map((text) => `by ${text}`),
    ...words(approval).map((text) => `approval ${text}`),
    ...Object.entries((detail ?? {}) as Record<string, unknown>)
      .filter(([key]) => !PROOF.has(key))
      .flatMap(([key, value]) =>
        // A token says it in seconds.
        words(key === 'expires' ? isoTime(Number(value) * 1000) : value).map((text) => `${key} ${text}`),
      ),
  ]
  return [
    String(seq),
    isoTime(Number(at)),
    String(kind).padEnd(LONGEST_KIND),
    `${what.join(' ')}  ${String(op)}`,
  ]
}

/** With these somebody can check again that a passkey, or a key, said yes; nobody reads them. */
const PROOF: ReadonlySet<string> = new Set([
  'binding',
  'proof',
  'passkey',
  'page_key',
  'shown_sha256',
  'ceremony',
  'client_data',
  'authenticator_data',
  'signature',
])

/** `tail` prints each record alone, and they stand below each other. */
const LONGEST_KIND = 'outcome'.length

const words = (part: unknown): string[] =>
  typeof part === 'string' || typeof part === 'number' ? [show(String(part))] : []

export const verdictJson = ({ clockWentBack, ...verdict }: AuditVerdict): object => ({
  ...verdict,
  clock_went_back: clockWentBack,
})

export function formatVerdict({
  ok,
  records,
  checkpoints,
  problems,
  unfinished,
  clockWentBack,
}: AuditVerdict): string {
  const said = [
    ok
      ? `${records} records, ${checkpoints} checkpoints: the chain is whole\n`
      : `${records} records, ${checkpoints} checkpoints: THE CHAIN IS NOT WHOLE\n`,
    ...problems.map(({ seq, kind, detail }) => `  record ${seq}: ${kind}: ${detail}\n`),
    ...(unfinished.length === 0
      ? []
      : [
          `  interrupted, outcome unknown: ${unfinished.slice(0, 20).join(' ')}${unfinished.length > 20 ? ' …' : ''}\n`,
        ]),
    ...(clockWentBack.length === 0
      ? []
      : [
          `  the clock went back at ${clockWentBack.slice(0, 20).join(', ')}; the order is the chain’s, not the clock’s\n`,
        ]),
  ]
  return said.join('')
}
