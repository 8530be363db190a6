import { CordonError, DeniedError, FsAccessError } from '@cordon/policy'
import { EXIT } from './exit.ts'
import type { World } from './world.ts'

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

/** Nothing was wrong with what was typed. By code, because the modules that throw them are loaded only when needed. */
const FAILURES: ReadonlySet<string> = new Set([
  'ATTACH_FAILED',
  'BLOB_PUT',
  'BLOB_READ',
  'CONVERSATION_APPEND',
  'LAUNCHER_MISSING',
  'LAUNCH_FAILED',
  'LOCK_HELD',
])

/** What a person should know, and what does not stop anything. */
export function warn({ err }: World, warnings: readonly string[]): void {
  for (const warning of warnings) err.write(`${err.style('yellow', 'warning:')} ${warning}\n`)
}
