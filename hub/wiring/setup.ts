/** Configuration and surroundings with which all parts of the hub are opened. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { HubConfig } from '../config.js';
import type { Passwords } from '../core/ports/accounts.js';
import type { Resolver } from '../webhooks/webhook-sender.js';

export interface Setup {
  readonly config: HubConfig;
  readonly log: Logger;
  readonly runtime: Runtime;
  readonly passwords: Passwords;
  /** Path of the log file in use. */
  readonly logFile: () => string;
  /** Finds the addresses of receivers of webhooks. */
  readonly resolve: Resolver | undefined;
  /** Addresses at which agents reach the other hubs of the cluster. */
  readonly otherHubs: (() => readonly string[]) | undefined;
  /** Environment of this process, which the commands of workload managers inherit. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}
