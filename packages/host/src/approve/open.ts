import { ApprovalStore, type Workspace } from '@cordon/workspace'

/** The process that asks, for locks and file ownership. */
export interface Asker {
  readonly pid: number
  readonly uid: number | undefined
}

/** The user's own store for this workspace. Nothing is read or made until it is asked. */
export const openApprovals = (
  { workspace }: { readonly workspace: Workspace },
  { pid, uid }: Asker,
): ApprovalStore => new ApprovalStore(workspace, { holder: { pid, command: 'cordon' }, uid, now: () => new Date() })
