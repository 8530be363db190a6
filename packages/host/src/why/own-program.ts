import { resolve } from 'node:path'
import type { Config } from '@cordon/config'
import { below, type Root } from '@cordon/policy'
import { serverOf, type Subject } from '../compile/subject.ts'

/**
 * The program that a subject is started by, where that lies in the workspace, as a rule would name it. Undefined: it is the
 * machine's or ours, which need no rule, or only a call tells, or nothing is confined.
 */
export function ownProgram(
  subject: Pick<Subject, 'kind' | 'name'>,
  config: Config,
  root: Root,
): string | undefined {
  if (config.sandbox.mode === 'off') return undefined
  const ofTool = subject.kind === 'tool' ? config.conversation.tools[subject.name]?.command?.[0] : undefined
  const program = serverOf(subject, config)?.command ?? ofTool
  // Without a slash it is looked for in PATH, and with a placeholder it is not known before a call.
  if (!program?.includes('/') || program.includes('{{')) return undefined
  return below(root.path, resolve(root.path, program))
}
