import { readlinkSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { lookAt, MOST_HOPS } from '@cordon/policy'

/** A name that has to stay what it is, or a guarded path would lead elsewhere. Its parents are no links. */
export interface Step {
  readonly path: string
  readonly is: 'dir' | 'file' | 'link' | 'missing'
}

/**
 * Every link on the way from a real directory to a name below it, and last what the name stands for. What is not there is put
 * into `absent`, and what is in there is not looked at again: for who asks for many names at once, several in one directory.
 * The directories that are gone into and out of again (`a/../b`) are put into `passed`: a link in the place of one leads elsewhere.
 * Throws `ClosedError` where it cannot be known.
 */
export const trailOf = (
  dir: string,
  name: string,
  absent?: Set<string>,
  passed?: Set<string>,
): readonly Step[] => walk(dir, name.split('/'), { left: MOST_HOPS, absent, passed })

interface Looking {
  left: number
  readonly absent: Set<string> | undefined
  readonly passed: Set<string> | undefined
}

function walk(dir: string, names: readonly string[], links: Looking): readonly Step[] {
  const steps: Step[] = []
  let at = dir
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!
    if (name === '' || name === '.') continue
    if (name === '..') links.passed?.add(at)
    const path = name === '..' ? dirname(at) : entryOf(at, name)
    const missing = (from: string): readonly Step[] => {
      const rest = names.slice(i + 1)
      const end = rest.includes('..') ? resolve(from, ...rest) : rest.filter(isName).reduce(entryOf, from)
      return [...steps, { path: end, is: 'missing' }]
    }
    const stats = name === '..' || links.absent?.has(path) ? undefined : lookAt(path)
    if (name !== '..' && !stats) {
      links.absent?.add(path)
      return missing(path)
    }
    const isLast = i === names.length - 1
    if (stats?.isSymbolicLink()) {
      if (links.left-- === 0) return steps
      const target = targetOf(path)
      if (target === undefined) {
        i-- // no link any more: it is looked at again
        continue
      }
      const way = walk(target.startsWith('/') ? '/' : dirname(path), target.split('/'), links)
      const end = way.at(-1)
      if (!end) return [...steps, { path, is: 'link' }]
      steps.push({ path, is: 'link' }, ...way.slice(0, -1))
      if (isLast) return [...steps, end]
      if (end.is !== 'dir') return missing(end.path)
      at = end.path
    } else {
      if (!isLast && stats && !stats.isDirectory()) return missing(path)
      if (isLast) return [...steps, { path, is: !stats || stats.isDirectory() ? 'dir' : 'file' }]
      at = path
    }
  }
  return [...steps, { path: at, is: 'dir' }]
}

/** Undefined where somebody has put something else in the link's place since. */
function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link)
  } catch (error) {
    if (['EINVAL', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

const isName = (name: string): boolean => name !== '' && name !== '.'

/** Where a name in a directory is: what `join` says of one that needs no tidying, without its look at each character (decision 0490). */
export const entryOf = (dir: string, name: string): string => (dir === '/' ? `/${name}` : `${dir}/${name}`)
