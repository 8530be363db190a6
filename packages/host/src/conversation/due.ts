import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const DAY = 24 * 60 * 60 * 1000

/** True once a day: the file's time is the last one. When it cannot be written, it is not due: no harm in waiting. */
export function isDue(file: string, now: Date): boolean {
  const last = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (now.getTime() - last < DAY) return false
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, '')
    return true
  } catch {
    return false
  }
}
