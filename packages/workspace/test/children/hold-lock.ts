// Takes the lock, says so, and holds it until it is killed or its standard input ends. With `child` it also starts a
// program that outlives it, and says its pid.
import { spawn } from 'node:child_process'
import { acquireLock } from '@cordon/workspace'

const [file = '', extra = ''] = process.argv.slice(2)
const holder = { pid: process.pid, command: 'cordon hold' }
const lock = await acquireLock(file, { what: 'the thing', holder, wait: 10_000 })
const child = extra === 'child' ? spawn('sleep', ['600'], { stdio: 'ignore', detached: true }) : undefined
process.stdout.write(`held${child ? ` ${child.pid}` : ''}\n`)
process.stdin.on('end', () => lock.release()).resume()
