// Adds one to a number in a file, many times, under the lock: any overlap loses a count.
import { readFileSync, writeFileSync } from 'node:fs'
import { withLock } from '@cordon/workspace'

const [lock = '', file = '', times = ''] = process.argv.slice(2)
const options = { what: 'the counter', holder: { pid: process.pid, command: 'count' }, wait: 60_000 }
for (let i = 0; i < Number(times); i++)
  await withLock(lock, options, () => writeFileSync(file, String(Number(readFileSync(file, 'utf8')) + 1)))
