import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { LaunchError } from './status.ts'

/**
 * A cgroup in which we may make others, with the memory controller given to them: the parent of our own in a session of
 * systemd (decision 0144). Our own will not do: the kernel gives no controller to the children of one that has processes.
 */
export function findDelegatedCgroup(): string | undefined {
  const own = locateCgroup(textOf('/proc/self/cgroup'), textOf('/proc/self/mountinfo'))
  return own === undefined ? undefined : [own.dir, dirname(own.dir)].find((dir) => isOurs(dir, own.top))
}

/** Where the cgroup (v2) of a process lies, from what `/proc` says of it and of the mounts. */
export function locateCgroup(
  cgroups: string,
  mounts: string,
): { readonly dir: string; readonly top: string } | undefined {
  const path = /^0::(\/.*)$/m.exec(cgroups)?.[1]
  if (path === undefined) return undefined
  for (const line of mounts.split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    const [, , , root = '', top = ''] = before.split(' ')
    if (!after.startsWith('cgroup2 ')) continue
    const rest =
      root === '/' ? path : path === root || path.startsWith(`${root}/`) ? path.slice(root.length) : ''
    if (rest !== '' || path === root) return { dir: resolve(top, `.${rest}`), top }
  }
  return undefined
}

function isOurs(dir: string, top: string): boolean {
  if (dir !== top && !dir.startsWith(`${top}/`)) return false
  try {
    for (const path of [dir, join(dir, 'cgroup.procs')]) accessSync(path, constants.W_OK)
    return textOf(join(dir, 'cgroup.subtree_control')).split(/\s+/).includes('memory')
  } catch {
    return false
  }
}

/** What is written into a new cgroup. All in it is killed together: what is left would be half a program. */
export const memorySettings = (bytes: number): Readonly<Record<string, string>> => ({
  'memory.max': String(bytes),
  // Without it swap would be memory that nobody counts. Not there where the kernel has no swap.
  ...(existsSync('/proc/swaps') ? { 'memory.swap.max': '0' } : {}),
  'memory.oom.group': '1',
})

export interface Cgroup {
  readonly dir: string
  readonly join: (pid: number) => void
  /** Whether the kernel ended it for its memory. */
  readonly ranOut: () => boolean
  /** When everything in it has ended. What cannot be removed yet, the next one removes. */
  readonly close: () => void
}

let made = 0

/** A new cgroup below `parent`. Removes those of hosts that were killed. */
export function openCgroup(parent: string, settings: Readonly<Record<string, string>>): Cgroup {
  sweep(parent)
  const dir = join(parent, `${PREFIX}${process.pid}-${made++}`)
  attempt(() => mkdirSync(dir))
  try {
    for (const [name, value] of Object.entries(settings))
      attempt(() => writeFileSync(join(dir, name), value, { flag: 'r+' }))
  } catch (error) {
    remove(dir)
    throw error
  }
  return {
    dir,
    join: (pid) => attempt(() => writeFileSync(join(dir, 'cgroup.procs'), String(pid))),
    ranOut: () => /^oom_kill [1-9]/m.test(textOf(join(dir, 'memory.events'))),
    close: () => remove(dir),
  }
}

const PREFIX = 'cordon-'

/** Ours carry the number of the host that made them; while it lives it may be about to use them. */
function sweep(parent: string): void {
  for (const name of namesIn(parent)) {
    const host = new RegExp(`^${PREFIX}(\\d+)-\\d+$`).exec(name)?.[1]
    if (host !== undefined && Number(host) !== process.pid && !isAlive(Number(host)))
      remove(join(parent, name))
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function remove(dir: string): void {
  try {
    rmdirSync(dir)
  } catch {
    // somebody in it is still dying
  }
}

/** A limit that was promised and cannot be set: nothing starts. */
function attempt(act: () => void): void {
  try {
    act()
  } catch (error) {
    throw new LaunchError({
      step: 'cgroup',
      errno: (error as NodeJS.ErrnoException).code ?? String(error),
      item: undefined,
    })
  }
}

const namesIn = (dir: string): readonly string[] => {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
