import { join, posix } from 'node:path'
import { below, CordonError, parseRelPath, type Root, ROOT } from '@cordon/policy'
import { Looks, realName } from '../real-name.ts'
import type { PathNames } from './run-mode.ts'
import { touchedBy } from './touched.ts'

/**
 * What a call of a shipped tool touches, by the names that rules have for it: as it was written, without `./` and the like, and
 * where its links lead. Undefined: that cannot be said of all of it. With the person's authority: it decides whether they are asked.
 */
export function callPaths(
  tool: string,
  args: unknown,
  root: Root,
  places: readonly { readonly path: string; readonly shown: string }[],
): readonly PathNames[] | undefined {
  const looks = new Looks()
  try {
    const paths = touchedBy(tool, args).map(({ path }): PathNames | undefined => {
      const written = parseRelPath(path)
      const real = realName(join(root.path, written), looks)
      if (real === undefined) return undefined
      const tops = [{ path: root.path as string, shown: ROOT as string }, ...places]
      const names = tops.flatMap((top) => {
        const inside = below(top.path, real)
        return inside === undefined ? [] : [posix.join(top.shown, inside)]
      })
      return [...new Set([written, ...names])]
    })
    return paths.every((names) => names !== undefined) ? paths : undefined
  } catch (error) {
    if (error instanceof CordonError) return undefined // the call will say what is wrong with it
    throw error
  }
}
