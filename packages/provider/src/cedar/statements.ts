import {
  type DetailedError,
  type PolicyJson,
  policySetTextToParts,
  policyToJson,
} from '@cedar-policy/cedar-wasm/nodejs'
import { withCedar } from './engine.ts'

/** One `permit` or `forbid`, and where it stands in the text. */
export interface Statement {
  /** Its `@id`, or where it begins, `line 7`: a person looks for it in the text. */
  readonly id: string
  readonly effect: 'permit' | 'forbid'
  readonly text: string
  readonly json: PolicyJson
  readonly start: number
  readonly line: number
}

export type Split =
  | { readonly kind: 'split'; readonly statements: readonly Statement[] }
  | { readonly kind: 'failed'; readonly message: string; readonly line: number }

export function splitStatements(text: string): Split {
  const parts = withCedar(() => policySetTextToParts(text))
  if (parts.type === 'failure') return failed(text, parts.errors)
  if (parts.policy_templates.length > 0)
    return {
      kind: 'failed',
      message: 'it has a template (`?principal` or `?resource`); write the entity',
      line: 1,
    }
  const statements: Statement[] = []
  const used = new Map<string, number>()
  let from = 0
  for (const part of inOrder(parts.policies)) {
    const parsed = withCedar(() => policyToJson(part))
    if (parsed.type === 'failure') return failed(text, parsed.errors)
    const start = Math.max(text.indexOf(part, from), from)
    from = start + part.length
    const { annotations, effect } = parsed.json
    const line = lineAt(text, start)
    const id = unique(annotations?.['id'] ?? `line ${line}`, used)
    statements.push({ id, effect, text: part, json: parsed.json, start, line })
  }
  return { kind: 'split', statements }
}

/** Cedar sorts its `policy0`, `policy1`, `policy10`, … as text. */
function inOrder(parts: readonly string[]): string[] {
  const numbers = parts.map((_, i) => i).sort((a, b) => (String(a) < String(b) ? -1 : 1))
  const ordered: string[] = []
  for (const [i, number] of numbers.entries()) ordered[number] = parts[i] ?? ''
  return ordered
}

/** Two starters of one kind combine, so a name may come twice. */
function unique(id: string, used: Map<string, number>): string {
  const count = (used.get(id) ?? 0) + 1
  used.set(id, count)
  return count === 1 ? id : unique(`${id}#${count}`, used)
}

function failed(text: string, errors: readonly DetailedError[]): Split {
  const [first] = errors
  const [place] = first?.sourceLocations ?? []
  const message = [first?.message ?? 'Cedar does not parse it', first?.help].filter(Boolean).join('; ')
  return { kind: 'failed', message, line: lineAt(text, characterAt(text, place?.start ?? 0)) }
}

/** Cedar counts bytes. */
const characterAt = (text: string, byte: number): number =>
  Buffer.from(text).subarray(0, byte).toString().length

const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length
