import { CordonError, show } from '@cordon/policy'
import { type LostGuarantee } from '../kernel.ts'
import { nameOf } from './outside.ts'
import { type Holder } from './types.ts'

/** The request makes no sense on any kernel. */
export class UnplannableError extends CordonError {
  readonly code = 'UNPLANNABLE'
}

/** SPEC 4.3 `enforce`: a declared guarantee cannot be had here, so nothing runs. */
export class UnenforceableError extends CordonError {
  readonly code = 'UNENFORCEABLE'
  readonly refused: readonly Holder[]
  readonly lost: readonly LostGuarantee[]
  constructor(refused: readonly Holder[], lost: readonly LostGuarantee[]) {
    const boundary = lost.filter(({ guarantee }) => guarantee === 'workspace-boundary')
    const lines = [
      ...boundary.map(({ loss, why }) => `  ${loss}: ${why}`),
      ...refused.map((holder) => `  ${describeHolder(holder)}`),
    ]
    const fixes = [...(lost[0] ? [lost[0].fix] : []), WITHOUT]
    super(
      `this machine cannot enforce the policy:\n${[...lines, ...fixes.map((fix) => `  fix: ${fix}`)].join('\n')}`,
    )
    this.refused = refused
    this.lost = lost
  }
}

/** SPEC 2.1: the files of a workspace cannot say it. */
const WITHOUT =
  'change the rules, or run without these guarantees: cordon config set --user-workspace sandbox.mode warn'

function describeHolder(holder: Holder): string {
  const why = 'why' in holder.held ? holder.held.why : ''
  switch (holder.axis) {
    case 'fs':
      return `fs rule ${show(nameOf(holder.rule))}: ${holder.granted ? 'granting' : 'withholding'} ${holder.capability}: ${why}`
    case 'net':
      return `net rule ${show(holder.rule.host)}: ${why}`
    case 'env':
      return `env rule ${show(holder.rule.name)}: ${why}`
    case 'commands':
      return `command rule ${show(holder.program)}: ${why}`
  }
}
