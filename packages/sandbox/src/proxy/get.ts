import { type IncomingMessage, request } from 'node:http'
import { DEFAULT_PORTS, InvalidUrlError, type NetRule, parseNetTarget } from '@cordon/policy'
import { classifyAddress } from './address.ts'
import { type Denial, denyByRule } from './denial.ts'
import { codeOf, Dialer } from './dial.ts'
import { Gate } from './gate.ts'
import { DEFAULT_LIMITS, type ProxyOptions } from './options.ts'
import { type AskedRequest, DialError, OriginAgent } from './origin-agent.ts'
import { type Asked } from './request-head.ts'
import { openAmbientRoots } from './roots.ts'

export interface GetOptions extends Pick<ProxyOptions, 'rules' | 'resolve' | 'classify' | 'upstreamRoots'> {
  readonly headers: Readonly<Record<string, string>>
  /** Ends it at any point. */
  readonly signal: AbortSignal
}

export type Got =
  /** The head has arrived; the body has not been read. */
  | { readonly kind: 'answer'; readonly response: IncomingMessage }
  | { readonly kind: 'denied'; readonly denial: Denial }
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * One https request that the host makes itself, held to the same rules, in the same way, as what a confined process asks
 * of the proxy (SPEC 4.5): decided on the URL, connected to the very address that was checked. Follows no redirect.
 */
export async function getUnderRules(url: string, options: GetOptions): Promise<Got> {
  const asked = readUrl(url)
  const gate = new Gate(options.rules, 'auto')
  const verdict = gate.request(asked.target, asked.rawPath)
  if (!verdict.allowed) return denied(asked, verdict.rule)
  const dialer = new Dialer({
    resolve: options.resolve,
    classify: options.classify ?? classifyAddress,
    limits: DEFAULT_LIMITS,
  })
  const { upstreamRoots } = options
  const agent = new OriginAgent(
    dialer,
    gate,
    upstreamRoots ? () => upstreamRoots : openAmbientRoots(),
    undefined,
  )
  const release = (): void => {
    agent.destroy()
    for (const socket of dialer.sockets) socket.destroy()
  }
  options.signal.addEventListener('abort', release, { once: true })
  try {
    const response = await send(asked, agent, options)
    response.once('close', release)
    return { kind: 'answer', response }
  } catch (error) {
    release()
    if (!(error instanceof DialError))
      return { kind: 'failed', reason: `${asked.target.host} broke the connection (${codeOf(error)})` }
    const { dialed } = error
    return dialed.kind === 'denied' ? dialed : { kind: 'failed', reason: dialed.reason }
  }
}

const denied = (asked: Asked, rule: NetRule | undefined): Got => ({
  kind: 'denied',
  denial: denyByRule(asked.target, rule, { inside: asked }),
})

/** What is decided is what is sent: the path as the URL parser leaves it. */
function readUrl(url: string): Asked {
  const { host } = parseNetTarget(url) // refuses what can be read in two ways
  const { protocol, username, password, pathname, search, host: place } = new URL(url)
  const clean = `https://${place}${pathname}`
  const target = parseNetTarget(clean)
  const fail = (reason: string): never => {
    throw new InvalidUrlError(clean, reason)
  }
  if (protocol !== 'https:') fail('it is not an https URL')
  if (username !== '' || password !== '') fail('it holds a user name or a password')
  if (host !== target.host) fail('its host can be read in two ways')
  return {
    target: { ...target, port: target.port ?? DEFAULT_PORTS['https']! },
    path: `${pathname}${search}`,
    rawPath: pathname,
    hostHeader: place,
    url: clean,
  }
}

function send(
  asked: Asked,
  agent: OriginAgent,
  { headers, signal }: Pick<GetOptions, 'headers' | 'signal'>,
): Promise<IncomingMessage> {
  const { host, port } = asked.target
  const options: AskedRequest = {
    agent,
    asked,
    host,
    port,
    path: asked.path,
    headers: { host: asked.hostHeader, ...headers },
    signal,
  }
  return new Promise((done, fail) => {
    const sent = request(options, done)
    sent.setTimeout(DEFAULT_LIMITS.connectMs * 2, () => sent.destroy(new Error('no answer in time')))
    // A switch of protocols that nobody asked for ends the connection without an error.
    sent.once('close', () => fail(new Error('no answer')))
    sent.on('error', fail)
    sent.end()
  })
}
