import { isDeepStrictEqual } from 'node:util'
import {
  type Clause,
  formatPolicies,
  type PolicyJson,
  policyToText,
  validate,
} from '@cedar-policy/cedar-wasm/nodejs'
import { show } from '@cordon/policy'
import { CedarFailure, withCedar } from './engine.ts'
import {
  assuming,
  extensionLiterals,
  isTrue,
  singlesOutAgent,
  usesWholeContext,
  withContains,
  withDots,
  withGuards,
} from './expression.ts'
import { SCHEMA } from './schema.ts'
import { type Statement } from './statements.ts'

type PolicyProblemCode =
  | 'policy_syntax'
  /** It does not validate against the schema: a wrong type, an unknown action or attribute. */
  | 'policy_invalid'
  /** A `forbid` that a missing attribute switches off. */
  | 'policy_skippable'
  | 'policy_too_large'

export interface PolicyProblem {
  readonly code: PolicyProblemCode
  /** The statement's id; undefined when the text as a whole is meant. */
  readonly statement: string | undefined
  readonly line: number
  readonly message: string
  /** The statement as it was probably meant. It was validated and linted before it is shown. */
  readonly corrected: string | undefined
}

/** SPEC 7.4: what would be refused or, worse, silently not apply (decision 0165). */
export function lintStatements(statements: readonly Statement[]): PolicyProblem[] {
  const inexact = statements.filter(({ json }) => hasInexactNumber(json.conditions))
  if (inexact.length > 0) return inexact.map(inexactProblem) // Cedar would not take some of them back
  const invalid = invalidMessages(statements)
  return statements.flatMap((statement): PolicyProblem[] => {
    const { id, line } = statement
    const messages = invalid.get(id)
    if (messages) {
      const message = [...new Set(messages)].toSorted().join('; ') // Cedar has them in no order
      return [{ code: 'policy_invalid', statement: id, line, message, corrected: corrected(statement) }]
    }
    const skipped = skippable(statement.json)
    const problems = [
      ...(skipped === undefined ? [] : [{ code: 'policy_skippable' as const, message: skipped }]),
      ...unmatchableExtensions(statement.json).map((message) => ({
        code: 'policy_invalid' as const,
        message,
      })),
    ]
    return problems.map((problem) => ({
      ...problem,
      statement: id,
      line,
      corrected: corrected(statement),
    }))
  })
}

/** What is accepted, and may not hold as it looks. */
export type PolicyWarning = Pick<PolicyProblem, 'statement' | 'line' | 'message'>

/** Tokens: whoever has a delegation gives it on, offline, to any key he makes; what is about a key he dodges by that. */
export function warningsOf(statements: readonly Statement[]): PolicyWarning[] {
  return statements.flatMap(({ id, line, json }) => {
    const { entity } = json.principal as { entity?: { type?: unknown } }
    const isAboutKey =
      json.effect === 'forbid' && (entity?.type === 'Agent' || singlesOutAgent(conditionOf(json)))
    return isAboutKey ? [{ statement: id, line, message: ABOUT_ONE_KEY }] : []
  })
}

const ABOUT_ONE_KEY =
  'it is about one key, which can delegate to another one that it is not about; `principal in App::"…"` is about all of them'

/** Statements are decided on in Cedar's JSON form: a number that JavaScript does not have became its neighbour there. */
const hasInexactNumber = (part: unknown): boolean =>
  typeof part === 'number'
    ? !Number.isSafeInteger(part)
    : typeof part === 'object' && part !== null && Object.values(part).some(hasInexactNumber)

const inexactProblem = ({ id, line }: Statement): PolicyProblem => ({
  code: 'policy_invalid',
  statement: id,
  line,
  message: `it has a number beyond ${Number.MAX_SAFE_INTEGER}, which would be compared as another one; a smaller one does as well, since no file is larger`,
  corrected: undefined,
})

