import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** As long as it takes: what never comes is ended by the test's own limit. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(20)
}

/** The processes whose command line has this in it; its words are separated by zero bytes. */
export const processesWith = (words: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(words)
    } catch {
      return false // it has ended meanwhile
    }
  })
