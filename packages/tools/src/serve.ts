import { readSync, writeFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { CallReader } from './call-reader.ts'
import { encodeFrame, FrameReader, LONGEST_CALL, NONCE_LENGTH } from './frames.ts'
import { type ToolResult } from './protocol.ts'
import { performCall } from './run-tool.ts'

/** What a worker answers. `sound`: the call ended in a way that its code foresaw, so the worker may be asked again. */
interface WorkerAnswer {
  /** What stood before the call: only who has read that can answer it. */
  readonly nonce: string
  readonly sound: boolean
  readonly result: ToolResult
}

/**
 * A tool that stays (decision 0200): one call after the other, each a frame on standard input, each answered by a frame
 * on standard output. A call leaves nothing behind: what it opened is closed, and it has no timers, listeners or programs
 * running; the host looks after that itself. Whatever nobody foresaw ends the process.
 */
export async function serveCalls(name: string): Promise<void> {
  const calls = new CallReader()
  for (let frame = readFrame(); frame !== undefined; frame = readFrame()) {
    const nonce = frame.slice(0, NONCE_LENGTH)
    const call = frame.slice(NONCE_LENGTH)
    const answer: WorkerAnswer = { nonce, ...(await performCall(name, () => calls.read(call))) }
    writeFileSync(1, encodeFrame(JSON.stringify(answer)))
    await turn() // who has ended is taken note of, so that nothing of this call happens in the next one
  }
}

/** Waits without turns of the event loop: between two calls nothing happens here. Undefined at the end of the input. */
function readFrame(): string | undefined {
  const frame = new FrameReader(LONGEST_CALL)
  for (;;) {
    const piece = Buffer.allocUnsafe(Math.min(frame.missing ?? FIRST_PIECE, PIECE))
    const read = readSync(0, piece)
    if (read === 0) return undefined
    const text = frame.push(piece.subarray(0, read))
    if (text) return text.toString('utf8')
  }
}

/** How long a frame is stands at its beginning: most are read with it. Nothing comes behind one. */
const FIRST_PIECE = 2048
const PIECE = 1024 * 1024
