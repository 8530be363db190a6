import { dirname } from 'node:path'
import { below } from '@cordon/policy'
import { entryOf, packageOf } from './identity.ts'

interface RuntimePlace {
  readonly root: string
  readonly home: string
}

/** What an interpreter is told to run has to be visible, wherever it lies, with what it was installed with. */
export const runtimeOf = (entry: string | undefined, place: RuntimePlace): readonly string[] =>
  entry === undefined || below(place.root, entry) !== undefined ? [] : [installationOf(entry, place)]

/**
 * A file of code with its package, or with the siblings that it was installed with. Never a home, nor anything above one or
 * above the workspace: then it is the file alone (decision 0234).
 */
export function installationOf(file: string, { root, home }: RuntimePlace): string {
  const modules = file.indexOf('/node_modules/')
  const dir = modules > 0 ? file.slice(0, modules + '/node_modules'.length) : packageOf(file)?.dir
  const isWhole =
    dir !== undefined &&
    ![home, root].some((place) => below(dir, place) !== undefined) &&
    dirname(dir) !== '/'
  return isWhole ? dir : file
}

/** The same for a command line that is no configured server: `cordon mcp wrap` starts what the gateway starts. */
export const runtimeOfCommand = (
  argv: readonly [string, ...string[]],
  cwd: string,
  place: RuntimePlace,
): readonly string[] => runtimeOf(entryOf(argv, cwd), place)
