import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { release } from 'node:os'
import { type KernelReport, type LauncherState, type NamespaceName } from './kernel.ts'
import { findLauncher } from './launcher.ts'
import { ABI_WITH_TRUNCATE } from './linux/landlock.ts'
import { lostHere } from './plan/lost.ts'
import { errnoName, parseStatus } from './status.ts'

const NAMESPACES: readonly NamespaceName[] = ['user', 'mount', 'pid', 'ipc', 'uts', 'net', 'cgroup']

let remembered: KernelReport | undefined

/**
 * What this kernel lets this user do (SPEC 4.7), found by doing it: the launcher makes each namespace and builds a
 * root. Asked once a process: the answer does not change under it.
 */
export function probeKernel(launcher: LauncherState = findLauncher()): KernelReport {
  remembered ??= parseProbe(launcher, runProbe(launcher))
  return remembered
}

/**
 * The same without asking, for a start that should be quick: a kernel new enough is taken to have everything. That is
 * safe, because the launcher fails at whatever is missing before anything runs; then `isKernelRefusal`, and
 * it is time to probe (decision 0091).
 */
export function assumeKernel(launcher: LauncherState = findLauncher()): KernelReport {
  if (remembered || launcher.state === 'missing' || platform() !== 'linux') return probeKernel(launcher)
  const running = readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim() // `node:os` need not be loaded for it
  const [major = 0, minor = 0] = running.split('.').map(Number)
  const isNew = major > 6 || (major === 6 && minor >= 2) // since then Landlock, if there, has ABI 3 or more
  if (!isNew) return probeKernel(launcher)
  return {
    platform: 'linux',
    release: running,
    launcher,
    landlockAbi: ABI_WITH_TRUNCATE,
    seccomp: true,
    namespaces: Object.fromEntries(NAMESPACES.map((name) => [name, undefined])) as Record<
      NamespaceName,
      undefined
    >,
    newRoot: 'works',
    lost: [],
  }
}

function runProbe(launcher: LauncherState): string {
  if (launcher.state === 'missing') return ''
  const { stdout } = spawnSync(launcher.path, [], {
    argv0: 'cordon-probe',
    encoding: 'utf8',
    env: {},
    timeout: 10_000,
  })
  return stdout
}

/** The launcher's answers as a report; what it did not answer counts as missing. */
export function parseProbe(launcher: LauncherState, text: string): KernelReport {
  const lines = text.split('\n')
  const number = (name: string): number | undefined => {
    const line = lines.find((each) => each.startsWith(`${name} `))
    return line === undefined ? undefined : Number(line.slice(name.length + 1))
  }
  const namespaces = Object.fromEntries(
    NAMESPACES.map((name) => {
      const errno = number(`namespace-${name}`)
      return [name, errno === 0 ? undefined : errno === undefined ? 'not tried' : errnoName(errno)]
    }),
  ) as Record<NamespaceName, string | undefined>
  const known = {
    platform: platform(),
    release: release(),
    launcher,
    landlockAbi: number('landlock') ?? 0,
    seccomp: number('seccomp') === 0,
    namespaces,
    newRoot: newRootOf(lines),
    ...(isNested() ? { nested: true as const } : {}),
    lost: [],
  } satisfies KernelReport
  return { ...known, lost: lostHere(known, known.newRoot === 'works' ? 'namespaces' : 'landlock-only') }
}

/** Pid 1 of a sandbox is the launcher. */
function isNested(): boolean {
  try {
    return readFileSync('/proc/1/comm', 'utf8') === 'cordon-launch\n'
  } catch {
    return false
  }
}

function newRootOf(lines: readonly string[]): KernelReport['newRoot'] {
  if (lines.includes('root works')) return 'works'
  for (const line of lines) {
    const status = parseStatus(line)
    if (status?.kind === 'failed') return { step: status.step, errno: status.errno }
  }
  return { step: 'launcher', errno: 'it gave no answer' }
}

const platform = (): KernelReport['platform'] =>
  process.platform === 'linux' || process.platform === 'darwin' ? process.platform : 'other'
