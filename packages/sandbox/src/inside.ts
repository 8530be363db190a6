import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { parseStatus } from './status.ts'

/**
 * SPEC 4.10, decision 0136: denied paths are looked for after everything inside has ended. With a launcher that is killed pid 1 of
 * the sandbox is killed as well, and with that all others, but not at once: who is still at work could make again what was moved aside.
 */
export async function insideEnded(report: string): Promise<void> {
  const inside = report
    .split('\n')
    .map(parseStatus)
    .find((status) => status?.kind === 'inside')
  if (!inside) return
  for (let waited = 0; isAtWork(inside.pid) && waited < LONGEST_MS; waited += STEP_MS)
    await new Promise((resolve) => setTimeout(resolve, STEP_MS)) // what Node has for it would be loaded at every start
}

const STEP_MS = 2

/** A process that was killed ends, unless the kernel itself hangs, or its number is somebody else's by now. */
const LONGEST_MS = 10_000

/** Pid 1 of a namespace is dead only after all the others in it; whether anybody has waited for it does not matter. */
function isAtWork(pid: number): boolean {
  try {
    process.kill(pid, 0)
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return !/[ZX]/.test(stat.charAt(stat.lastIndexOf(')') + 2))
  } catch {
    return false
  }
}

/**
 * The same after a host was killed: who finishes its job waits until no sandbox of this user is left whose host has ended. Whose they
 * were nobody knows any more. Another program's namespace may look the same: so it is waited for a while, and not for ever.
 */
export function orphansEnded(): void {
  for (let waited = 0; hasOrphans() && waited < LONGEST_FOR_ORPHANS_MS; waited += STEP_MS)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STEP_MS)
}

const LONGEST_FOR_ORPHANS_MS = 2000

const LAUNCHER = 'cordon-launch'

/** Pid 1 of a sandbox has the launcher as its parent, and that its host, which is Node: until one of them has ended. */
function hasOrphans(): boolean {
  const all = new Map(readdirSync('/proc').flatMap(processOf))
  return [...all.values()].some(({ isFirstInside, parent }) => {
    const launcher = all.get(parent)
    return isFirstInside && !(launcher?.name === LAUNCHER && isNode(launcher.parent))
  })
}

interface Process {
  readonly name: string
  readonly parent: number
  /** Pid 1 of a namespace right below ours. */
  readonly isFirstInside: boolean
}

/** Of this user, and still at work. */
function processOf(name: string): readonly (readonly [number, Process])[] {
  try {
    const status = /^\d+$/.test(name) ? readFileSync(`/proc/${name}/status`, 'utf8') : ''
    const field = (key: string): readonly string[] =>
      new RegExp(`^${key}:\\s+(.*)$`, 'm').exec(status)?.[1]?.split(/\s+/) ?? []
    if (Number(field('Uid')[0]) !== process.getuid?.() || /[ZX]/.test(field('State')[0] ?? 'X')) return []
    const [, inside, ...deeper] = field('NSpid')
    const isFirstInside = inside === '1' && deeper.length === 0
    return [[Number(name), { name: field('Name')[0] ?? '', parent: Number(field('PPid')[0]), isFirstInside }]]
  } catch {
    return [] // it has ended
  }
}

function isNode(pid: number): boolean {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`)).startsWith('node')
  } catch {
    return false
  }
}
