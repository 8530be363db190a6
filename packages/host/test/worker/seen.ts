import { readdirSync, readFileSync } from 'node:fs'
import type { ToolOutcome } from '../../src/execute/execute.ts'

/**
 * The launchers that this process has started and that are there. By the parent that each process names: a list of children
 * may miss one while a sibling of it ends.
 */
export function launchers(of = process.pid): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === of)
    .map(Number)
    .filter((pid) => commandOf(pid).startsWith('cordon-launch'))
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ', 2)[1])
  } catch {
    return undefined // it has ended
  }
}

/** Everything that lives below a process, itself included. */
export const family = (pid: number): readonly number[] => [
  pid,
  ...children(pid, String(pid)).flatMap((child) => family(child)),
]

function children(pid: number, thread: string): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')
      .split(' ')
      .filter(Boolean)
      .map(Number)
  } catch {
    return []
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

/** What a tool said, in one text. */
export const textOf = ({ reply }: Pick<ToolOutcome, 'reply'>): string =>
  reply.type === 'error'
    ? reply.message
    : reply.content.map((block) => (block.type === 'text' ? block.text : block.resource.text)).join('\n')
