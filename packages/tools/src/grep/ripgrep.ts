import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { type Readable, type Writable } from 'node:stream'
import { ToolError } from '../report.ts'

export interface Query {
  readonly pattern: string
  readonly syntax: 'regex' | 'literal'
  readonly letterCase: 'exact' | 'ignore' | 'smart'
  readonly words: 'whole' | 'any'
  readonly before: number
  readonly after: number
}

/** A line that ripgrep printed. `offset` and `line` count from the beginning of everything it was given. */
export interface Hit {
  readonly kind: 'match' | 'context'
  readonly offset: number
  readonly line: number
  readonly text: string
}

/**
 * ripgrep as a regex engine and nothing else (decision 0071): it gets bytes on standard input and opens no
 * file, so what it sees was checked and reached by us. Its regexes take linear time.
 */
export class Ripgrep {
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #ended: Promise<void>
  #rest: Buffer = Buffer.alloc(0)
  #stopped = false

  constructor(program: string, query: Query, onHit: (hit: Hit) => void) {
    this.#process = spawn(program, argumentsOf(query), { stdio: ['pipe', 'pipe', 'pipe'], cwd: '/', env: {} })
    this.#process.stdout.on('data', (chunk: Buffer) => this.#take(chunk, onHit))
    this.#process.stdin.on('error', () => undefined) // it ended early; `end` says why
    this.#ended = this.#wait()
    this.#ended.catch(() => undefined) // reported by `end`, which may be called much later
  }

  get isOver(): boolean {
    return this.#stopped || this.#process.exitCode !== null || this.#process.stdin.destroyed
  }

  /** Resolves when there is room for more. */
  async write(data: Uint8Array): Promise<void> {
    if (this.isOver || this.#process.stdin.write(data)) return
    const { stdin } = this.#process
    await new Promise<void>((resolve) => {
      const go = (): void => {
        stdin.off('drain', go).off('close', go)
        resolve()
      }
      stdin.on('drain', go).on('close', go)
    })
  }

  /** When everything given was searched. Throws when the pattern is not one. */
  async end(): Promise<void> {
    this.#process.stdin.end()
    await this.#ended
  }

  stop(): void {
    this.#stopped = true
    this.#process.kill('SIGKILL')
  }

  #take(chunk: Buffer, onHit: (hit: Hit) => void): void {
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    let start = 0
    for (let end = data.indexOf(10); end >= 0 && !this.#stopped; end = data.indexOf(10, start)) {
      const hit = parseHit(data.toString('utf8', start, end))
      if (hit) onHit(hit)
      start = end + 1
    }
    this.#rest = data.subarray(start)
  }

  #wait(): Promise<void> {
    const complaint: Buffer[] = []
    this.#process.stderr.on('data', (chunk: Buffer) => complaint.push(chunk))
    return new Promise((resolve, reject) => {
      this.#process.once('error', (error) => {
        reject(new ToolError(`cannot search: ripgrep cannot be started (${codeOf(error)})`))
      })
      this.#process.once('close', (code) => {
        // 0: found, 1: nothing found.
        if (this.#stopped || code === 0 || code === 1) resolve()
        else reject(new ToolError(`invalid pattern: ${explain(Buffer.concat(complaint).toString('utf8'))}`))
      })
    })
  }
}

function argumentsOf(query: Query): string[] {
  const fixed = ['--no-config', '--text', '--encoding=none', '--line-number', '--byte-offset', '--no-heading']
  const shape = ['--color=never', '--no-context-separator', '--max-columns=1000', '--max-columns-preview']
  const context = [`--before-context=${query.before}`, `--after-context=${query.after}`, '--threads=1']
  return [...fixed, ...shape, ...context, ...queryArguments(query), '--', '-']
}

/** What is looked for, however the answer is to be shown. */
export function queryArguments({ pattern, syntax, letterCase, words }: Query): string[] {
  const choice = [`--${CASES[letterCase]}`, `--regexp=${pattern}`]
  if (syntax === 'literal') choice.push('--fixed-strings')
  if (words === 'whole') choice.push('--word-regexp')
  return choice
}

const CASES = { exact: 'case-sensitive', ignore: 'ignore-case', smart: 'smart-case' } as const

/** `12:345:text` is a match, `12-345-text` is context. */
function parseHit(line: string): Hit | undefined {
  const parts = /^(\d+)([:-])(\d+)\2([\s\S]*)$/.exec(line)
  if (!parts) return undefined
  const [, number, sign, offset, text = ''] = parts
  return { kind: sign === ':' ? 'match' : 'context', offset: Number(offset), line: Number(number), text }
}

const explain = (complaint: string): string => complaint.replace(/^rg: /, '').trim().slice(0, 1000)

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : error.message)
