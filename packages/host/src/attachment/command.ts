import type { Readable } from 'node:stream'
import type { SandboxConfig } from '@cordon/config'
import { type AccessPolicy, type Root, show } from '@cordon/policy'
import {
  buildEnvironment,
  type Confined,
  type Limits,
  openAmbientSurvey,
  planConfinement,
  probeKernel,
  type ProxyDecision,
  spawnConfined,
} from '@cordon/sandbox'
import { attachContent, type BlobStore, HostPaths, type Resource } from '@cordon/workspace'
import { type Network, openNetwork } from '../run/network.ts'
import { AttachFailedError } from './errors.ts'
import { commandUri } from './grammar.ts'
import { bounded, Deadline } from './limits.ts'

export interface CommandContext {
  readonly policy: AccessPolicy
  readonly sandbox: SandboxConfig
  readonly root: Root
  readonly home: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly store: BlobStore
  readonly signal: AbortSignal
  readonly limits?: Partial<typeof LIMITS> | undefined
}

const MIB = 1024 * 1024
const LIMITS = { bytes: 64 * MIB, seconds: 120 }

type Argv = readonly [string, ...string[]]

/** What a command writes to its standard output, confined by the profile's policy (decision 0111). It must succeed. */
export async function attachCommand(argv: Argv, context: CommandContext): Promise<Resource> {
  // A path of this machine is hidden, as in every event; what the command was run with is not changed.
  const uri = HostPaths.of({ root: context.root.path, home: context.home }).hide(commandUri(argv))
  const limits = { ...LIMITS, ...context.limits }
  const deadline = new Deadline(context.signal, limits.seconds)
  let network: Network | undefined
  try {
    const start = await launch(argv, uri, context, deadline.signal)
    network = start.network
    const tooLarge = (): Error => new AttachFailedError(uri, `it wrote more than ${limits.bytes / MIB} MiB`)
    const content = succeeding(uri, start, bounded(start.confined.stdout!, limits.bytes, tooLarge))
    return await attachContent(content, { uri }, context.store)
  } catch (error) {
    throw deadline.explain(error, (why) => new AttachFailedError(uri, why))
  } finally {
    deadline.end() // kills it, if it still runs
    await network?.close()
  }
}

interface Started {
  readonly confined: Confined
  readonly network: Network | undefined
}

async function launch(
  argv: Argv,
  uri: string,
  context: CommandContext,
  signal: AbortSignal,
): Promise<Started> {
  const { policy, sandbox, root, home, cwd } = context
  if (sandbox.mode === 'off')
    throw new AttachFailedError(uri, 'commands run confined, and sandbox.mode is "off"')
  const env = buildEnvironment(policy, context.env)
  const plan = planConfinement({
    policy,
    kernel: probeKernel(),
    survey: openAmbientSurvey({ policy, root: root.path, home, cwd, argv0: argv[0], env }),
    mode: sandbox.mode,
    limits: limitsOf(sandbox),
  })
  const network = plan.proxyPort === undefined ? undefined : await openNetwork(policy.net, plan.proxyPort)
  const confined = spawnConfined(plan, {
    argv,
    env: { ...env, ...network?.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    terminal: 'detach',
    signal,
    ...(network ? { onProxySocket: network.attach } : {}),
  })
  return { confined, network }
}

function limitsOf({ limits }: SandboxConfig): Partial<Limits> {
  const { memory_mb, processes, tmp_mb, open_files } = limits
  return {
    ...(memory_mb === undefined ? {} : { memory: memory_mb * MIB }),
    ...(processes === undefined ? {} : { processes }),
    ...(tmp_mb === undefined ? {} : { tmp: tmp_mb * MIB }),
    ...(open_files === undefined ? {} : { files: open_files }),
  }
}

/** The content ends only when the command has ended well; otherwise it breaks off, and nothing is kept. */
async function* succeeding(
  uri: string,
  { confined, network }: Started,
  output: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const said = tailOf(confined.stderr!)
  confined.exit.catch(() => undefined) // awaited below; until then it is not unhandled
  yield* output
  const { code, signal } = await confined.exit
  if (code === 0) return
  const refused = ((await network?.close()) ?? []).filter(({ allowed }) => !allowed)
  const how = signal ? `was ended by ${signal}` : `ended with ${code}`
  throw new AttachFailedError(
    uri,
    [`the command ${how}`, ...refused.map(formatRefused), ...said()].join('\n  '),
  )
}

const formatRefused = ({ host, port, reason }: ProxyDecision): string =>
  `refused: ${show(host)}:${port ?? ''}: ${reason}`

const LINES = 10

/** The last lines of it. Also keeps the pipe from filling up. */
function tailOf(stream: Readable): () => string[] {
  let tail = Buffer.alloc(0)
  stream.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-4096)
  })
  return () => tail.toString('utf8').split('\n').filter(Boolean).slice(-LINES).map(show)
}
