import { type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place, SOMEBODY } from './harness/place.ts'

const MIB = 1024 * 1024
const ENV = { PATH: '/usr/bin:/bin' }

/** The collector is lazy while there is room: with little of it, what is in use is what is needed. */
const TIGHT = { ...ENV, NODE_OPTIONS: '--max-old-space-size=96' }

/** More than the garbage collector's moods, and far less than what each flood sends. */
const SLACK = 100 * MIB

/** Ends every script: the program waits where the host has seen all of it and still lives. */
const AND_WAIT = `
import os, time
open('done', 'w').close()
while not os.path.exists('go'): time.sleep(0.02)
`

interface Flooded {
  readonly peak: number
  readonly stderrBytes: number
  /** The end of it: our own words. */
  readonly tail: string
  readonly code: number | null
}

/** The most memory that the host, `cordon` itself, had in use until the program was done. */
async function flood(place: Place, flags: readonly string[], script: string): Promise<Flooded> {
  const child = place.start([...flags, '--', 'python3', '-c', script + AND_WAIT], { env: place.env(TIGHT) })
  let stderrBytes = 0
  let tail = ''
  child.stderr!.on('data', (chunk: Buffer) => {
    stderrBytes += chunk.length
    tail = (tail + chunk.toString('latin1')).slice(-4096)
  })
  child.stdout!.resume()
  const ended = once(child, 'close') as Promise<[number | null]>
  while (!existsSync(join(place.root, 'done')) && child.exitCode === null) await sleep(20)
  const peak = peakOf(child)
  place.write('go', '')
  const [code] = await ended
  return { peak, stderrBytes, tail, code }
}

function peakOf({ pid }: ChildProcess): number {
  const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(line![1]) * 1024
}

describe.each(PEOPLE)('a program that floods its host, run by $name', (person) => {
  test('hundreds of MiB of error output pass through, and are not kept', async () => {
    const { peak: quiet } = await flood(new Place(person), [], '')
    const script = `
import os
block = b'x' * 65535 + b'\\n'
for _ in range(${(300 * MIB) / 65_536}): os.write(2, block)
for _ in range(200000): os.write(2, b'!')
`
    const { peak, stderrBytes, code } = await flood(new Place(person), [], script)
    expect({ stderrBytes, code }).toEqual({ stderrBytes: 300 * MIB + 200_000, code: 0 })
    expect(peak - quiet).toBeLessThan(SLACK)
  })
})

test('a reader that does not read holds the program up, and not the memory of the host', async () => {
  const place = new Place(SOMEBODY)
  // Without blocking: what is taken before the pipe stays full is all that anybody holds.
  const script = `
import os, select, time
os.set_blocking(2, False)
taken = 0
while True:
    _, ready, _ = select.select([], [2], [], 1)
    if not ready: break
    try: taken += os.write(2, b'x' * 65536)
    except BlockingIOError: pass
print(taken, flush=True)
os.kill(os.getpid(), 9)
`
  const child = place.start(['-q', '--', 'python3', '-c', script], { env: place.env(ENV) })
  const [taken] = (await once(child.stdout!, 'data')) as [Buffer]
  child.stderr!.resume()
  await once(child, 'close')
  expect(Number(taken)).toBeGreaterThan(0)
  expect(Number(taken)).toBeLessThan(16 * MIB)
})

test('thousands of connections and tens of thousands of refused requests leave no trace of their size', async () => {
  const flags = ['--allow-net', 'example.com']
  const { peak: quiet } = await flood(new Place(SOMEBODY), flags, '')
  // Each request is 16 KiB of its own: 320 MiB and more, if every decision were kept.
  const script = `
import socket, time
def connect():
    s = socket.create_connection(('127.0.0.1', 3128)); s.settimeout(60); return s
idle = [connect() for _ in range(3000)]
for s in idle[:1500]: s.send(b'GET http://')
for s in idle: s.close()
number = 0
def ask(s):
    global number
    number += 1
    s.sendall(b'GET http://evil.example/%d/%s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' % (number, b'x' * 16000))
def take(s, count):
    got = b''
    while got.count(b'  because: ') < count or not got.endswith(b'\\n'):
        data = s.recv(1 << 20)
        if not data: return False
        got += data
    return True
def client():
    while True: # there is room again when the proxy has seen that the idle ones are gone
        s = connect()
        try:
            ask(s)
            if take(s, 1): return s
        except ConnectionError: pass
        time.sleep(0.05)
clients = [client() for _ in range(100)]
for _ in range(20):
    for s in clients:
        for _ in range(10): ask(s)
    for s in clients:
        if not take(s, 10): raise SystemExit('closed')
`
  const { peak, tail, stderrBytes, code } = await flood(new Place(SOMEBODY), flags, script)
  expect({ code, others: /and (\d+) others\n/.exec(tail)?.[1] }).toEqual({ code: 0, others: '980' })
  expect(stderrBytes).toBeLessThan(MIB)
  // A hundred connections' buffers are in it. Kept decisions would not fit into the heap at all.
  expect(peak - quiet).toBeLessThan(3 * SLACK)
})
