import { constants } from 'node:os'
import { CordonError, show } from '@cordon/policy'
import { type Item } from './linux/items.ts'

/** One line of the launcher's report (launcher/src/report.h). */
export type Status =
  | { readonly kind: 'failed'; readonly step: string; readonly item: number; readonly errno: string }
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  | { readonly kind: 'usage'; readonly peakBytes: number; readonly tmpFull: boolean }

export function parseStatus(line: string): Status | undefined {
  const failed = /^failed ([a-z-]+) item=(-?\d+) errno=(\d+)$/.exec(line)
  if (failed)
    return { kind: 'failed', step: failed[1]!, item: Number(failed[2]), errno: errnoName(Number(failed[3])) }
  const code = /^exit code=(\d+)$/.exec(line)
  if (code) return { kind: 'exit', code: Number(code[1]) }
  const signal = /^exit signal=(\d+)$/.exec(line)
  if (signal) return { kind: 'signal', signal: signalName(Number(signal[1])) }
  const usage = /^usage peak_kib=(\d+) tmp_full=([01])$/.exec(line)
  if (usage) return { kind: 'usage', peakBytes: Number(usage[1]) * 1024, tmpFull: usage[2] === '1' }
  return undefined
}

export const errnoName = (errno: number): string =>
  Object.entries(constants.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`

const signalName = (signal: number): NodeJS.Signals =>
  (Object.entries(constants.signals).find(([, value]) => value === signal)?.[0] ??
    `SIG${signal}`) as NodeJS.Signals

/** The sandbox could not be built, so the program was not started (SPEC 4.3). */
export class LaunchError extends CordonError {
  readonly code = 'LAUNCH_FAILED'
  readonly step: string
  readonly errno: string
  readonly item: Item | undefined
  constructor(failed: { readonly step: string; readonly errno: string; readonly item: Item | undefined }) {
    const { step, errno, item } = failed
    const what = item && 'path' in item ? ` ${show(item.path)}` : ''
    super(
      `the sandbox could not be built, so nothing was started: ${step}${what}: ${errno}. ${adviceFor(step, errno)}`,
    )
    this.step = step
    this.errno = errno
    this.item = item
  }
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

function adviceFor(step: string, errno: string): string {
  switch (step) {
    case 'exec':
      if (errno === 'E2BIG') return 'The command line and the environment are too long.'
      if (errno === 'ENOEXEC')
        return 'It is neither a program nor a script with a #! line: name its interpreter.'
      return errno === 'EACCES'
        ? 'No rule grants execute there, or the file is not executable.'
        : 'The program or its interpreter is not there inside the sandbox.'
    case 'cwd':
      return 'The working directory is not granted: start in a directory that a rule covers.'
    case 'close-fds':
      return errno === 'EISDIR'
        ? 'Its standard input, output or error is a directory, from which every rule could be walked around: give it a file or a pipe.'
        : 'See `cordon doctor`.'
    case 'bind':
    case 'cover':
    case 'secrets':
    case 'pin-link':
    case 'landlock-rule':
      return errno === 'ELOOP'
        ? 'A link appeared on that path after it was checked: try again.'
        : 'The path changed after it was checked, or may not be entered: try again.'
    case 'namespaces':
    case 'id-map':
    case 'stage':
    case 'proc':
    case 'devpts':
    case 'pivot':
      return 'The kernel refuses namespaces to this user: see `cordon doctor`.'
    default:
      return 'See `cordon doctor`.'
  }
}
