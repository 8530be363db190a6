import { type AccessPolicy, show } from '@cordon/policy'
import type { Loss } from '@cordon/sandbox'

/** SPEC 4.11: a tool that cooperates asks before it starts a program. Whatever else is started does not, and nobody holds it. */
export function commandRules({ commands }: Pick<AccessPolicy, 'commands'>): readonly Loss[] {
  if (commands === undefined) return []
  const programs = Object.keys(commands).map(show)
  return [
    {
      guarantee: 'command-rules',
      declared: true,
      loss: `the rules for commands (${programs.join(', ') || 'none is allowed'}): any program may be started in any way`,
      why: 'the kernel sees the files a program opens, not the command line it was started by',
      fix: 'withhold execute of the files, or hosts and paths that the command needs',
    },
  ]
}

/** The same of a tool that is not ours, which may check them by itself. */
export const commandWarnings = (policy: Pick<AccessPolicy, 'commands'>): readonly string[] =>
  commandRules(policy).map(
    ({ loss, why, fix }) =>
      `not held here: ${loss}, unless the tool checks them itself\n  why: ${why}\n  fix: ${fix}`,
  )
