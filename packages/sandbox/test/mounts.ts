import { readFileSync } from 'node:fs'

/** The mounts that a process sees; of those that tests make, only what lies below `own`: others run at the same time. */
export const mountsSeen = (own: string, pid: number | 'self' = 'self'): string[] =>
  readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
    .split('\n')
    .filter((line) => {
      const at = line.split(' ')[4] ?? ''
      return !at.includes('/cordon-tests-') || at.startsWith(`${own}/`)
    })
