/** The opened parts of a hub, on which its interfaces to clients and agents are built. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { HubConfig } from '../config.js';
import type { AuditReader, AuditTrail } from '../core/ports/audit.js';
import type { BlobStore } from '../core/ports/blobs.js';
import type { Hubs } from '../core/ports/hubs.js';
import type { Tracing } from '../core/ports/tracing.js';
import type { AgentCredentials } from '../engine/accounts/agent-credentials.js';
import type { Engine } from '../engine/engine.js';
import type { Manifests } from '../engine/tasks/manifests.js';
import type { HubMetrics } from '../metrics/hub-metrics.js';
import type { TlsFiles } from '../security/tls-files.js';
import type { Accounts } from './accounts.js';
import type { OpenedUpdates } from './agent-updates.js';

export interface HubParts {
  readonly config: HubConfig;
  readonly log: Logger;
  readonly runtime: Runtime;
  readonly metrics: HubMetrics;
  readonly tracing: Tracing;
  /** Null for a hub without its own TLS. */
  readonly tls: TlsFiles | null;
  readonly accounts: Accounts;
  readonly credentials: AgentCredentials;
  /** Null without own instances. */
  readonly ownSecret: string | null;
  readonly files: BlobStore;
  readonly engine: Engine;
  readonly manifests: Manifests;
  readonly updates: OpenedUpdates;
  readonly hubs: Hubs;
  /** Addresses at which agents reach the other hubs of the cluster; none of a hub that is alone. */
  readonly otherHubs: () => readonly string[];
  /** Tells the store that the hub begins to stop, so that no write waits long for a database that is away. */
  readonly beginStopOfStore: () => void;
  /** Whether the server of the database responds; null for a store on files. */
  readonly isDatabaseReachable: (() => boolean) | null;
  /** Whether the object store of blobs can be used; null for blobs in a folder. */
  readonly isObjectStoreUsable: (() => boolean) | null;
  /** Null while security is off. */
  readonly audit: AuditTrail | null;
  /** Entries of all hubs. */
  readonly auditReader: AuditReader;
  /** Opens the files of the audit log again. Null while security is off. */
  readonly reopenAudit: (() => Promise<void>) | null;
  /** Path of the log file in use. */
  readonly logFile: () => string;
}
