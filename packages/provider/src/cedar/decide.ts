import { statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs'
import { withCedar } from './engine.ts'
import { type LoadedPolicies, preparsed } from './load.ts'
import { lookedAt } from './looks-at.ts'
import { type CedarQuestion, type PolicyRequest, toCedar } from './request.ts'
import { type Statement } from './statements.ts'

export interface PolicyDecision {
  readonly decision: 'allow' | 'deny'
  /** Ids of the statements that decided: the permits of a yes, the forbids of a no. None: nothing permits it. */
  readonly statements: readonly string[]
  /** What failed to evaluate. Anything in it has made the decision a no. */
  readonly errors: readonly string[]
}

/**
 * A decision follows from the policies and the question alone, so the last ones are remembered, by all of both
 * (decision 0164). Failures are not: they may be the machine's.
 */
const MOST_REMEMBERED = 4096
const remembered = new Map<string, PolicyDecision>()

/** SPEC 7.4: any error is a no. Never throws. */
export function decide(policies: LoadedPolicies, request: PolicyRequest): PolicyDecision {
  // All of the question follows from the request, which is a third as long.
  const key = policies.version + JSON.stringify(lookedAt(policies.looksAt, request))
  const before = remembered.get(key)
  if (before) return before
  const decision = ask(policies, toCedar(request))
  if (decision.errors.length > 0) return decision
  if (remembered.size >= MOST_REMEMBERED) remembered.clear()
  remembered.set(key, decision)
  return decision
}

function ask(policies: LoadedPolicies, question: CedarQuestion): PolicyDecision {
  try {
    const preparsedPolicySetId = preparsed(policies)
    const answer = withCedar(() => statefulIsAuthorized({ ...question, preparsedPolicySetId }))
    if (answer.type === 'failure') return no(answer.errors.map(({ message }) => message))
    const { decision, diagnostics } = answer.response
    const errors = diagnostics.errors.map(({ policyId, error }) => `${policyId}: ${error.message}`)
    return errors.length > 0 ? no(errors) : { decision, statements: diagnostics.reason, errors }
  } catch (error) {
    return no([String(error)])
  }
}

const no = (errors: readonly string[]): PolicyDecision => ({ decision: 'deny', statements: [], errors })

export interface PolicyVerdict {
  /** `step_up`: denied as it is, and allowed once a person has signed for it. */
  readonly verdict: 'allow' | 'deny' | 'step_up'
  /** On the request as it is; for `step_up` it names what stands in the way. */
  readonly decision: PolicyDecision
  /** What was asked besides the request, where that decided. */
  readonly besides?: Besides
}

interface Besides extends PolicyRequest {
  /** `told`: what is allowed where a file goes is asked about it where it is. `part`: the request does this, too. */
  readonly as: 'told' | 'part'
}

/**
 * What comes of a request. Of a move or copy, what may be told of the file where it goes must be allowed where it is: who may
 * not read a file cannot put it where he may (decision 0481). What is forbidden, or needs a person, by itself does so as a part
 * of something else (decision 0591).
 */
export function judge(policies: LoadedPolicies, request: PolicyRequest): PolicyVerdict {
  let worst = judgeAlone(policies, request)
  const consider = (also: PolicyVerdict, besides: Besides): void => {
    if (STRICTNESS[also.verdict] > STRICTNESS[worst.verdict]) worst = { ...also, besides }
  }
  for (const told of toldThere(policies, request))
    consider(judgeAlone(policies, told), { ...told, as: 'told' })
  const part = partOf(request)
  if (part && worst.verdict !== 'deny') consider(judgePart(policies, part), { ...part, as: 'part' })
  return worst
}

const STRICTNESS = { allow: 0, step_up: 1, deny: 2 } as const

/** The plain action that a request comes to as well. Of a tree or a search, each entry below is asked about by itself. */
function partOf({ destination, ...asked }: PolicyRequest): PolicyRequest | undefined {
  const { command, resource } = asked
  if (destination) {
    const plain = destination.exists ? '/filesystem/file/write' : '/filesystem/file/create'
    return { ...asked, command: plain, resource: destination }
  }
  if (command === '/filesystem/dir/delete_recursive') {
    const plain = resource.isDirectory ? '/filesystem/dir/delete' : '/filesystem/file/delete'
    return { ...asked, command: plain }
  }
  if (command === '/filesystem/file/search' && !resource.isDirectory)
    return { ...asked, command: '/filesystem/file/read' }
  return undefined
}

/** What no policy speaks of is no no: who may move files somewhere need not be permitted to create others there. */
function judgePart(policies: LoadedPolicies, part: PolicyRequest): PolicyVerdict {
  const alone = judgeAlone(policies, part)
  if (alone.verdict !== 'deny') return alone
  if (isUnsaid(alone.decision)) return { ...alone, verdict: 'allow' }
  const mayBeSigned =
    part.cosigned !== true &&
    alone.decision.errors.length === 0 &&
    isUnsaid(decide(policies, { ...part, cosigned: true }))
  return mayBeSigned ? { ...alone, verdict: 'step_up' } : alone
}

/** Denied for want of a permit: nothing forbids it. */
const isUnsaid = ({ decision, statements, errors }: PolicyDecision): boolean =>
  decision === 'deny' && statements.length === 0 && errors.length === 0

/** The questions about the source. Of a link none: the link is moved, and who reads through it is asked about what it leads to. */
function toldThere(
  policies: LoadedPolicies,
  { destination, cosigned = false, ...asked }: PolicyRequest,
): PolicyRequest[] {
  const { resource } = asked
  if (!destination || resource.isLink === true) return []
  const there = { ...resource, path: destination.path, exists: true }
  return TELL_CONTENT.filter(
    (command) => judgeAlone(policies, { ...asked, command, resource: there }).verdict !== 'deny',
  ).map((command) => ({ ...asked, command, cosigned }))
}

/** Whoever has one of these is shown what is in a file. */
const TELL_CONTENT = ['/filesystem/file/read', '/filesystem/file/search'] as const

/**
 * SPEC 7.5: what needs a person's signature is not declared but found, by asking again as if there were one
 * (decision 0162). Costs a second decision only where the first is a no.
 */
function judgeAlone(policies: LoadedPolicies, request: PolicyRequest): PolicyVerdict {
  const decision = decide(policies, request)
  if (decision.decision === 'allow') return { verdict: 'allow', decision }
  if (request.cosigned === true || decision.errors.length > 0) return { verdict: 'deny', decision }
  const signed = decide(policies, { ...request, cosigned: true })
  return { verdict: signed.decision === 'allow' ? 'step_up' : 'deny', decision }
}

export interface PolicyExplanation extends PolicyVerdict {
  /** The statements that decided, whole. */
  readonly decided: readonly Pick<Statement, 'id' | 'effect' | 'line' | 'text'>[]
  /** For `step_up`: the permits that will count once it is signed; by their ids, and whole. */
  readonly permits: readonly string[]
  readonly permitting: PolicyExplanation['decided']
}

export function explain(policies: LoadedPolicies, request: PolicyRequest): PolicyExplanation {
  const verdict = judge(policies, request)
  const whole = (ids: readonly string[]): PolicyExplanation['decided'] =>
    ids.flatMap((id) => {
      const found = policies.statements.find((statement) => statement.id === id)
      return found ? [{ id, effect: found.effect, line: found.line, text: found.text }] : []
    })
  const decisive = verdict.besides ?? request
  const permits =
    verdict.verdict === 'step_up' ? decide(policies, { ...decisive, cosigned: true }).statements : []
  return { ...verdict, decided: whole(verdict.decision.statements), permits, permitting: whole(permits) }
}
