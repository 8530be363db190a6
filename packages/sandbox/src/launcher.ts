import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CordonError } from '@cordon/policy'
import { type LauncherState } from './kernel.ts'

/** Nothing can be confined without the launcher. */
export class LauncherMissingError extends CordonError {
  readonly code = 'LAUNCHER_MISSING'
  constructor({ why, fix }: Extract<LauncherState, { state: 'missing' }>) {
    super(`cannot confine a process: ${why}. ${fix}`)
  }
}

const BUILT = fileURLToPath(new URL('../launcher/build/cordon-launch', import.meta.url))

/** Where the launcher is: as the caller says, as the package's install step built it, or nowhere. */
export function findLauncher(path: string = BUILT): LauncherState {
  if (process.platform !== 'linux')
    return {
      state: 'missing',
      why: 'the launcher is for Linux',
      fix: 'On macOS sandbox-exec is used instead.',
    }
  if (existsSync(path)) return { state: 'ready', path }
  return {
    state: 'missing',
    why: 'its launcher was not built when the package was installed',
    fix: 'Install a C compiler (`apt install gcc libc6-dev` or the like) and run `npm rebuild @cordon/sandbox`.',
  }
}
