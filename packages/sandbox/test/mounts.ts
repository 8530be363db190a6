import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** The mounts that this process sees; of those that tests make, only what lies below `own`: others run at the same time. */
export const mountsSeen = (own: string): string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => {
      const at = line.split(' ')[4] ?? ''
      return !at.startsWith(`${tmpdir()}/`) || at.startsWith(`${own}/`)
    })
