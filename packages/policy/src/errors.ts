import { type ErrorCode } from './error-codes.ts'

/** Every error a Cordon package throws on purpose: a stable code, fields, and a message a person can act on. */
export abstract class CordonError extends Error {
  abstract readonly code: ErrorCode
  override get name(): string {
    return this.constructor.name
  }
}

/** One thing wrong with a piece of input, and where: `fs[2].read`. */
export interface Problem {
  readonly at: string
  readonly message: string
}

/** Input of the wrong shape. Carries every problem found, not only the first. */
export class ParseError extends CordonError {
  readonly code = 'PARSE'
  readonly problems: readonly Problem[]
  constructor(what: string, problems: readonly Problem[]) {
    super(`${what}: ${problems.map((p) => (p.at ? `${p.at}: ${p.message}` : p.message)).join('; ')}`)
    this.problems = problems
  }
}
