import { constants } from 'node:os'
import { type Capability, CordonError, show } from '@cordon/policy'
import { type Item } from './linux/items.ts'

/** One line of the launcher's report (launcher/src/report.h). */
export type Status =
  /** Pid 1 of the sandbox. */
  | { readonly kind: 'inside'; readonly pid: number }
  | { readonly kind: 'failed'; readonly step: string; readonly item: number; readonly errno: string }
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  /** Below the private home. Undefined: there was more than was looked at. */
  | { readonly kind: 'left'; readonly path: string | undefined }
  | { readonly kind: 'replaced'; readonly item: number; readonly errno: string | undefined }
  | { readonly kind: 'usage'; readonly peakBytes: number; readonly tmpFull: boolean }

export function parseStatus(line: string): Status | undefined {
  // First what is nearly always the whole report: the other patterns are not even compiled then.
  const code = /^exit code=(\d+)$/.exec(line)
  if (code) return { kind: 'exit', code: Number(code[1]) }
  if (line === '') return undefined
  const inside = /^inside pid=(\d+)$/.exec(line)
  if (inside) return { kind: 'inside', pid: Number(inside[1]) }
  const failed = /^failed ([a-z-]+) item=(-?\d+) errno=(\d+)$/.exec(line)
  if (failed)
    return { kind: 'failed', step: failed[1]!, item: Number(failed[2]), errno: errnoName(Number(failed[3])) }
  const signal = /^exit signal=(\d+)$/.exec(line)
  if (signal) return { kind: 'signal', signal: signalName(Number(signal[1])) }
  const left = /^left (?:path=(.+)|more)$/.exec(line)
  if (left) return { kind: 'left', path: left[1] === undefined ? undefined : unescapePath(left[1]) }
  const replaced = /^replaced item=(\d+) errno=(\d+)$/.exec(line)
  if (replaced) {
    const errno = Number(replaced[2])
    return { kind: 'replaced', item: Number(replaced[1]), errno: errno === 0 ? undefined : errnoName(errno) }
  }
  const usage = /^usage peak_kib=(\d+) tmp_full=([01])$/.exec(line)
  if (usage) return { kind: 'usage', peakBytes: Number(usage[1]) * 1024, tmpFull: usage[2] === '1' }
  return undefined
}

