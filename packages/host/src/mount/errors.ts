import { CordonError, show } from '@cordon/policy'

/** What is wrong with one `--mount` or `--no-mount`. */
export interface MountProblem {
  /** As it was typed: `fork=/code/x`. */
  readonly text: string
  readonly message: string
}

/** SPEC 3.3: everything that is wrong with the mounts of a command, found before anything is done. */
export class MountError extends CordonError {
  readonly code = 'MOUNT'
  readonly problems: readonly MountProblem[]
  constructor(problems: readonly MountProblem[]) {
    super(problems.map(({ text, message }) => `mount ${show(text)}: ${message}`).join('\n'))
    this.problems = problems
  }
}

/** Something went wrong while it was done. What was made is taken back; `left` says what could not be. */
export class MountFailedError extends CordonError {
  readonly code = 'MOUNT_FAILED'
  readonly left: readonly string[]
  constructor(why: string, left: readonly string[]) {
    super(
      left.length === 0
        ? `${why}\n  nothing was changed`
        : `${why}\n  taking it back failed, too:${left.map((line) => `\n    ${line}`).join('')}`,
    )
    this.left = left
  }
}

/** Between the check and the link, somebody moved the target or the name. */
export class MountChangedError extends CordonError {
  readonly code = 'MOUNT_CHANGED'
  constructor(name: string, target: string) {
    super(`${show(name)} does not lead to ${show(target)}: one of them was changed meanwhile`)
  }
}
