import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { recoverModifications, runTool } from '@cordon/tools'
import { parseContext } from '@cordon/policy'

const FILES = 200
const MAIN = join(import.meta.dirname, '../../src/main.ts')

export interface Tally {
  /** Killed, recovered, and all files were as before. */
  old: number
  /** Killed, recovered, and all files were as after. */
  new: number
  /** It was done before the signal came. */
  done: number
  /** How often the recovery had work to do. */
  recovered: number
}

/** Changes 200 files in ten directories, kills the run at random points, and looks what is there afterwards. */
export async function killModifications(root: string, rounds: number): Promise<Tally> {
  for (let i = 0; i < FILES; i++) {
    mkdirSync(join(root, `d${i % 10}`), { recursive: true })
    writeFileSync(join(root, path(i)), `generation 0\n${'x'.repeat(i * 10)}`)
  }
  const tally: Tally = { old: 0, new: 0, done: 0, recovered: 0 }
  let slowest = 0
  for (let round = 0, generation = 0; round < rounds; round++) {
    // The first one runs to its end, to learn how long that takes.
    const after = round === 0 ? Infinity : Math.random() * slowest * 1.1
    const started = performance.now()
    const killed = await runAndKill(callOf(root, generation, generation + 1), after)
    if (!killed) slowest = Math.max(slowest, performance.now() - started)
    const { completed } = await recoverModifications(parseContext(contextOf(root)))
    const now = generationOf(root)
    tally.recovered += completed > 0 ? 1 : 0
    if (now !== generation && now !== generation + 1)
      throw new Error(`generation ${now} instead of ${generation}`)
    tally[!killed ? 'done' : now === generation ? 'old' : 'new']++
    generation = now
  }
  // One more in peace: it cleans up after all of them.
  const last = generationOf(root)
  const result = await runTool('fs_modify_file', callOf(root, last, last + 1))
  if (result.type !== 'success' || generationOf(root) !== last + 1) throw new Error(JSON.stringify(result))
  const left = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.includes('.cordon'),
  )
  if (left.length > 0) throw new Error(`left behind: ${left.join(', ')}`)
  return tally
}

const path = (i: number): string => `d${i % 10}/f${i}`
const contextOf = (root: string): object => ({
  root,
  action: 'run',
  access: { fs: [{ path: '.', read: true, write: true }] },
})

function callOf(root: string, from: number, to: number): string {
  const edit = (i: number): object => ({
    path: path(i),
    old: `generation ${from}\n`,
    new: `generation ${to}\n`,
  })
  const edits = Array.from({ length: FILES }, (_, i) => edit(i))
  return JSON.stringify({ context: contextOf(root), tool: { name: 'fs_modify_file', arguments: { edits } } })
}

/** All files must say the same, and have kept the rest of their content. */
function generationOf(root: string): number {
  const seen = new Set<number>()
  for (let i = 0; i < FILES; i++) {
    const [, number, rest] = /^generation (\d+)\n(x*)$/.exec(readFileSync(join(root, path(i)), 'utf8')) ?? []
    if (rest?.length !== i * 10) throw new Error(`${path(i)} lost its content`)
    seen.add(Number(number))
  }
  const [only, ...others] = seen
  if (only === undefined || others.length > 0)
    throw new Error(`neither all old nor all new: ${[...seen].join(', ')}`)
  return only
}

async function runAndKill(call: string, after: number): Promise<boolean> {
  const child = spawn(process.execPath, ['--conditions=cordon-source', MAIN], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const ended = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once('exit', (_, signal) => resolve(signal)),
  )
  child.stdin.on('error', () => undefined)
  child.stdin.end(call)
  if (after !== Infinity) void sleep(after).then(() => child.kill('SIGKILL'))
  return (await ended) === 'SIGKILL'
}
