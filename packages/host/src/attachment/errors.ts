import { CordonError, quote, show } from '@cordon/policy'
import type { Attachment } from './blocks.ts'

/** It was understood, and then the rules, the server or the program said no. Nothing was kept of it. */
export class AttachFailedError extends CordonError {
  readonly code = 'ATTACH_FAILED'
  readonly input: string
  constructor(input: string, problem: string) {
    super(`cannot attach ${show(input)}: ${problem}`)
    this.input = input
  }
}

/** No attachment, or more than one, has that name. */
export class AttachmentNotFoundError extends CordonError {
  readonly code = 'ATTACHMENT_NOT_FOUND'
  constructor(asked: string, candidates: readonly Attachment[]) {
    super(
      candidates.length === 0
        ? `nothing called ${quote(asked)} is attached; \`cordon attachment ls\` lists what is`
        : `${quote(asked)} could be any of these; write more of it, or --checksum:\n${candidates
            .map(({ uri, checksum }) => `  ${checksum.slice(0, 12)}  ${show(uri)}`)
            .join('\n')}`,
    )
  }
}

/** A person stopped it. What was begun was taken back. */
export class InterruptedError extends CordonError {
  readonly code = 'INTERRUPTED'
  constructor() {
    super('interrupted; nothing was attached')
  }
}
