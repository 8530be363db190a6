export { ApprovalsError, ApprovalStore, type ApprovalStoreOptions } from './approvals/store.ts'
export { type Approvals, type MountLookup } from './approvals/approvals.ts'
export { type MountApproval } from './approvals/document.ts'
export {
  acquireLock,
  type HeldLock,
  type Holder,
  LockHeldError,
  LockLostError,
  type LockNote,
  type LockOptions,
  LockUnavailableError,
  tryLock,
  withLock,
} from './lock.ts'
export { WorkspaceError } from './place/errors.ts'
export { type WorkspaceId } from './place/identity.ts'
export { type Surroundings, userConfigFile, userDataDir } from './place/surroundings.ts'
export { initWorkspace, lockFile, openWorkspace, prepareLocal, type Workspace } from './place/workspace.ts'
