import { show } from '@cordon/policy'
import type { Binding } from '../compile/bindings.ts'

/** SPEC 3.2. The last line is the question itself. */
export function newBindingPrompt({ rulePath, target, grants }: Binding): string {
  const widest = Math.max(...grants.map(({ subject }) => show(subject).length))
  return `Approve this target binding?

  ${show(rulePath)} → ${show(target)}

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

export function retargetedPrompt({ rulePath, target }: Binding, was: string): string {
  return `Symlink \`${show(rulePath)}\` retargeted:

  was: ${show(was)}
  now: ${show(target)}

Allow new target? [y/N] `
}
