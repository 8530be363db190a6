// A host at a terminal: runs a shell command confined, on its own streams, and says how it ended.
import { readFileSync } from 'node:fs'
import { start, type World } from './confine.ts'

interface Orders {
  readonly world: World
  readonly shell: string
  readonly launcher: string
}

const { world, shell, launcher } = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Orders
// As `cordon run` does: the terminal's signals go to the program; the host waits for it to end.
process.on('SIGINT', () => {})
const confined = start({
  who: { name: 'self' },
  world,
  script: shell,
  env: { TERM: 'dumb' },
  spawn: { stdio: ['inherit', 'inherit', 'inherit'], launcher: { state: 'ready', path: launcher } },
})
const { code, signal } = await confined.exit
process.stdout.write(`${JSON.stringify({ code, signal })}\n`)
