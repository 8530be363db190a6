import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { isRunning, statFields, thisProcess } from '../src/processes.ts'

const named = (pid: number): string => thisProcess().replace(/-\d+-\d+$/, `-${pid}-${statFields(pid)[19]}`)

test('a process that has ended is not running, also where nobody waits for it', async () => {
  expect(isRunning(thisProcess())).toBe(true)
  const careless = spawn('sh', ['-c', '(read go < /dev/stdin) & echo $!; exec sleep 60'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [text] = (await once(careless.stdout, 'data')) as [Buffer]
  const pid = Number(text.toString())
  const name = named(pid)
  process.kill(pid, 'SIGKILL')
  while (statFields(pid)[0] !== 'Z') await new Promise((resolve) => setTimeout(resolve, 5))
  expect(named(pid)).toBe(name)
  expect(isRunning(name)).toBe(false)
  careless.kill()
})
