// biome-ignore-all lint/performance/noBarrelFile lint/performance/noReExportAll: the entry of a published package
/** Client of Workbench Hub for browsers and Node.js; `@workbench-hub/client/node` adds files on disk. */
export type { Credentials } from './credentials.js';
export { PasswordSession, TokenCredentials } from './credentials.js';
export {
  AuthenticationError,
  type ErrorCode,
  HubError,
  NoHubError,
  NotFoundError,
  NotPossibleError,
  OverloadedError,
  PermissionError,
  RefusedError,
  UnreachableError,
} from './errors.js';
export type { EventOptions, HubEvent, TaskFilter } from './events.js';
export * as api from './generated/index.js';
export type {
  AgentState,
  AgentUpdate,
  BulkOutcome,
  Health,
  Invalidation,
  Manifest,
  ManifestKey,
  ManifestKeys,
  SignedManifest,
  StoredFile,
  Study as StudyDetails,
  StudyItem,
  StudyPoint,
  TaskAttempt,
  TaskDetails,
  TaskItem,
  TaskOutputFile,
  WorkbenchInstance,
} from './generated/types.gen.js';
export { Hub, type HubOptions, type SubmitOptions } from './hub.js';
export type { NewInvalidation } from './invalidation.js';
export {
  type Job,
  type JobFile,
  modelTypeOfName,
  modelTypeOfStaged,
  type Priority,
} from './job.js';
export type { LogEvent } from './log.js';
export { ManifestRefusedError, type VerifiedManifest, verifyManifest } from './manifest.js';
export type { ContinuedUpload, UploadProgress } from './resumable-upload.js';
export { type PointOutcome, Study, type StudyJob, type WatchOptions } from './study.js';
export { type RunOptions, Task, type TaskStatus } from './task.js';
export {
  type StudyChanged,
  type TaskEnded,
  verifyWebhook,
  WebhookRefusedError,
  type WebhookVerification,
} from './webhook.js';
