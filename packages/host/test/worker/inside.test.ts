import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setImmediate as turn, setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { Inside } from '../../src/worker/inside.ts'

/** Three shells, as launcher, pid 1 and worker; the last has a program that goes on, so it never counts as stopped. */
async function neverStill(): Promise<Inside> {
  const shell = (command: string): string => `sh -c '${command.replaceAll("'", `'\\''`)}'; true`
  const { pid } = spawn('sh', ['-c', shell(shell('sleep 60 & sleep 60; true'))], {
    detached: true,
    stdio: 'ignore',
  })
  onTestFinished(() => void process.kill(-pid!, 'SIGKILL'))
  for (;;) {
    const [init] = childrenOf(pid!)
    const [worker] = init === undefined ? [] : childrenOf(init)
    const inside = worker !== undefined && childrenOf(worker).length === 2 ? Inside.find(pid!) : undefined
    if (inside) return inside
    await setTimeout(5)
  }
}

const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

/** More than it takes until it pauses, and fewer than its short pauses last. */
const FEW = 40
const MANY = 20_000

/** Whether a thread of the pool is at work for us within so many turns: of turns, because a busy machine has its own time. */
async function usesPool(turns: number): Promise<boolean> {
  for (; turns > 0; turns--) {
    if (process.getActiveResourcesInfo().includes('FSReqCallback')) return true
    await turn()
  }
  return false
}

test('decision 0572: who is to stop is looked for in short pauses only where somebody waits', async () => {
  const inside = await neverStill()
  const stopping = inside.stop()
  expect(await usesPool(FEW)).toBe(false)
  inside.hurry()
  expect(await usesPool(MANY)).toBe(true)
  inside.close()
  expect(await stopping).toBe(false)
})

test('decision 0572: also where somebody waited before it was told to stop', async () => {
  const inside = await neverStill()
  inside.hurry()
  const stopping = inside.stop()
  expect(await usesPool(MANY)).toBe(true)
  inside.close()
  expect(await stopping).toBe(false)
})
