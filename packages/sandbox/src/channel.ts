import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { type Duplex } from 'node:stream'
import { type Child } from './child.ts'

/** The launcher's descriptor 3 (launcher/src/report.h): its plan comes in on it, and its report goes out (decision 0046). */
export interface Channel {
  /** For `spawn`. */
  readonly stdio: number | 'pipe'
  /** The launcher waits for a plan that it was not started with. */
  readonly send: (child: Child) => void
  /** All that was reported, when the launcher has ended. */
  readonly report: () => string
  readonly close: () => void
}

/**
 * A file in memory that has no name, with the plan in it and behind that the report (decision 0146): Node's streams,
 * which nobody needs for it, are a tenth of the start of `cordon run`. Undefined where there can be none. On disk it must
 * never be: plans hold the values of variables.
 */
export function openFileChannel(plan: Uint8Array): Channel | undefined {
  let file: number
  try {
    file = openSync('/dev/shm', NAMELESS, 0o600)
  } catch {
    return undefined
  }
  try {
    // At its place, so that the launcher, which shares the position, reads it from the start. Room for the facts is taken
    // now: no disk or quota that is full later may keep back how a command ended.
    const whole = Buffer.concat([plan, Buffer.alloc(ROOM_FOR_FACTS)])
    if (writeSync(file, whole, 0, whole.length, 0) !== whole.length) throw new Error('no room')
  } catch {
    closeSync(file)
    return undefined
  }
  return {
    stdio: file,
    send: () => {},
    report: () => {
      const bytes = Buffer.alloc(fstatSync(file).size - plan.length)
      return bytes
        .toString('utf8', 0, readSync(file, bytes, 0, bytes.length, plan.length))
        .replace(/\0+$/, '')
    },
    close: () => closeSync(file),
  }
}

const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY
const NAMELESS = O_TMPFILE | constants.O_EXCL | constants.O_RDWR
const ROOM_FOR_FACTS = 4096

/** A socket. The launcher starts nobody before it has read the plan from it, so something can be done in between. */
export function openSocketChannel(plan: Uint8Array): Channel {
  let report = ''
  return {
    stdio: 'pipe',
    send: (child) => {
      const socket = child.channel as Duplex | null | undefined
      socket?.setEncoding('utf8')
      socket?.on('data', (chunk: string) => (report += chunk))
      socket?.on('error', () => {}) // the launcher may be gone before it has read everything; its exit says why
      socket?.write(plan)
    },
    report: () => report,
    close: () => {},
  }
}
