import { show } from '@cordon/policy'
import type { Binding } from '../compile/bindings.ts'

/** SPEC 4.10: whether the host obeys what could be written there, or runs it by itself later. */
export type TargetUse = 'obeyed by the host' | 'plain'

const warningOf = (use: TargetUse): string =>
  use === 'plain' ? '' : '\nThe host obeys what is there, or runs it by itself later.\n'

/** SPEC 3.2. The last line is the question itself. */
export function newBindingPrompt({ rulePath, target, grants }: Binding, use: TargetUse): string {
  const widest = Math.max(...grants.map(({ subject }) => show(subject).length))
  return `Approve this target binding?

  ${show(rulePath)} → ${show(target)}
${warningOf(use)}
Current grants under this mount:

${grants
  .map(
    ({ subject, capabilities }) =>
      `  ${`${show(subject)}:`.padEnd(widest + 1)} ${capabilities.join(', ') || 'nothing'}`,
  )
  .join('\n')}

The target binding will be remembered. Capability changes through config
edits do not re-prompt while the target is unchanged.

Approve? [y/N] `
}

export function retargetedPrompt({ rulePath, target }: Binding, was: string, use: TargetUse): string {
  return `Symlink \`${show(rulePath)}\` retargeted:

  was: ${show(was)}
  now: ${show(target)}
${warningOf(use)}
Allow new target? [y/N] `
}
