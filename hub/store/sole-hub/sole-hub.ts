/** The ports between hubs, for a hub that has its store alone: everything is a call within this process. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { Cluster } from '../../core/ports/store.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import { type OwnHub, ownHubs } from './own-hubs.js';
import { ownPreparations } from './own-preparations.js';
import { type OwnPresenceOptions, ownPresence } from './own-presence.js';
import { ownRelay } from './own-relay.js';
import { ownRole } from './own-role.js';
import { ownSignals } from './own-signals.js';

export interface SoleHubOptions extends OwnPresenceOptions {
  readonly clock: Clock;
  readonly hub: OwnHub;
  readonly queue: Pick<TaskQueue, 'running'>;
}

export function soleHub({ hub, queue, clock, ...options }: SoleHubOptions): Cluster {
  const presence = ownPresence(options);
  const preparations = ownPreparations();
  return {
    signals: ownSignals(options.log),
    roles: ownRole(),
    presence,
    relay: ownRelay(),
    preparations,
    hubs: ownHubs({ ...hub, presence, preparations, queue, clock }),
  };
}
