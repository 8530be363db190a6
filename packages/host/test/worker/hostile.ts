import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A worker that speaks the protocol and then does, for the path it is asked to make, one thing that it should not: what a
 * worker could do that a file has taken over.
 */
export function writeHostileWorker(dir: string): string {
  const file = join(dir, 'hostile.cjs')
  writeFileSync(file, PROGRAM)
  return file
}

const PROGRAM = `
const fs = require('node:fs')
const { spawn } = require('node:child_process')
const { Worker } = require('node:worker_threads')

const exactly = (n) => {
  const all = Buffer.alloc(n)
  for (let at = 0; at < n;) {
    const got = fs.readSync(0, all, at, n - at)
    if (got === 0) process.exit(0)
    at += got
  }
  return all
}
const frame = (text) => {
  const bytes = Buffer.from(text)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
const say = (bytes) => fs.writeFileSync(1, bytes)
let stay = []

const MISDEEDS = {
  well: () => {},
  twice: ({ answer }) => { say(Buffer.concat([frame(answer), frame(answer)])); return 'said' },
  garbage: () => { say('hello, this is no frame at all, and it does not end'); return 'said' },
  endless: () => { say(Buffer.from([255, 255, 255, 255, 1])); return 'said' },
  'another call': ({ answer }) => { say(frame(answer.replace(/"nonce":"./, '"nonce":"x'))); return 'said' },
  'no answer': ({ nonce }) => { say(frame(JSON.stringify({ nonce, sound: true, result: 7 }))); return 'said' },
  unforeseen: ({ nonce }) => {
    const result = { type: 'error', message: 'internal error: x', trace: [], transient: false }
    say(frame(JSON.stringify({ nonce, sound: false, result })))
    return 'said'
  },
  complains: () => { fs.writeFileSync(2, 'something is odd\\n') },
  'leaves a program': () => { stay.push(spawn('/bin/sleep', ['1000'], { stdio: 'ignore', detached: true })) },
  'leaves a file open': () => { stay.push(fs.openSync('a.txt')) },
  'needs much memory': () => { stay.push(Buffer.alloc(300 * 1024 * 1024, 1)) },
  exits: () => process.exit(3),
  dies: () => process.kill(process.pid, 'SIGSEGV'),
  hangs: () => { for (;;); },
  'makes what is denied': () => { fs.mkdirSync('denied'); fs.writeFileSync('denied/x', 'x') },
  ticks: () => {
    new Worker('const fs = require("node:fs"); for (;;) fs.appendFileSync("ticks", ".")', { eval: true })
    while (!fs.existsSync('ticks'));
  },
}

for (;;) {
  const text = exactly(exactly(4).readUInt32BE()).toString()
  const [nonce, call] = [text.slice(0, 36), JSON.parse(text.slice(36))]
  const result = { type: 'success', content: [{ type: 'text', text: 'done' }] }
  const answer = JSON.stringify({ nonce, sound: true, result })
  if (MISDEEDS[call.tool.arguments.path]({ nonce, answer }) !== 'said') say(frame(answer))
}
`
