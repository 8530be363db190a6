import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CordonError } from '@cordon/policy'
import { type LauncherState } from './kernel.ts'

/** Nothing can be confined without the launcher. */
export class LauncherMissingError extends CordonError {
  readonly code = 'LAUNCHER_MISSING'
  constructor({ why, fix }: Extract<LauncherState, { state: 'missing' }>) {
    super(`cannot confine a process: ${why}\n  fix: ${fix}`)
  }
}

/** Beside this package's sources, beside a bundle, and in this repository seen from the bundle of the CLI. */
const BUILT = ['../launcher/build/cordon-launch', '../../sandbox/launcher/build/cordon-launch']

const builtPlaces = (): readonly string[] => BUILT.map((path) => join(dirname(import.meta.filename), path))

/** Where the launcher is: as the caller says, as the package's install step built it, or nowhere. */
export function findLauncher(places: readonly string[] = builtPlaces()): LauncherState {
  if (process.platform !== 'linux')
    return {
      state: 'missing',
      why: 'the launcher is for Linux',
      fix: 'on macOS sandbox-exec is used instead',
    }
  const path = places.find((each) => existsSync(each))
  if (path !== undefined) return { state: 'ready', path }
  return {
    state: 'missing',
    why: 'its launcher was not built when the package was installed',
    fix: 'install a C compiler (`apt install gcc libc6-dev` or the like) and run `npm rebuild @cordon/sandbox`',
  }
}
