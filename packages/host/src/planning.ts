import { lstatSync } from 'node:fs'
import type { SandboxConfig } from '@cordon/config'
import { type AccessPolicy, below, type Root } from '@cordon/policy'
import {
  type KernelReport,
  openAmbientSurvey,
  type Plan,
  planConfinement,
  type ProxyDecision,
} from '@cordon/sandbox'
import type { HintWorld } from './run/hints.ts'
import type { Network } from './run/network.ts'

/** What is the same for a command, a tool and everything else that runs confined (SPEC 4.1). */
export interface Confinement {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly root: Root
  readonly home: string
  /** The host's environment; what of it the program sees is the policy's business. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly policy: AccessPolicy
  readonly sandbox: SandboxConfig
  /** Paths outside the policy that the program cannot start without. */
  readonly runtime?: readonly string[]
}

export function planFor(kernel: KernelReport, request: Confinement, env: Record<string, string>): Plan {
  const { policy, root, home, cwd, argv, sandbox, runtime = [] } = request
  const survey = openAmbientSurvey({
    policy,
    root: root.path,
    home,
    cwd,
    argv0: argv[0],
    env,
    runtime,
    secrets: 'at-start', // every call is planned anew
  })
  const { memory_mb, processes, tmp_mb, open_files } = sandbox.limits
  return planConfinement({
    policy,
    kernel,
    survey,
    mode: sandbox.mode === 'warn' ? 'warn' : 'enforce',
    limits: {
      ...(memory_mb === undefined ? {} : { memory: memory_mb * MIB }),
      ...(processes === undefined ? {} : { processes }),
      ...(tmp_mb === undefined ? {} : { tmp: tmp_mb * MIB }),
      ...(open_files === undefined ? {} : { files: open_files }),
    },
  })
}

const MIB = 1024 * 1024

/** Loaded when it is needed: most programs have no network, and should not pay for an HTTP stack. */
export async function networkFor({ net }: AccessPolicy, { proxyPort }: Plan): Promise<Network | undefined> {
  if (proxyPort === undefined) return undefined
  const { openNetwork } = await import('./run/network.ts')
  return openNetwork(net, proxyPort)
}

/** What hints are looked up in: the policy, and what this plan shows of the host. */
export function hintWorld(
  { root, policy, cwd, home, env }: Confinement,
  { survey, isolation }: Plan,
  refused: readonly ProxyDecision[],
): HintWorld {
  const shown = [
    ...[...survey.system, ...survey.runtime, ...NODES].map((entry) => entry.path),
    ...survey.devices,
  ]
  const own = [survey.root, survey.home].flatMap(({ given, canonical }) => [given, canonical])
  const places = isolation === 'namespaces' ? [...survey.scratch, ...own] : own
  return {
    root,
    policy,
    cwd,
    home,
    exists,
    // A directory above something that is there is there as well; that the rest of it is not was no mistake.
    isVisible: (path) =>
      shown.some((each) => below(each, path) !== undefined) ||
      [...shown, ...places].some((each) => below(path, each) !== undefined),
    isSecret: (path) => survey.secrets.some((secret) => below(secret, path) !== undefined),
    hasVariable: (name) => env[name] !== undefined,
    // What the proxy knows exactly is not guessed at again.
    isKnown: (host) => refused.some((decision) => decision.host === host),
  }
}

/** What we cannot look at, or what is too long for a name, is nothing that we could say anything of. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

/** There for every program, each of its own kind. */
const NODES = [{ path: '/proc' }, { path: '/dev/pts' }, { path: '/dev/ptmx' }, { path: '/dev/fd' }]
