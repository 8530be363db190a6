import { createHash } from 'node:crypto'
import { preparsePolicySet } from '@cedar-policy/cedar-wasm/nodejs'
import { show } from '@cordon/policy'
import { tooComplexAt } from './complexity.ts'
import { CedarFailure, withCedar } from './engine.ts'
import {
  lintStatements,
  type PolicyProblem,
  type PolicyWarning,
  unmatchablePaths,
  warningsOf,
} from './lint.ts'
import { type LooksAt, whatIsLookedAt } from './looks-at.ts'
import { splitStatements, type Statement } from './statements.ts'

/** Policies that were accepted. Two with the same text are the same version. */
export interface LoadedPolicies {
  readonly kind: 'loaded'
  /** SHA-256 of the text. */
  readonly version: string
  readonly text: string
  readonly statements: readonly Statement[]
  readonly warnings: readonly PolicyWarning[]
  readonly looksAt: LooksAt
}

export interface RefusedPolicies {
  readonly kind: 'refused'
  readonly problems: readonly PolicyProblem[]
  /** The whole text with every correction in it, if that would load. */
  readonly corrected: string | undefined
}

const MOST_POLICY_BYTES: number = 256 * 1024

/** SPEC 7.4: refused at load, with the corrected text, rather than skipped at the decision. */
export function loadPolicies(text: string): LoadedPolicies | RefusedPolicies {
  try {
    return load(text)
  } catch (error) {
    if (!(error instanceof CedarFailure)) throw error
    const problem = { code: 'policy_too_large', statement: undefined, line: 1, message: TOO_COMPLEX } as const
    return { kind: 'refused', problems: [{ ...problem, corrected: undefined }], corrected: undefined }
  }
}

const TOO_COMPLEX = 'it has a statement too complex for Cedar; write several'

function load(text: string): LoadedPolicies | RefusedPolicies {
  const statements = parse(text)
  if (!Array.isArray(statements)) return { kind: 'refused', problems: [statements], corrected: undefined }
  const problems = [...lintStatements(statements), ...statements.flatMap(pathProblems)]
  if (problems.length > 0)
    return { kind: 'refused', problems, corrected: correct(text, statements, problems) }
  const version = createHash('sha256').update(text).digest('hex')
  return {
    kind: 'loaded',
    version,
    text,
    statements,
    warnings: warningsOf(statements),
    looksAt: whatIsLookedAt(statements),
  }
}

function parse(text: string): Statement[] | PolicyProblem {
  const whole = { statement: undefined, corrected: undefined }
  if (Buffer.byteLength(text) > MOST_POLICY_BYTES)
    return {
      ...whole,
      code: 'policy_too_large',
      line: 1,
      message: `it is larger than ${MOST_POLICY_BYTES} bytes`,
    }
  const deep = tooComplexAt(text)
  if (deep !== undefined) return { ...whole, code: 'policy_too_large', line: deep, message: TOO_COMPLEX }
  const split = splitStatements(text)
  if (split.kind === 'failed')
    return { ...whole, code: 'policy_syntax', line: split.line, message: split.message }
  return [...split.statements]
}

function pathProblems(statement: Statement): PolicyProblem[] {
  const { id, line, json } = statement
  return unmatchablePaths(json).map((path) => {
    const message = `${show(path)} never matches: the provider writes paths absolute and without \`.\`, \`..\` or a \`/\` at the end`
    return { code: 'policy_invalid', statement: id, line, message, corrected: undefined }
  })
}

/** All or nothing: half a correction would be refused again. */
function correct(
  text: string,
  statements: readonly Statement[],
  problems: readonly PolicyProblem[],
): string | undefined {
  const fixes = new Map(problems.map(({ statement, corrected }) => [statement, corrected]))
  let fixed = text
  for (const statement of statements.toReversed()) {
    if (!fixes.has(statement.id)) continue
    const better = fixes.get(statement.id)
    if (better === undefined) return undefined
    fixed = fixed.slice(0, statement.start) + better + fixed.slice(statement.start + statement.text.length)
  }
  return loadPolicies(fixed).kind === 'loaded' ? fixed : undefined
}

/**
 * Cedar keeps preparsed sets by name and for ever, one store a thread. A fixed number of names is used over
 * and over, for the versions that were asked last.
 */
const MOST_PREPARSED = 256
const slots = new Map<string, string>()

/** The name under which Cedar has these policies now. */
export function preparsed({ version, statements }: LoadedPolicies): string {
  const known = slots.get(version)
  if (known !== undefined) {
    slots.delete(version)
    slots.set(version, known) // last again: the first one is the one to go
    return known
  }
  const [oldest] = slots.size < MOST_PREPARSED ? [] : slots
  const slot = oldest ? oldest[1] : `cordon-${slots.size}`
  if (oldest) slots.delete(oldest[0])
  const staticPolicies = Object.fromEntries(statements.map(({ id, json }) => [id, json]))
  const answer = withCedar(() => preparsePolicySet(slot, { staticPolicies }))
  if (answer.type === 'failure')
    throw new Error(`Cedar refuses what it validated: ${answer.errors[0]?.message}`)
  slots.set(version, slot)
  return slot
}
