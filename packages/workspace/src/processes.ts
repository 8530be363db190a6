import { readFileSync, readlinkSync } from 'node:fs'

/** A name of this process that no other one ever has: pids are used again, and each namespace has its own. */
export const thisProcess = (): string => (known ??= nameOf(process.pid) ?? `unknown-${process.pid}`)

let known: string | undefined

/**
 * Whether the process of that name is running. One of another pid namespace, or of before the last boot, is not found. One that has
 * ended, and that nobody has waited for, is not running.
 */
export function isRunning(name: string): boolean {
  const pid = Number(PID.exec(name)?.[1])
  return nameOf(pid) === name && !isDead(pid)
}

function isDead(pid: number): boolean {
  try {
    return /[ZX]/.test(statFields(pid)[0] ?? 'X')
  } catch {
    return true
  }
}

const PID = /-(\d+)-\d+$/

function nameOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)
    const namespace = readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '')
    return `${boot}-${namespace}-${pid}-${startOf(pid)}`
  } catch {
    return undefined // it has ended, or there is no procfs
  }
}

export const startOf = (pid: number): string => statFields(pid)[19] ?? ''

/** What follows the name in parentheses: state, parent, group, session, terminal, group in front … as the 20th the start. */
export const statFields = (pid: number): string[] => fieldsOfStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))

/** The same, of what was read from such a file. */
export const fieldsOfStat = (stat: string): string[] => stat.slice(stat.lastIndexOf(')') + 2).split(' ')
