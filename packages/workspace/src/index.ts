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
export {
  initWorkspace,
  lockFile,
  openWorkspace,
  prepareLocal,
  unmarkedWorkspace,
  type Workspace,
} from './place/workspace.ts'
export {
  archiveConversation,
  openConversation,
  removeConversation,
  titleConversation,
  unarchiveConversation,
  type Waiting,
} from './conversation/change.ts'
export { AppendError, ConversationNotFoundError, UnreadableConversationError } from './conversation/errors.ts'
export {
  type AttachEvent,
  type ConfigEvent,
  type ConversationEvent,
  type DetachEvent,
  type InquiryEvent,
  type NoteEvent,
  type RequestEvent,
  type ResponseEvent,
  type StoredEvent,
  type ToolCallEvent,
  type ToolResultEvent,
  type TurnEvent,
  type UnknownEvent,
} from './conversation/events.ts'
export { HostPathError, HostPaths } from './conversation/host-paths.ts'
export { type ConversationId } from './conversation/id.ts'
export { type LogWriter } from './conversation/log-writer.ts'
export { createConversation, forkConversation, type NewConversation } from './conversation/make.ts'
export { type Metadata } from './conversation/metadata.ts'
export { printEvent } from './conversation/print.ts'
export { type Recovery } from './conversation/recover.ts'
export { grepConversations, type Hit, readConversation } from './conversation/search.ts'
export { lastUsedConversation, useConversation } from './conversation/sessions.ts'
export {
  allConversations,
  type ConversationRef,
  type ConversationSummary,
  eventsFile,
  findConversation,
  type Keeping,
  listConversations,
  type Shelf,
} from './conversation/shelf.ts'
export { sweepConversations } from './conversation/sweep.ts'
export {
  type BlobHash,
  type BlobRef,
  type Json,
  type JsonObject,
  type Resource,
} from './resources/resource.ts'
export { collectBlobs, type Collected, type CollectOptions, sweepBlobs } from './blobs/collect.ts'
export { type Chunks } from './blobs/chunks.ts'
export { BlobPutError, BlobReadError } from './blobs/errors.ts'
export { Blobs } from './blobs/payload.ts'
export { type BlobStore } from './blobs/store.ts'
export { StorageError } from './list.ts'
export { type About, type AttachContext, attachContent, attachPath } from './resources/attach.ts'
export { checksum, Deliveries, type Delivery } from './resources/deliveries.ts'
export { AttachError, NotRefreshableError } from './resources/errors.ts'
export { externalUri, parseExternalUri, parseWorkspaceUri, workspaceUri } from './resources/external-uri.ts'
export { contentType, type ContentType } from './resources/mime.ts'
export { refreshResource } from './resources/refresh.ts'
