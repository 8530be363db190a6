/**
 * Starts the tools (`main.ts`, bundled beside this) with the code that V8 made of them when they were built (decision 0243).
 * Without it, and with any other Node, everything works, only slower.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'

const here = dirname(import.meta.filename)
const program = join(here, 'tools.cjs')

/** This file's own, in the bundle: what is beside it is beside the tools. `node:module` would be a part of every call. */
declare const require: NodeJS.Require

/** Of either kind of script. */
interface Compiled {
  readonly cachedDataRejected?: boolean | undefined
  createCachedData(): Buffer
}

const [source, code] = read()

const compiled = compile()

/** @public scripts/compile-tools.cjs */
export const { script } = compiled

compiled.main({}, require, {}, program, here)

/** The program, which is ASCII, as a function; and the code, into the same memory: each page of it that is touched costs time. */
function read(): readonly [source: string, code: Buffer | undefined] {
  const [before, after] = ['(function (exports, require, module, __filename, __dirname) {', '\n})']
  const text = open(program)
  const made = codeFor(text)
  const length = before.length + text.size + after.length
  const room = Buffer.allocUnsafeSlow(Math.max(length, made?.size ?? 0))
  room.write(before, 'latin1')
  readInto(room, before.length, text)
  room.write(after, before.length + text.size, 'latin1')
  const whole = room.toString('latin1', 0, length)
  if (!made) return [whole, undefined]
  readInto(room, 0, made)
  return [whole, room.subarray(0, made.size)]
}

interface Open {
  readonly fd: number
  readonly size: number
  readonly mtimeMs: number
}

function open(file: string): Open {
  const fd = openSync(file, 'r')
  const { size, mtimeMs } = fstatSync(fd)
  return { fd, size, mtimeMs }
}

function readInto(room: Buffer, at: number, { fd, size }: Open): void {
  for (let done = 0, got = -1; done < size && got !== 0; done += got)
    got = readSync(fd, room, at + done, size - done, done)
  closeSync(fd)
}

/** V8 compares no more than the length of the source, so code that is older than the program is of another one. */
function codeFor(text: Open): Open | undefined {
  try {
    const made = open(join(here, 'tools.code'))
    if (made.mtimeMs >= text.mtimeMs) return made
    closeSync(made.fd)
    return undefined
  } catch {
    return undefined // there is none
  }
}

/** As bin/cordon.cjs does it, and for the same reason (decision 0350). */
function compile(): { readonly script: Compiled; readonly main: (...parts: readonly unknown[]) => void } {
  if (process.version === 'v24.21.0') {
    const { ContextifyScript } = (process as unknown as { binding(name: string): Contextify }).binding(
      'contextify',
    )
    const own = new ContextifyScript(source, program, 0, 0, code, false, undefined, Symbol(program))
    return { script: own, main: own.runInContext(null, -1, true, false, false) }
  }
  const own = new Script(source, { filename: program, cachedData: code })
  return { script: own, main: own.runInThisContext() as (...parts: readonly unknown[]) => void }
}

interface Contextify {
  readonly ContextifyScript: new (...words: readonly unknown[]) => Compiled & {
    runInContext(...words: readonly unknown[]): (...parts: readonly unknown[]) => void
  }
}
