export { listIfThere, makePrivateDirectory } from './directories.ts'
export { readSmall, reason } from './small-files.ts'
export { ApprovalStore, serversSeenIn } from './approvals/store.ts'
export { type Approvals } from './approvals/approvals.ts'
export { sha256 } from './approvals/digest.ts'
export { type ConfigTrust, type ServerSeen, type ToolSeen } from './approvals/document.ts'
export { acquireLock, type LockHolder, LockHeldError, tryLock, withLock } from './lock.ts'
export { fieldsOfStat, isRunning, startOf, statFields, thisProcess } from './processes.ts'
export { type ConfigEvents, readConfigEvents } from './seals/config-events.ts'
export { LostSealsError, SealError } from './seals/errors.ts'
export { type MarksThatCount, upwards } from './place/find-root.ts'
export { idOfPath } from './place/identity.ts'
export { isNews, noteDirectories, notedDirectories, wasNoted } from './place/notes.ts'
export { strangerIn } from './place/owners.ts'
export { repositoriesAround } from './place/repository.ts'
export { entryOf, type Step, trailOf } from './place/trail.ts'
export {
  packagesDir,
  PROVIDER_DIR,
  secretDirs,
  type Surroundings,
  userCacheDir,
  userConfigFile,
  userDataDir,
} from './place/surroundings.ts'
export {
  initWorkspace,
  isKept,
  lockFile,
  marksThatDoNotCount,
  openWorkspace,
  prepareLocal,
  recordedPlaces,
  unmarkedWorkspace,
  type Workspace,
} from './place/workspace.ts'
export {
  archiveConversation,
  openConversation,
  removeConversation,
  removeUnused,
  titleConversation,
  unarchiveConversation,
} from './conversation/change.ts'
export { UnreadableConversationError } from './conversation/errors.ts'
export { type ConfigEvent, type ConversationEvent, type StoredEvent } from './conversation/events.ts'
export { HostPaths } from './conversation/host-paths.ts'
export { type LogWriter } from './conversation/log-writer.ts'
export { createConversation, forkConversation } from './conversation/make.ts'
export { printTalk } from './conversation/print.ts'
export { grepConversations, type Hit, readConversation } from './conversation/search.ts'
export {
  goneConversation,
  lastUsedConversation,
  useConversation,
  wasAnyUsed,
} from './conversation/sessions.ts'
export {
  type ConversationRef,
  type ConversationSummary,
  eventsFile,
  findConversation,
  type Keeping,
  listConversations,
  type Shelf,
} from './conversation/shelf.ts'
export { sweepConversations } from './conversation/sweep.ts'
export { type BlobRef, type Json, type JsonObject, type Resource } from './resources/resource.ts'
export { collectBlobs, type Collected, type CollectOptions, sweepBlobs } from './blobs/collect.ts'
export { type BlobBatch } from './blobs/batch.ts'
export { type Chunks } from './blobs/chunks.ts'
export { BlobReadError } from './blobs/errors.ts'
export { Blobs } from './blobs/payload.ts'
export { type BlobStore } from './blobs/store.ts'
export { type About, type AttachContext, attachContent, attachPath } from './resources/attach.ts'
export { checksum, Deliveries, type Delivery } from './resources/deliveries.ts'
export { AttachError, NotRefreshableError } from './resources/errors.ts'
export { externalUri, parseExternalUri } from './resources/external-uri.ts'
export { contentType } from './resources/mime.ts'
export { refreshResource } from './resources/refresh.ts'
