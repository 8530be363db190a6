import { basename } from 'node:path'
import {
  Client,
  type ClientCapabilities,
  type ClientOptions,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client'
import type { SandboxConfig } from '@cordon/config'
import { type AccessPolicy, CordonError, type Root, shellWord, show } from '@cordon/policy'
import { isKernelRefusal, type KernelReport, probeKernel, type ProxyDecision } from '@cordon/sandbox'
import type { Hint } from '../confine/hint.ts'
import type { ConfinedProgram, ProgramEnd } from '../confine/program.ts'
import { startConfined } from '../confine/start.ts'
import { withCaution } from './advised-host.ts'
import { policyMeta, rootsOf } from './boundary.ts'
import { type Asked, cancelled, type Diagnosis, ServerError, type Stage, whenAsked } from './diagnosis.ts'
import { ConfinedTransport } from './transport.ts'

/** Where servers run. */
export interface ServerWorld {
  readonly root: Root
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** What a client's file has for one server, and that server alone sees, where its policy lets it. */
  readonly values?: Readonly<Record<string, string>> | undefined
  readonly sandbox: SandboxConfig
  /** This user's own place for the workspace. */
  readonly unfinished: string
  readonly version: string
}

/** One process of a server, under one policy. */
export interface ServerStart {
  readonly server: string
  readonly argv: readonly [string, ...string[]]
  readonly policy: AccessPolicy
  /** What must be visible inside for it to start, beside its program. */
  readonly runtime: readonly string[]
  readonly startupSecs: number
  readonly signal?: AbortSignal | undefined
  /** Told once a second how long it has taken already. */
  readonly onWaiting?: (seconds: number) => void
  /** What the server may ask of whoever is behind us; roots are answered here. */
  readonly capabilities?: Pick<ClientCapabilities, 'sampling' | 'elicitation'>
  /** Called before the handshake, to listen to what the server says by itself. */
  readonly prepare?: (client: Client) => void
  /** Told how the process ended, once nothing of it is left. */
  readonly onEnd?: (end: ProgramEnd) => void
}

/** A server that is initialised, and can be asked. */
export interface Connection {
  readonly client: Client
  /** Why it is over, and what it was asked for then; undefined while it is not. */
  readonly failure: (asked?: Asked) => ServerError | undefined
  /** It goes on, and did not do what it was asked for. */
  readonly complaint: (stage: Asked['stage'], what: string) => ServerError
  /** What the proxy has refused since this was last asked, and guesses about what is said. */
  readonly news: () => {
    readonly refused: readonly ProxyDecision[]
    readonly unreached: readonly ProxyDecision[]
    readonly hints: (said: string) => readonly Hint[]
  }
  /** The end of its error output. */
  readonly said: () => string
  readonly ended: Promise<void>
  /** Ends it, and waits until nothing of it is left. */
  readonly close: (how?: 'politely' | 'now') => Promise<void>
}

/** SPEC 5.1: starts a server confined, and initialises it, or leaves nothing behind and says how far it got. */
export async function connect(start: ServerStart, world: ServerWorld): Promise<Connection> {
  try {
    return await connectOn(start, world, undefined)
  } catch (error) {
    if (!isKernelRefusal(error)) throw error
    // Nothing ran. What this kernel can do is asked, and the plan does without the rest or refuses.
    return connectOn(start, world, probeKernel())
  }
}

async function connectOn(
  start: ServerStart,
  world: ServerWorld,
  kernel: KernelReport | undefined,
): Promise<Connection> {
  // One that is aborted already would never say so again.
  if (start.signal?.aborted) throw cancelled(start.server, 'was not started: nobody waits for it any more')
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  start.signal?.addEventListener('abort', abort, { once: true })
  const program = await launch(start, world, kernel, stop.signal)
  const transport = new ConfinedTransport(program, { meta: policyMeta(start.policy), kill: abort })
  const client = new Client({ name: 'cordon', version: world.version }, optionsFor(start))
  client.setRequestHandler('roots/list', () => ({ roots: rootsOf(start.policy, world.root) }))
  start.prepare?.(client)
  let end: ProgramEnd | undefined
  let launchError: unknown
  const ended = program.ended.then(
    (how) => {
      end = how
      start.onEnd?.(how)
    },
    (error: unknown) => void (launchError = error),
  )
  // What was told of it already: a failure later has causes of its own.
  const told = { refused: 0, unreached: 0, lines: 0 }
  const fail = (stage: Stage, what: string): ServerError => {
    const { refused, unreached, hints } = end ?? program.soFar()
    return new ServerError({
      server: start.server,
      stage,
      what,
      ...(world.sandbox.mode === 'off' ? { sandbox: 'off' } : {}),
      refused: refused.slice(told.refused).map(withCaution),
      unreached: unreached.slice(told.unreached),
      hints: hints(transport.stderr.since(told.lines).join('\n')),
      said: transport.stderr.lines,
    })
  }
  const close = async (how: 'politely' | 'now' = 'politely'): Promise<void> => {
    if (how === 'now') abort()
    await client.close().catch(() => undefined)
    await ended
    start.signal?.removeEventListener('abort', abort)
  }
  const waiting = startTimer(start)
  try {
    await client.connect(transport, { timeout: milliseconds(start.startupSecs) })
  } catch (error) {
    const timedOut = end === undefined && launchError === undefined && !stop.signal.aborted
    abort()
    await close('now')
    if (launchError !== undefined)
      throw kernel || !isKernelRefusal(launchError) ? whyNotLaunched(start, launchError) : launchError
    if (start.signal?.aborted) throw cancelled(start.server, 'was stopped before it was initialised')
    const { stage, what } = whyNotInitialised(start, { timedOut, offence: transport.offence, end, error })
    throw fail(stage, `${what}${howToInstall(start)}`)
  } finally {
    clearInterval(waiting)
  }
  let closing = false
  return {
    client,
    ended,
    said: () => transport.stderr.text,
    failure: (asked = { stage: 'running' }) => {
      const { stage } = asked
      if (closing) return fail(stage, 'was stopped')
      if (transport.offence !== undefined)
        return fail(stage, `was ended ${whenAsked(asked)}: ${transport.offence}`)
      if (launchError !== undefined) return whyNotLaunched(start, launchError)
      return end && fail(stage, `${howItEnded(end)} ${whenAsked(asked)}`)
    },
    complaint: fail,
    news: () => {
      const { refused, unreached, hints } = program.soFar()
      const fresh = {
        refused: refused.slice(told.refused).map(withCaution),
        unreached: unreached.slice(told.unreached),
        hints,
      }
      told.refused = refused.length
      told.unreached = unreached.length
      told.lines = transport.stderr.count
      return fresh
    },
    close: (how) => {
      closing = true
      return close(how)
    },
  }
}

const optionsFor = ({ capabilities }: ServerStart): ClientOptions => ({
  capabilities: { roots: {}, ...capabilities },
  listMaxPages: 20,
})

async function launch(
  start: ServerStart,
  { root, home, env, values, sandbox, unfinished }: ServerWorld,
  kernel: KernelReport | undefined,
  signal: AbortSignal,
): Promise<ConfinedProgram> {
  const { argv, policy, runtime } = start
  try {
    return await startConfined({
      argv,
      cwd: root.path,
      root,
      home,
      env,
      values,
      policy,
      sandbox,
      unfinished,
      runtime,
      signal,
      ...(kernel ? { kernel } : {}),
    })
  } catch (error) {
    if (isKernelRefusal(error) && !kernel) throw error
    throw whyNotLaunched(start, error)
  }
}

/** SPEC 5.4: what the launcher refused is said as it says it. */
function whyNotLaunched({ server }: ServerStart, error: unknown): ServerError {
  if (!(error instanceof CordonError)) throw error
  const what = `could not be started: ${error.message}`
  return new ServerError({ server, stage: 'start', what, refused: [], unreached: [], hints: [], said: [] })
}

/** What fetches its package at every start has no network and no cache for it here. */
const howToInstall = ({ server, argv }: ServerStart): string =>
  /^(?:npx|uvx|pipx)$/.test(basename(argv[0]))
    ? `\n  ${basename(argv[0])} fetches its package at every start, and cannot here; installed once it can: cordon mcp add ${server} --replace -- ${argv.map(shellWord).join(' ')}`
    : ''

interface Uninitialised {
  readonly timedOut: boolean
  readonly offence: string | undefined
  readonly end: ProgramEnd | undefined
  readonly error: unknown
}

function whyNotInitialised(
  { startupSecs }: ServerStart,
  { timedOut, offence, end, error }: Uninitialised,
): Pick<Diagnosis, 'stage' | 'what'> {
  if (offence !== undefined)
    return { stage: 'protocol', what: `was ended before it was initialised: ${offence}` }
  if (!timedOut && end) return { stage: 'initialize', what: `${howItEnded(end)} before it was initialised` }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return {
      stage: 'initialize',
      what: `was not initialised within ${startupSecs} s (startup_timeout_secs)`,
    }
  const said = show(error instanceof Error ? error.message : String(error))
  return { stage: 'protocol', what: `could not be initialised: ${said}` }
}

const howItEnded = ({ exit }: ProgramEnd): string =>
  exit.signal === null ? `ended with exit code ${exit.code}` : `was ended by ${exit.signal}`

function startTimer({ onWaiting }: ServerStart): NodeJS.Timeout | undefined {
  if (!onWaiting) return undefined
  let seconds = 0
  return setInterval(() => onWaiting(++seconds), 1000)
}

/** Beyond this, a timer of Node's fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1

export const milliseconds = (seconds: number): number => Math.min(seconds * 1000, LONGEST_TIMER)
