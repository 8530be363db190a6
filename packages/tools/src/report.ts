import { FileError } from '@cordon/files'
import { CordonError, DeniedError } from '@cordon/policy'
import { nameFor } from './named.ts'
import { type ToolResult } from './protocol.ts'

/** Something a tool refuses to do, in words that say what to do instead. */
export class ToolError extends CordonError {
  readonly code = 'TOOL_REFUSED'
}

/** What was called, and where: a file is called what the call calls it. */
interface Called {
  readonly arguments: unknown
  readonly root: string
}

/** SPEC 1.4: what the caller sees is the explanation, with the rule and the edit that would allow it. */
export function reportError(error: unknown, tool?: string, called?: Called): ToolResult {
  if (error instanceof DeniedError) {
    const { capability, target } = error.denied
    const { explanation, suggested } = new DeniedError({ ...error.denied, tool })
    const denied = { capability, target, ...(suggested === undefined ? {} : { suggested }) }
    return { type: 'error', message: explanation, trace: [], transient: false, denied }
  }
  const transient = error instanceof FileError && error.code === 'FILE_CHANGED'
  return { type: 'error', message: messageOf(error, called), trace: [], transient }
}

function messageOf(error: unknown, called: Called | undefined): string {
  const name =
    error instanceof FileError && called ? nameFor(error.path, called.arguments, called.root) : undefined
  if (error instanceof FileError && name !== undefined) return error.messageFor(name)
  if (error instanceof CordonError) return error.message
  // A bug of ours. Its stack names our own files, which help nobody who reads a conversation.
  return `internal error: ${error instanceof Error ? error.message : String(error)}`
}