/** launcher/src/left.c writes every other byte as `%2f`. What is no UTF-8 is shown as what it is not. */
const unescapePath = (text: string): string =>
  Buffer.from(
    text.replaceAll(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  ).toString('utf8')

export const errnoName = (errno: number): string =>
  Object.entries(constants.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`

const signalName = (signal: number): NodeJS.Signals =>
  (Object.entries(constants.signals).find(([, value]) => value === signal)?.[0] ??
    `SIG${signal}`) as NodeJS.Signals

/** The sandbox could not be built, or the program not be started in it: nothing ran (SPEC 4.3). */
export class LaunchError extends CordonError {
  readonly code = 'LAUNCH_FAILED'
  readonly step: string
  readonly errno: string
  readonly item: Item | undefined
  readonly withheld: readonly Capability[]
  readonly interpreter: string | undefined
  constructor(failed: FailedStep) {
    super(
      failed.step === 'exec' ? notStarted(failed) : isNotThere(failed) ? notHere(failed) : notBuilt(failed),
    )
    this.step = failed.step
    this.errno = failed.errno
    this.item = failed.item
    this.withheld = failed.withheld ?? []
    this.interpreter = failed.interpreter
  }
}

const notBuilt = ({ step, errno, item }: FailedStep): string =>
  `the sandbox could not be built, so nothing was started: ${step}${pathOf(item)}: ${errno}${adviceFor(step, errno)}`

/** The directory to start in was there when the sandbox was planned, and is not inside. */
const isNotThere = ({ step, errno }: FailedStep): boolean => step === 'cwd' && errno === 'ENOENT'

const notHere = ({ item }: FailedStep): string =>
  `nothing was started: no rule grants${pathOf(item)}, where the command would start`

/** The sandbox was there; its last step is to become the program. */
const notStarted = (failed: FailedStep): string =>
  `cannot start${pathOf(failed.item)}: ${whyNotStarted(failed)} (${failed.errno})`

const pathOf = (item: Item | undefined): string => (item && 'path' in item ? ` ${show(item.path)}` : '')

interface FailedStep {
  readonly step: string
  readonly errno: string
  readonly item: Item | undefined
  /** What starting the program needs, and the rules around it do not grant. */
  readonly withheld?: readonly Capability[]
  /** What the first line of a script names. */
  readonly interpreter?: string | undefined
}

/** Whether the kernel could not do what was asked, so that another plan may work. Nothing was started. */
export const isKernelRefusal = (error: unknown): error is LaunchError =>
  error instanceof LaunchError && KERNEL_STEPS.includes(error.step)

const KERNEL_STEPS = [
  'namespaces',
  'id-map',
  'stage',
  'private',
  'proc',
  'devpts',
  'pivot',
  'landlock',
  'seccomp',
]

/** Why, as far as that is known, and what a person can do about it. */
function adviceFor(step: string, errno: string): string {
  switch (step) {
    case 'cwd':
      return ': the working directory may not be entered\n  fix: start in another one'
    case 'close-fds':
      if (errno === 'EISDIR')
        return ': its standard input, output or error is a directory, from which every rule could be walked around\n  fix: give it a file or a pipe'
      if (errno === 'EAFNOSUPPORT')
        return ': its standard input, output or error is a socket of the host, through which it would have the host’s network\n  fix: put a pipe between, with `cat |` before the command or `| cat` after it'
      return SEE_DOCTOR
    case 'bind':
    case 'cover':
    case 'secrets':
    case 'pin-link':
    case 'landlock-rule':
      if (errno === 'ENOSPC')
        return ': rules and guarded paths need more mounts than the kernel permits (sysctl fs.mount-max)\n  fix: take some away; `cordon policy explain` lists them'
      if (errno === 'EACCES')
        return ': a directory on that path is closed to its owner\n  fix: open it (chmod u+rwx)'
      return errno === 'ELOOP'
        ? ': a link appeared on that path after it was checked\n  fix: try again'
        : ': the path changed after it was checked, or may not be entered\n  fix: try again'
    case 'namespaces':
    case 'id-map':
    case 'stage':
    case 'proc':
    case 'devpts':
    case 'pivot':
      return `: the kernel refuses namespaces to this user${SEE_DOCTOR}`
    default:
      return SEE_DOCTOR
  }
}

const SEE_DOCTOR = '\n  fix: see `cordon doctor`'

function whyNotStarted({ errno, withheld = [], interpreter }: FailedStep): string {
  const its = interpreter === undefined ? undefined : `its interpreter ${show(interpreter)}`
  switch (errno) {
    case 'E2BIG':
      return 'the command line and the environment are too long'
    case 'ENOEXEC':
      return 'it is neither a program nor a script with a #! line: name its interpreter'
    case 'EACCES':
      return whyNotExecuted(withheld, its)
    default:
      // Of a script that is there inside, the interpreter is known.
      return its === undefined && withheld.includes('read')
        ? `no rule grants ${withheld.join(' and ')} there, so it is not there inside the sandbox`
        : `${its ?? 'the program or its interpreter'} is not there inside the sandbox`
  }
}

function whyNotExecuted(withheld: readonly Capability[], its: string | undefined): string {
  if (withheld.length === 0)
    return its === undefined ? 'the file is not executable' : `it, or ${its}, may not be executed`
  const needs = withheld.includes('execute') ? '' : ', which the kernel needs to start a program'
  return `no rule grants ${withheld.join(' and ')} there${needs}, or the file is not executable`
}
