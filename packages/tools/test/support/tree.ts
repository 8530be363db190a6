import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Everything below a directory, each entry in one line. The times of directories are left out: a temporary file changes them. */
export type Tree = ReadonlyMap<string, string>

export function treeOf(top: string): Tree {
  const tree = new Map<string, string>()
  const walk = (below: string): void => {
    for (const name of readdirSync(join(top, below))) {
      const path = join(below, name)
      const stat = lstatSync(join(top, path), { bigint: true })
      const mode = (stat.mode & 0o7777n).toString(8)
      if (stat.isDirectory()) {
        tree.set(path, `directory ${mode}`)
        walk(path)
      } else if (stat.isSymbolicLink()) tree.set(path, `link ${readlinkSync(join(top, path))}`)
      else tree.set(path, `file ${mode} ${stat.mtimeNs} ${readFileSync(join(top, path), 'latin1')}`)
    }
  }
  walk('')
  return tree
}

/** `+path`, `-path` and `~path`, in order. */
export function changes(before: Tree, after: Tree): string[] {
  const all = [...new Set([...before.keys(), ...after.keys()])].sort()
  return all.flatMap((path) => {
    if (!before.has(path)) return [`+${path}`]
    if (!after.has(path)) return [`-${path}`]
    return before.get(path) === after.get(path) ? [] : [`~${path}`]
  })
}
