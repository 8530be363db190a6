import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Workspace } from './workspace.ts'

const isRoot = process.getuid?.() === 0
const unshare = ['unshare', ...(isRoot ? ['-m'] : ['-r', '-m'])]
/** Root in a container often may not. */
export const canMount =
  spawnSync(unshare[0]!, [...unshare.slice(1), 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0

export interface Call {
  readonly tool: string
  readonly args: object
  readonly access?: object
}

/** In a mount namespace of its own, after the shell commands, in which `$0` is the workspace. */
export function callMounted(
  workspace: Workspace,
  script: string,
  calls: readonly Call[],
  user: readonly string[] = [],
): unknown {
  const child = join(import.meta.dirname, '../children/calls.ts')
  const node = [...user, process.execPath, '--conditions=cordon-source', '--no-warnings', child]
  const [program = '', ...args] = [...unshare, 'sh', '-ec', `${script}; exec "$@"`, workspace.root, ...node]
  const input = JSON.stringify({ root: workspace.base, calls })
  return JSON.parse(execFileSync(program, args, { input, encoding: 'utf8' }))
}
