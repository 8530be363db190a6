import { spawn } from 'node:child_process'

export interface Captured {
  readonly stdout: Buffer
  readonly stderr: string
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly ended: 'by itself' | 'too long' | 'too much'
  /** Set when it could not be started at all. */
  readonly failure?: string
}

export interface CaptureLimits {
  readonly milliseconds: number
  readonly bytes: number
}

/** A program with nothing of ours: no shell, no variables, no descriptors, and an end to its time and output. */
export function capture(
  program: string,
  args: readonly string[],
  stdin: string,
  cwd: string,
  limits: CaptureLimits,
): Promise<Captured> {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC' }
  const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], shell: false })
  const stdout: Buffer[] = []
  const stderr: Buffer[] = []
  let size = 0
  let ended: Captured['ended'] = 'by itself'
  const end = (why: Captured['ended']): void => {
    if (ended === 'by itself') ended = why
    child.kill('SIGKILL')
  }
  const timer = setTimeout(() => end('too long'), limits.milliseconds)
  const keep = (into: Buffer[]) => (chunk: Buffer) => {
    into.push(chunk.subarray(0, Math.max(0, limits.bytes - size)))
    size = Math.min(size + chunk.length, limits.bytes + 1)
    if (size > limits.bytes) end('too much')
  }
  child.stdout.on('data', keep(stdout))
  child.stderr.on('data', keep(stderr))
  child.stdin.on('error', () => undefined) // it did not read all of it
  child.stdin.end(stdin)
  return new Promise((resolve) => {
    const done = (code: number | null, signal: NodeJS.Signals | null, failure?: string): void => {
      clearTimeout(timer)
      const output = {
        stdout: Buffer.concat(stdout),
        stderr: Buffer.concat(stderr).toString('utf8'),
        code,
        signal,
        ended,
      }
      resolve(failure === undefined ? output : { ...output, failure })
    }
    child.once('error', (error) => done(null, null, 'code' in error ? String(error.code) : error.message))
    child.once('close', (code, signal) => done(code, signal))
  })
}
