/** The store: everything that the hub keeps, as the ports of its parts. */

import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { SessionStore, UserStore } from './accounts.js';
import type { AgentCredentialStore } from './agent-credentials.js';
import type { AgentDrainStore } from './agent-drains.js';
import type { AgentRollouts } from './agent-rollouts.js';
import type { AgentStore } from './agent-store.js';
import type { Allocations } from './allocations.js';
import type { BlobCatalogue } from './blob-catalogue.js';
import type { InlineBlobs } from './blobs.js';
import type { Hubs } from './hubs.js';
import type { Invalidations } from './invalidations.js';
import type { KeyFiles } from './key-files.js';
import type { LoginRecords } from './login-records.js';
import type { NamedObjects } from './named-objects.js';
import type { OpenLoans } from './open-loans.js';
import type { PersonalTokenStore } from './personal-tokens.js';
import type { Presence } from './presence.js';
import type { Relay } from './relay.js';
import type { ResumableUploads } from './resumable-uploads.js';
import type { Roles } from './roles.js';
import type { ShutdownPreparations } from './shutdown-preparations.js';
import type { Signals } from './signals.js';
import type { Studies } from './studies.js';
import type { TaskArchive } from './task-archive.js';
import type { TaskChanges } from './task-changes.js';
import type { TaskExclusions } from './task-exclusions.js';
import type { TaskQueue } from './task-queue.js';
import type { TaskStatistics } from './task-statistics.js';
import type { WebhookDeliveries } from './webhook-deliveries.js';

/** Tasks and what they refer to: written by one hub only. */
export interface TaskStore {
  readonly queue: TaskQueue;
  readonly archive: TaskArchive;
  readonly changes: TaskChanges;
  readonly statistics: TaskStatistics;
  readonly exclusions: TaskExclusions;
  readonly loans: OpenLoans;
  readonly allocations: Allocations;
  readonly rollouts: AgentRollouts;
  readonly studies: Studies;
  readonly invalidations: Invalidations;
  readonly webhooks: WebhookDeliveries;
  readonly agents: AgentStore;
  readonly inlineBlobs: InlineBlobs;
  readonly blobCatalogue: BlobCatalogue;
  readonly namedObjects: NamedObjects;
  readonly uploads: ResumableUploads;
}

/** Users, sessions, tokens, credentials and drained agents: shared by the hub and the commands that run beside it. */
export interface AccountStore {
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly personalTokens: PersonalTokenStore;
  readonly agentCredentials: AgentCredentialStore;
  readonly agentDrains: AgentDrainStore;
}

/** Ports by which the hubs of a store work together. */
export interface Cluster {
  readonly signals: Signals;
  readonly roles: Roles;
  readonly presence: Presence;
  readonly relay: Relay;
  readonly preparations: ShutdownPreparations;
  readonly hubs: Hubs;
}

export interface Store extends TaskStore {
  readonly accounts: AccountStore;
  readonly cluster: Cluster;
  /** Null for a store on the files of one hub. */
  readonly keyFiles: KeyFiles | null;
  /** Null for a store on files, whose hub keeps them in memory. */
  readonly loginRecords: LoginRecords | null;
  /** Clock of all times that are stored: the same for all hubs of the store. */
  readonly clock: Clock;
  /** Bytes that each database takes. */
  sizes(): Promise<Readonly<Record<string, number>>>;
  /** Whether the server of the database responds; always true for a store on files. */
  isReachable(): boolean;
  /** Whether the store is on a server, which may be away. */
  readonly isOnServer: boolean;
  /** The hub begins to stop: from now on, no write waits for a server that is away for longer than ten seconds. Those that are given up
   *  reject as if the store were closed. */
  beginStop(): void;
  /** Writes what waits and releases everything. */
  close(): Promise<void>;
}

/** An account store that was opened on its own. */
export interface OpenedAccountStore extends AccountStore {
  close(): Promise<void>;
}
