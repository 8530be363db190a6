// Takes the lock, says so, and holds it until it is killed or its standard input ends.
import { acquireLock } from '@cordon/workspace'

const [file = ''] = process.argv.slice(2)
const holder = { pid: process.pid, command: 'cordon hold' }
const lock = await acquireLock(file, { what: 'the thing', holder, wait: 10_000 })
process.stdout.write('held\n')
process.stdin.on('end', () => lock.release()).resume()
