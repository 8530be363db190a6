// Adds one to a number in a file, many times, under the lock: any overlap loses a count. With `delete` it removes
// the lock file each time while it holds it, as removing a conversation does.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { withLock } from '@cordon/workspace'

const [lock = '', file = '', times = '', afterwards = ''] = process.argv.slice(2)
const options = { what: 'the counter', holder: { pid: process.pid, command: 'count' }, wait: 600_000 }
for (let i = 0; i < Number(times); i++)
  await withLock(lock, options, () => {
    writeFileSync(file, String(Number(readFileSync(file, 'utf8')) + 1))
    if (afterwards === 'delete') rmSync(lock)
  })
