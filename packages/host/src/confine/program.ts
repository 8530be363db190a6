import type { Readable, Writable } from 'node:stream'
import type { SandboxConfig } from '@cordon/config'
import type { AccessPolicy, Root } from '@cordon/policy'
import type {
  Exit,
  KernelReport,
  LostGuarantee,
  OutsideRule,
  ProxyDecision,
  StopSignal,
} from '@cordon/sandbox'
import type { GuardSurvey } from '../guard/survey.ts'
import type { ReplacedFile } from '../outside/profile.ts'
import type { Hint } from './hint.ts'

/** A program and what it runs under: the same for a command, a tool and everything else that is confined (SPEC 4.1). */
export interface Confinement {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly root: Root
  readonly home: string
  /** The host's environment; what of it the program sees is the policy's business. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Variables of this program alone: the network, and whatever else Cordon does for it, knows nothing of them. */
  readonly values?: Readonly<Record<string, string>> | undefined
  readonly policy: AccessPolicy
  /** SPEC 4.12: what the kernel holds, where the program is ours and holds the policy itself. */
  readonly boundary?: AccessPolicy | undefined
  /** SPEC 4.8: what this program has besides, outside the workspace. */
  readonly outside?: readonly OutsideRule[]
  /** Files that are copied in, and written back at the end. */
  readonly replaced?: readonly ReplacedFile[]
  readonly sandbox: SandboxConfig
  /** Where it is written down what has to be looked for at the end (`Workspace.unfinished`). */
  readonly unfinished: string
  /** Paths outside the policy that the program cannot start without. */
  readonly runtime?: readonly string[]
  /** What it is made of where it is Cordon's own program: no rule and no mount around it takes that away (SPEC 4.3). */
  readonly own?: readonly string[] | undefined
  /** What Cordon keeps for itself, so that no hint asks a person to grant it. */
  readonly guard?: GuardSurvey | undefined
  /** `none`: it never connects, so nothing listens inside to say what it may not (decision 0436). */
  readonly network?: 'none' | undefined
  /** Aborting kills it with everything it started. */
  readonly signal?: StopSignal | undefined
  /** What the kernel can do; it is assumed to be able, and who is told otherwise (`isKernelRefusal`) probes it. */
  readonly kernel?: KernelReport | undefined
}

/** All that a policy chooses from. */
export const variablesOf = ({
  env,
  values,
}: Pick<Confinement, 'env' | 'values'>): Readonly<Record<string, string | undefined>> =>
  values ? { ...env, ...values } : env

/** An end that nobody looked at: there is no launcher, or the call is over and its worker goes on. */
export const NOTHING_NOTICED: Omit<Exit, 'code' | 'signal'> = {
  createdDenied: [],
  appeared: [],
  changed: [],
  pressure: [],
  left: { paths: [], more: false },
  replaced: [],
  said: '',
}

/** One that was started, with its three streams in our hands. */
export interface ConfinedProgram {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** What of it is known while it still runs. */
  readonly soFar: () => Pick<ProgramEnd, 'refused' | 'unreached' | 'hints'>
  readonly ended: Promise<ProgramEnd>
}

export interface ProgramEnd {
  readonly exit: Exit
  /** Exactly what the proxy refused (SPEC 4.7). */
  readonly refused: readonly ProxyDecision[]
  /** What it allowed, and could not reach: the reason of each says why. */
  readonly unreached: readonly ProxyDecision[]
  readonly lost: readonly LostGuarantee[]
  /** Guesses why it failed, from what it wrote. */
  readonly hints: (said: string) => readonly Hint[]
}

/** Decision 0590: what the guard alone knows of, because git's index names it, is told like the rest that is new. */
export function withGitlinks<E extends Pick<Exit, 'appeared' | 'changed'>>(
  exit: E,
  guard: Pick<GuardSurvey, 'newGitlinks'> | undefined,
): E {
  const { appeared, changed } = guard?.newGitlinks() ?? { appeared: [], changed: [] }
  return {
    ...exit,
    appeared: [...new Set([...exit.appeared, ...appeared])],
    changed: [...new Set([...exit.changed, ...changed])],
  }
}

/** How a program ended, in words: the same in every report. */
export const howEnded = ({
  code,
  signal,
}: {
  readonly code: number | null
  readonly signal: string | null
}): string => (signal === null ? `ended with ${code ?? 'no exit code'}` : `was ended by ${signal}`)

/** All three were asked for as pipes, so they are there. */
export function piped({
  stdin,
  stdout,
  stderr,
}: Streams): Pick<ConfinedProgram, 'stdin' | 'stdout' | 'stderr'> {
  if (!stdin || !stdout || !stderr) throw new Error('a program was started without its pipes')
  stdin.on('error', () => undefined) // it need not read what it is told; its exit says what happened
  return { stdin, stdout, stderr }
}

interface Streams {
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
}
