import type { Readable } from 'node:stream'
import { show } from '@cordon/policy'
import { probeKernel, type ProxyDecision } from '@cordon/sandbox'
import { attachContent, type BlobStore, HostPaths, type Resource } from '@cordon/workspace'
import { noticed } from '../confine/noticed.ts'
import { type ConfinedProgram, type Confinement, howEnded } from '../confine/program.ts'
import { startConfined } from '../confine/start.ts'
import { AttachFailedError } from './errors.ts'
import { commandUri } from './grammar.ts'
import { bounded, Deadline } from './limits.ts'

/** What every command that is attached runs under, and where what it writes goes. */
export interface CommandContext extends Omit<Confinement, 'argv'> {
  readonly store: BlobStore
  readonly signal: AbortSignal
  readonly limits?: Partial<typeof LIMITS> | undefined
  /** SPEC 4.3 `warn`, 4.10: what could not be held, and what is new when it has ended, in words. */
  readonly notice: (texts: readonly string[]) => void
}

const MIB = 1024 * 1024
const LIMITS = { bytes: 64 * MIB, seconds: 120 }

/** What a command writes to its standard output, confined by the profile's policy (decision 0111). It must succeed. */
export async function attachCommand(argv: Confinement['argv'], context: CommandContext): Promise<Resource> {
  // A path of this machine is hidden, as in every event; what the command was run with is not changed.
  const uri = HostPaths.of({ root: context.root.path, home: context.home }).hide(commandUri(argv))
  if (context.sandbox.mode === 'off')
    throw new AttachFailedError(uri, 'commands run confined, and sandbox.mode is "off"')
  const limits = { ...LIMITS, ...context.limits }
  const deadline = new Deadline(context.signal, limits.seconds)
  let program: ConfinedProgram | undefined
  try {
    // Asked, not assumed: a start that the kernel refuses would have to be made twice.
    const kernel = context.kernel ?? probeKernel()
    program = await startConfined({ ...context, argv, runtime: [], kernel, signal: deadline.signal })
    program.stdin.end()
    const tooLarge = (): Error => new AttachFailedError(uri, `it wrote more than ${limits.bytes / MIB} MiB`)
    const content = succeeding(uri, program, bounded(program.stdout, limits.bytes, tooLarge))
    return await attachContent(content, { uri }, context.store)
  } catch (error) {
    throw deadline.explain(error, (why) => new AttachFailedError(uri, why))
  } finally {
    deadline.end() // kills it, if it still runs
    const end = await program?.ended.catch(() => undefined)
    if (end) context.notice(noticed(end).map((text) => `${uri}: ${text}`))
  }
}

/** The content ends only when the command has ended well; otherwise it breaks off, and nothing is kept. */
async function* succeeding(
  uri: string,
  { stderr, ended }: ConfinedProgram,
  output: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const said = tailOf(stderr)
  ended.catch(() => undefined) // awaited below; until then it is not unhandled
  yield* output
  const { exit, refused } = await ended
  if (exit.code === 0) return
  throw new AttachFailedError(
    uri,
    [`the command ${howEnded(exit)}`, ...refused.map(formatRefused), ...said()].join('\n  '),
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
