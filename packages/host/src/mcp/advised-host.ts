import { isIP } from 'node:net'
import { classifyAddress, type ProxyDecision } from '@cordon/sandbox'
import type { Question } from '../why/question.ts'

/**
 * SPEC 5.4: why what a server asks for leads to no rule for a host, undefined: it may. What answers only here takes whoever
 * reaches it for somebody who belongs here, so it is nothing to be pasted without a thought (decision 0562).
 */
function whyNotAdvisedHost(host: string): string | undefined {
  const kind = kindOf(host.replace(/^\[|\]$/g, '').toLowerCase())
  return kind === 'public'
    ? undefined
    : `that is ${WORDS[kind]}: for who means it, \`cordon why\` has the edit`
}

/** What a server was refused, without the wish that a suggestion would be made of. */
export function withCaution(decision: ProxyDecision): ProxyDecision {
  const { wish, ...rest } = decision
  const why = wish && whyNotAdvisedHost(wish.host)
  return why === undefined ? decision : { ...rest, reason: `${decision.reason}; ${why}` }
}

/** The same for a guess from what it says. */
export function whyNotAsked({ axis, target }: Question): string | undefined {
  return axis === 'net' && URL.canParse(target) ? whyNotAdvisedHost(new URL(target).hostname) : undefined
}

type Kind = ReturnType<typeof classifyAddress>

const HERE = 'this machine itself, whose services take who reaches them for you'
const NEAR = 'in your own network, whose services may take who reaches them for you'
const ODD = 'no address of the public network'

const WORDS: Readonly<Record<Exclude<Kind, 'public'>, string>> = {
  loopback: HERE,
  unspecified: HERE,
  'link-local': NEAR,
  private: NEAR,
  metadata: 'where a cloud tells its keys',
  multicast: ODD,
  reserved: ODD,
}

function kindOf(host: string): Kind {
  if (isIP(host) !== 0) return classifyAddress(host)
  if (host === 'localhost' || host.endsWith('.localhost')) return 'loopback'
  return METADATA.test(host) ? 'metadata' : 'public'
}

/** By the names that the large clouds have for it. */
const METADATA =
  /^(?:metadata|metadata\.goog|metadata\.google\.internal|instance-data(?:\.ec2\.internal)?)\.?$/