/** `validate` says `success` with `validationErrors` in it; and a policy that can never apply is only a warning. */
function invalidMessages(statements: readonly Statement[]): Map<string, string[]> {
  const policies = Object.fromEntries(statements.map(({ id, json }) => [id, json]))
  const answer = withCedar(() =>
    validate({
      schema: SCHEMA,
      policies: { staticPolicies: policies },
      validationSettings: { mode: 'strict' },
    }),
  )
  if (answer.type === 'failure')
    throw new CedarFailure(`Cedar refuses its own JSON: ${answer.errors[0]?.message}`)
  const found = new Map<string, string[]>()
  for (const { policyId, error } of [...answer.validationErrors, ...answer.validationWarnings]) {
    const message = error.message
      .replaceAll(/for policy `[^`]*`, /g, '')
      .replace(/ in context for Action::.*$/, '')
    const help = error.help ? `${message}; ${error.help}` : message
    found.set(policyId, [...(found.get(policyId) ?? []), help])
  }
  return found
}

/** A valid `forbid` must apply without the cosigner at least wherever it applies with `cosigner: false`. */
function skippable(policy: PolicyJson): string | undefined {
  if (policy.effect !== 'forbid') return undefined
  const condition = conditionOf(policy)
  if (usesWholeContext(condition))
    return 'it uses `context` as a whole, so a missing attribute could switch it off'
  const missing = assuming(condition, 'missing')
  if (isTrue(missing) || isDeepStrictEqual(missing, assuming(condition, 'false'))) return undefined
  return 'without `context.cosigner` it does not apply, and that attribute is missing until a person has signed'
}

const conditionOf = ({ conditions }: PolicyJson): unknown =>
  conditions
    .map(({ kind, body }: Clause): unknown => (kind === 'when' ? body : { '!': { arg: body } }))
    .reduce((left, right) => ({ '&&': { left, right } }), { Value: true })

/** Nothing is suggested that would not be accepted. */
function corrected(statement: Statement): string | undefined {
  const conditions = statement.json.conditions.map(({ kind, body }) => ({
    kind,
    body: withGuards(withDots(withContains(body))),
  }))
  const json = { ...statement.json, conditions: conditions.filter(({ body }) => !isTrue(body)) } as PolicyJson
  if (isDeepStrictEqual(json, statement.json)) return undefined
  if (invalidMessages([{ ...statement, json }]).size > 0 || skippable(json) !== undefined) return undefined
  if (unmatchableExtensions(json).length > 0) return undefined
  const text = withCedar(() => policyToText(json))
  if (text.type === 'failure') return undefined
  const pretty = withCedar(() => formatPolicies({ policyText: text.text, lineWidth: 100, indentWidth: 2 }))
  return (pretty.type === 'success' ? pretty.formatted_policy : text.text).trim()
}

/** Texts that no extension is: it has its dot (SPEC 7.4), and no other. */
function unmatchableExtensions(policy: PolicyJson): string[] {
  const literals = [...new Set(extensionLiterals(conditionOf(policy)))]
  const undotted = literals.filter((each) => each !== '' && !each.startsWith('.'))
  const doubled = literals.filter((each) => each.startsWith('.') && each.lastIndexOf('.') > 0)
  return [
    ...neverMatch(undotted, ([first]) => `an extension is written with its dot, as ${show(`.${first}`)}`),
    ...neverMatch(
      doubled,
      ([first = '']) =>
        `an extension begins at the last dot of the name, as ${show(first.slice(first.lastIndexOf('.')))}`,
    ),
  ]
}

const neverMatch = (literals: readonly string[], why: (literals: readonly string[]) => string): string[] =>
  literals.length === 0
    ? []
    : [`${literals.map(show).join(', ')} never match${literals.length === 1 ? 'es' : ''}: ${why(literals)}`]

/** Paths that are written in another way than the provider writes them never match anything. */
export function unmatchablePaths(policy: PolicyJson): string[] {
  const found: string[] = []
  const look = (uid: unknown): void => {
    const { type, id } = (uid ?? {}) as { type?: unknown; id?: unknown }
    if ((type === 'Directory' || type === 'File') && typeof id === 'string' && !isNormal(id)) found.push(id)
  }
  const { entity } = policy.resource as { entity?: unknown }
  look(entity)
  for (const { body } of policy.conditions) visitValues(body, look)
  return found
}

const isNormal = (path: string): boolean =>
  path === '/' ||
  (path.startsWith('/') &&
    !path
      .slice(1)
      .split('/')
      .some((name) => ['', '.', '..'].includes(name)))

function visitValues(expression: unknown, look: (uid: unknown) => void): void {
  if (Array.isArray(expression)) for (const each of expression) visitValues(each, look)
  if (typeof expression !== 'object' || expression === null) return
  if ('__entity' in expression) look(expression.__entity)
  for (const part of Object.values(expression)) visitValues(part, look)
}
