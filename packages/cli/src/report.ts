import { CordonError, DeniedError, type ErrorCode, FsAccessError, jsonText } from '@cordon/policy'
import { wrapMessage } from './format/wrap.ts'
import type { World } from './world.ts'

/** What a script can rely on. Every command ends with one of these, or with the code of what it ran. */
export const EXIT = { ok: 0, denied: 1, usage: 2 } as const

/** SPEC 4.8: `cordon run` ends as its command does, and with one of these when there was none, as a shell or env(1) would (decision 0122). */
export const RUN_EXIT = { failed: 125, notExecutable: 126, notFound: 127 } as const

/** The command line itself makes no sense, or misses something that only a person can say. */
export class UsageError extends CordonError {
  readonly code = 'USAGE'
}

/** The one place where an error becomes text and an exit code. */
export function reportError(world: World, error: unknown): number {
  const { err } = world
  const prefix = err.style('red', 'cordon:')
  if (!(error instanceof CordonError)) {
    // Not one of ours: a bug. Say so with everything that helps to fix it, and still fail closed.
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
    err.write(`${prefix} unexpected error, please report it\n${detail}\n`)
    return EXIT.denied
  }
  err.write(`${prefix} ${error instanceof DeniedError ? error.explanation : error.message}\n`)
  const isFailure = FAILURES.has(error.code) || (error instanceof FsAccessError && error.fault === 'target')
  return isFailure ? EXIT.denied : EXIT.usage
}

/** SPEC 4.8: of `cordon run`, whose exit code is its command's as soon as there is one. */
export function reportRunError(world: World, error: unknown): number {
  reportError(world, error)
  if (!(error instanceof CordonError)) return RUN_EXIT.failed
  const { code } = error
  if (code === 'PROGRAM_NOT_FOUND') return RUN_EXIT.notFound
  if (code === 'NOT_EXECUTABLE') return RUN_EXIT.notExecutable
  const isExec = code === 'LAUNCH_FAILED' && 'step' in error && error.step === 'exec'
  if (!isExec) return RUN_EXIT.failed
  return 'errno' in error && error.errno === 'ENOENT' ? RUN_EXIT.notFound : RUN_EXIT.notExecutable
}

/** Errors for which nothing was wrong with the command line. Told by their codes, because the modules that throw them are loaded only when needed. */
const FAILURES: ReadonlySet<ErrorCode> = new Set([
  'ANSWER_SCHEMA',
  'ATTACH_FAILED',
  'AUDIT_BROKEN',
  'BLOB_PUT',
  'BLOB_READ',
  'CLIENT_FILE',
  'CONTEXT_FULL',
  'CONVERSATION_APPEND',
  'DATABASE',
  'IMPORTS',
  'INSTALL',
  'LAUNCHER_MISSING',
  'LAUNCH_FAILED',
  'LISTEN',
  'LOCK_HELD',
  'MODEL_FAILED',
  'PRIVATE_FILE',
])

/** What a person should know, and what does not stop anything. */
export function warn({ err }: World, warnings: readonly string[]): void {
  const said = SAID.get(err) ?? new Set()
  SAID.set(err, said)
  for (const warning of warnings) {
    if (said.has(warning)) continue
    said.add(warning)
    const lines = `${err.style('yellow', 'warning:')} ${warning}`.split('\n')
    const shown = wrapMessage(lines, { indent: '  ', columns: err.columns })
    err.write(shown.map((line) => `${line}\n`).join(''))
  }
}

/** The same warning is printed once, also when several parts of a command give it. */
const SAID = new WeakMap<World['err'], Set<string>>()

/** What `--json` prints: one value, nothing around it. */
export const writeJson = ({ out }: World, value: unknown): void => out.write(`${jsonText(value, 2)}\n`)
