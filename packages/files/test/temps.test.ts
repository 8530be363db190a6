import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '@cordon/policy'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isTempName } from '../src/index.ts'
import { IMPLEMENTATIONS, makePlace, rel } from './place.ts'

const { open } = IMPLEMENTATIONS[0]

interface End {
  readonly code: number | null
  readonly signal: string | null
}

function start(scene: string, inside: string): { child: ChildProcess; end: Promise<End> } {
  const actor = join(import.meta.dirname, 'children/actor.ts')
  const args = ['--conditions=cordon-source', actor, scene, inside]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const end = new Promise<End>((done) => child.once('close', (code, signal) => done({ code, signal })))
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, end }
}

const ready = (child: ChildProcess): Promise<unknown> =>
  new Promise((done) => child.stdout!.once('data', done))

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s removes the half-written file and still kills',
  async (signal) => {
    const { inside } = makePlace()
    const { child, end } = start('stall', inside)
    await ready(child)
    expect(readdirSync(inside).map(isTempName)).toEqual([true])
    child.kill(signal)
    expect(await end).toEqual({ code: null, signal })
    expect(readdirSync(inside)).toEqual([])
  },
)

test('process.exit in the middle of a write leaves nothing', async () => {
  const { inside } = makePlace()
  expect(await start('exit', inside).end).toEqual({ code: 0, signal: null })
  expect(readdirSync(inside)).toEqual([])
})

test('a signal that the program handles does not disturb the write', async () => {
  const { inside } = makePlace()
  const { child, end } = start('handled', inside)
  await ready(child)
  child.kill('SIGINT')
  expect(await end).toEqual({ code: 0, signal: null })
  expect(readdirSync(inside)).toEqual(['f'])
  expect(readFileSync(join(inside, 'f'), 'utf8')).toBe('whole')
})

test('SPEC 6.4 what a killed writer left goes with the next write; what a living one writes stays', async () => {
  const { inside } = makePlace()
  const dead = start('stall', inside)
  const living = start('stall', inside)
  await Promise.all([ready(dead.child), ready(living.child)])
  dead.child.kill('SIGKILL')
  await dead.end
  expect(readdirSync(inside).map(isTempName)).toEqual([true, true])
  const anchor = open(inside)
  anchor.writeFile(rel('f'), 'x')
  expect(readdirSync(inside).filter(isTempName)).toEqual([
    expect.stringContaining(`-${String(living.child.pid)}-`),
  ])
  anchor.close()
})

test('killed at random moments: every file is whole, and the next write cleans up', async () => {
  const { inside } = makePlace()
  let left = 0
  // Until a kill has hit a write: that is what this is about.
  for (let round = 0; round < 8 || (left === 0 && round < 200); round++) {
    const { child, end } = start('busy', inside)
    await ready(child)
    await new Promise((done) => setTimeout(done, Math.random() * 30))
    child.kill('SIGKILL')
    await end
    for (const name of readdirSync(inside)) {
      if (isTempName(name)) left++
      else expect(readFileSync(join(inside, name), 'latin1'), name).toMatch(/^(\d)\1{65535}$/)
    }
    const anchor = open(inside)
    anchor.writeFile(rel('next'), Buffer.alloc(65536, '0'))
    if (readdirSync(inside).includes('h')) anchor.unlink(rel('h'))
    anchor.close()
    expect(readdirSync(inside).filter(isTempName)).toEqual([])
  }
  expect(left).toBeGreaterThan(0) // or no kill hit a write
})

test('a writer in another pid namespace goes by silence, because its pid proves nothing', async () => {
  const { inside } = makePlace()
  const strange = '.cordon-tmp-0123456789abcdef-1-1-0123456789abcdef'
  const names = [strange, '.cordon-tmp-', '.cordon-tmp-other', 'user-file']
  for (const name of names) writeFileSync(join(inside, name), '')
  symlinkSync('user-file', join(inside, '.cordon-tmp-link'))
  mkdirSync(join(inside, '.cordon-tmp-directory'))
  const anchor = open(inside)
  expect(anchor.sweepTemps(ROOT)).toBe(0)
  const hour = 60 * 60 * 1000
  vi.useFakeTimers({ now: Date.now() + hour - 60_000, toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  expect(anchor.sweepTemps(ROOT)).toBe(0)
  vi.setSystemTime(Date.now() + 2 * 60_000)
  expect(anchor.sweepTemps(ROOT)).toBe(3)
  expect(readdirSync(inside).sort()).toEqual(['.cordon-tmp-directory', '.cordon-tmp-link', 'user-file'])
  anchor.close()
})

test('a pid that was given to another process does not keep a dead writer alive', async () => {
  const { inside } = makePlace()
  const anchor = open(inside)
  const staged = anchor.stage(ROOT)
  const [mine = ''] = readdirSync(inside)
  const [, , machine, pid] = mine.split('-')
  const reused = `.cordon-tmp-${machine}-${pid}-1-0123456789abcdef`
  expect(pid).toBe(String(process.pid))
  writeFileSync(join(inside, reused), '')
  expect(anchor.sweepTemps(ROOT)).toBe(1)
  expect(readdirSync(inside)).toEqual([mine])
  await staged.abort()
  anchor.close()
})
