import { CordonError, describe, show } from '@cordon/policy'
import { type Command, isCommand } from '../commands.ts'
import { explain, type PolicyExplanation } from './decide.ts'
import { type LoadedPolicies } from './load.ts'
import { type PolicyRequest } from './request.ts'

/** One line of the table that is kept beside a policy, as JSON: a request and what must come of it. */
export interface PolicyCase {
  readonly name?: string
  readonly command: Command
  readonly path: string
  readonly destination?: string
  readonly is_dir?: boolean
  readonly size?: number
  readonly exists?: boolean
  readonly cosigner?: boolean
  readonly app?: string
  readonly agent?: string
  readonly expect: 'allow' | 'deny' | 'step_up'
}

export interface CaseResult {
  readonly case: PolicyCase
  readonly passed: boolean
  readonly explanation: PolicyExplanation
}

export const runCases = (policies: LoadedPolicies, cases: readonly PolicyCase[]): CaseResult[] =>
  cases.map((each) => {
    const explanation = explain(policies, requestOf(each))
    return { case: each, passed: explanation.verdict === each.expect, explanation }
  })

function requestOf(each: PolicyCase): PolicyRequest {
  const { command, path, destination, is_dir: isDirectory = OF_DIRECTORIES.test(command), size = 0 } = each
  const { exists = true, cosigner = false, app = 'app', agent = 'agent' } = each
  return {
    app,
    agent,
    command,
    resource: { path, isDirectory, exists, size },
    ...(destination === undefined
      ? {}
      : { destination: { path: destination, isDirectory: false, exists: false, size: 0 } }),
    cosigned: cosigner,
  }
}

/** What a case is about unless it says `is_dir`. */
const OF_DIRECTORIES = /^\/filesystem\/(?:dir\/|file\/search$)/

export class CaseError extends CordonError {
  readonly code = 'POLICY_CASE_INVALID'
  constructor(index: number, reason: string) {
    super(`case ${index + 1}: ${reason}`)
  }
}

/** Unknown keys are refused: a misspelt `cosigner` would test something else. */
export function parseCases(json: unknown): PolicyCase[] {
  if (!Array.isArray(json)) throw new CaseError(0, `expected an array of cases, got ${describe(json)}`)
  return json.map((each: unknown, i) => parseCase(each, i))
}

function parseCase(value: unknown, index: number): PolicyCase {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CaseError(index, `expected an object, got ${describe(value)}`)
  for (const [key, part] of Object.entries(value)) {
    const type = FIELDS[key]
    if (type === undefined) throw new CaseError(index, `unknown key ${show(key)}`)
    if (typeof part !== type) throw new CaseError(index, `${key} must be a ${type}`)
  }
  const { command, path, destination, expect, size = 0 } = value as Record<string, unknown>
  if (typeof command !== 'string' || !isCommand(command))
    throw new CaseError(index, 'command is not one of the provider')
  if (!isAbsolute(path) || (destination !== undefined && !isAbsolute(destination)))
    throw new CaseError(index, 'path and destination must be absolute')
  if (
    (command === '/filesystem/file/move' || command === '/filesystem/file/copy') !==
    (destination !== undefined)
  )
    throw new CaseError(index, 'move and copy need a destination, and nothing else has one')
  if (!Number.isSafeInteger(size)) throw new CaseError(index, 'size must be a whole number')
  if (expect !== 'allow' && expect !== 'deny' && expect !== 'step_up')
    throw new CaseError(index, 'expect must be allow, deny or step_up')
  return value as PolicyCase
}

const isAbsolute = (path: unknown): boolean => typeof path === 'string' && path.startsWith('/')

const FIELDS: Readonly<Record<string, string>> = {
  name: 'string',
  command: 'string',
  path: 'string',
  destination: 'string',
  is_dir: 'boolean',
  size: 'number',
  exists: 'boolean',
  cosigner: 'boolean',
  app: 'string',
  agent: 'string',
  expect: 'string',
}
