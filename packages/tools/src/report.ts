import { FileError } from '@cordon/files'
import { CordonError, DeniedError } from '@cordon/policy'
import { type ToolResult } from './protocol.ts'

/** Something a tool refuses to do, in words that say what to do instead. */
export class ToolError extends CordonError {
  readonly code = 'TOOL_REFUSED'
}

/** SPEC 1.4: what the caller sees is the explanation, with the rule and the edit that would allow it. `name`: what they called a file. */
export function reportError(error: unknown, tool?: string, name?: string): ToolResult {
  if (error instanceof DeniedError) {
    const { capability, target } = error.denied
    const { explanation, suggested } = new DeniedError({ ...error.denied, tool })
    const denied = { capability, target, ...(suggested === undefined ? {} : { suggested }) }
    return { type: 'error', message: explanation, trace: [], transient: false, denied }
  }
  const transient = error instanceof FileError && error.code === 'FILE_CHANGED'
  const message = error instanceof FileError && name !== undefined ? error.messageFor(name) : messageOf(error)
  return { type: 'error', message, trace: [], transient }
}

function messageOf(error: unknown): string {
  if (error instanceof CordonError) return error.message
  // A bug of ours. Its stack names our own files, which help nobody who reads a conversation.
  return `internal error: ${error instanceof Error ? error.message : String(error)}`
}
