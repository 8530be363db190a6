import { dirname } from 'node:path'
import { below } from '@cordon/policy'
import { entryOf, packageOf } from './identity.ts'

interface RuntimePlace {
  readonly root: string
  readonly home: string
}

/**
 * What an interpreter is told to run has to be visible, wherever it lies: with its package, or with the siblings that it was
 * installed with. Never a home, nor anything above one or above the workspace (decision 0234).
 */
export function runtimeOf(entry: string | undefined, { root, home }: RuntimePlace): readonly string[] {
  if (entry === undefined || below(root, entry) !== undefined) return []
  const modules = entry.indexOf('/node_modules/')
  const dir = modules > 0 ? entry.slice(0, modules + '/node_modules'.length) : packageOf(entry)?.dir
  const isWhole =
    dir !== undefined &&
    ![home, root].some((place) => below(dir, place) !== undefined) &&
    dirname(dir) !== '/'
  return [isWhole ? dir : entry]
}

/** The same for a command line that is no configured server: `cordon mcp wrap` starts what the gateway starts. */
export const runtimeOfCommand = (
  argv: readonly [string, ...string[]],
  cwd: string,
  place: RuntimePlace,
): readonly string[] => runtimeOf(entryOf(argv, cwd), place)
