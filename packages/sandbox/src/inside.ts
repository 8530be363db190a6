import { readFileSync } from 'node:fs'
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
