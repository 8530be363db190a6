import type { Socket as UdpSocket } from 'node:dgram'
import type { Server } from 'node:net'
import type { NetRule } from '@cordon/policy'
import {
  FILES,
  type InsideSocket,
  needsAuthority,
  type NetworkPlan,
  parseUpstream,
  type ProxyDecision,
  proxyEnv,
  type ProxyHandle,
  type ProxyOptions,
} from '@cordon/sandbox'
import { readProxyCode } from './proxy-code.ts'

/** The network of one confined process, ready before the process exists (SPEC 4.5). */
export interface Network {
  /** What the process must be told: where the proxy is, and whom to trust. */
  readonly env: Readonly<Record<string, string>>
  /** PEM texts that have to be readable inside, by path. */
  readonly files: ReadonlyMap<string, string>
  /** Takes over a socket that the launcher made inside the sandbox. */
  readonly attach: (socket: InsideSocket, handle: Server | UdpSocket) => void
  /** What was decided so far. */
  readonly decisions: () => readonly ProxyDecision[]
  /** Ends it and says what was decided. */
  readonly close: () => Promise<readonly ProxyDecision[]>
}

export interface NetworkRequest {
  readonly rules: readonly NetRule[]
  readonly plan: NetworkPlan
  /** The host's environment: it may itself be behind a proxy. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Called at the first refusal of each host, when it happens (SPEC 4.8). */
  readonly onRefused?: ((decision: ProxyDecision) => void) | undefined
}

const CERTIFICATE = `${FILES}/ca.pem`
const BUNDLE = `${FILES}/ca-bundle.pem`

/** Each can hold a URL of the program's choice; a program that asks a million times must not fill our memory. */
const MOST_DECISIONS = 1000

/**
 * Most programs never ask for anything, and should not pay for an HTTP stack. So the proxy is opened when the first of them
 * does; its code has been read by then (`proxy-code.ts`). Only certificates must be there before the start.
 */
export async function openNetwork({ rules, plan, env, onRefused }: NetworkRequest): Promise<Network> {
  const code = readProxyCode()
  const options: ProxyOptions = {
    rules,
    limits: { maxDecisions: MOST_DECISIONS },
    upstream: parseUpstream(env),
    ...(onRefused ? { onDecision: firstRefusals(onRefused) } : {}),
  }
  let opened: Promise<ProxyHandle> | undefined
  let running: ProxyHandle | undefined
  const open = (): Promise<ProxyHandle> =>
    (opened ??= code().then(async (openProxy) => (running = await openProxy(options))))
  const ca = needsAuthority(rules, 'auto') ? (await open()).ca : undefined
  const waiting = new Set<Server | UdpSocket>()
  let closed: Promise<readonly ProxyDecision[]> | undefined
  const proxy = plan.sockets.find(({ serves }) => serves === 'proxy')
  return {
    env: {
      ...(proxy ? proxyEnv(proxy, rules) : {}),
      ...ca?.env({ certificate: CERTIFICATE, bundle: BUNDLE }),
    },
    files: ca
      ? new Map([
          [CERTIFICATE, ca.certPem],
          [BUNDLE, ca.bundlePem],
        ])
      : new Map(),
    attach: (socket, handle) => {
      waiting.add(handle)
      whenUsed(handle, (again) => {
        void open().then((heavy) => {
          if (!waiting.delete(handle)) return // closed meanwhile
          serve(heavy, socket, handle, plan)
          again()
        })
      })
    },
    decisions: () => running?.decisions() ?? [],
    close: () => {
      for (const handle of waiting) handle.close()
      waiting.clear()
      return (closed ??= opened ? opened.then(closeProxy) : Promise.resolve([]))
    },
  }
}

async function closeProxy(proxy: ProxyHandle): Promise<readonly ProxyDecision[]> {
  await proxy.close()
  return proxy.decisions()
}

function serve(
  proxy: ProxyHandle,
  socket: InsideSocket,
  handle: Server | UdpSocket,
  { names }: NetworkPlan,
): void {
  if (socket.serves === 'names') proxy.serveNames(handle, names)
  else if (!('listen' in handle)) handle.close()
  else if (socket.serves === 'proxy') proxy.serve(handle)
  else proxy.serve(handle, socket)
}

/** At the first connection or message. What comes before somebody serves is kept, and comes once more when told. */
function whenUsed(handle: Server | UdpSocket, used: (again: () => void) => void): void {
  const kept: unknown[][] = []
  const event = 'listen' in handle ? 'connection' : 'message'
  const keep = (...args: unknown[]): void => {
    if (kept.push(args) > 1) return
    used(() => {
      handle.off(event, keep)
      for (const each of kept) handle.emit(event, ...each)
    })
  }
  handle.on(event, keep)
}

/** One for each host: a program that retries is not worth a line each time. */
function firstRefusals(tell: (decision: ProxyDecision) => void): (decision: ProxyDecision) => void {
  const told = new Set<string>()
  return (decision) => {
    if (decision.allowed || decision.host === '' || told.size >= MOST_TOLD || told.has(decision.host)) return
    told.add(decision.host)
    tell(decision)
  }
}

/** All of them are in the summary at the end, as far as that goes. */
const MOST_TOLD = 20
