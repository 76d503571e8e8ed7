/** The hubs of a store that one hub has alone. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { Hubs } from '../../core/ports/hubs.js';
import type { Presence } from '../../core/ports/presence.js';
import type { ShutdownPreparations } from '../../core/ports/shutdown-preparations.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';

/** This hub, as the others know it. */
export interface OwnHub {
  readonly version: string;
}

export interface OwnHubsOptions extends OwnHub {
  readonly presence: Pick<Presence, 'all'>;
  readonly preparations: Pick<ShutdownPreparations, 'read'>;
  readonly queue: Pick<TaskQueue, 'running'>;
  readonly clock: Clock;
}

const OWN_ID = 'hub';

export function ownHubs({ version, presence, preparations, queue, clock }: OwnHubsOptions): Hubs {
  const startedAtMs = clock.nowMs();
  let address = '';
  return {
    ownId: OWN_ID,
    all: async () => [
      {
        id: OWN_ID,
        version,
        address,
        startedAtMs,
        seenAtMs: clock.nowMs(),
        isLive: true,
        isScheduler: true,
        term: 0,
        agents: (await presence.all()).filter(({ isConnected }) => isConnected).length,
        runningTasks: (await queue.running()).length,
        clockOffsetMs: 0,
        preparedAtMs: (await preparations.read()).HUB,
      },
    ],
    others: () => 0,
    otherAddresses: () => [],
    listensAt: async (url) => {
      address = url;
    },
  };
}
