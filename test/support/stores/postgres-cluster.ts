/** Hubs on one database for tests: the ports between them, without the rest of the hub. */

import type { JoiningAgent, StartedInstance } from '@workbench-hub/hub/core/ports/presence';
import type { Signal, SignalListener } from '@workbench-hub/hub/core/ports/signals';
import type { ClaimedTask } from '@workbench-hub/hub/core/ports/task-queue';
import type { ClusterTimings } from '@workbench-hub/hub/store/postgres/cluster/common/timings';
import {
  type ClusterOptions,
  type OpenedCluster,
  openCluster,
} from '@workbench-hub/hub/store/postgres/cluster/open-cluster';
import { type Database, openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { type LogLine, memoryLog } from '../memory-log.js';
import { migratedDatabase, type TestDatabase } from './postgres.js';
import { PostgresProxy } from './postgres-proxy.js';

/** Shorter than in production, and long enough for a busy machine. No resync comes without a reason. */
export const FAST: Partial<ClusterTimings> = {
  heartbeatMs: 100,
  lapseMs: 3000,
  cutOffMs: 2000,
  restartMs: 1000,
  silenceMs: 1000,
  roleMs: 2000,
  renewRoleMs: 400,
  trustRoleMs: 1600,
  contendMs: 100,
  settleMs: 500,
  resyncMs: 3_600_000,
  resyncWithoutNotificationsMs: 200,
  pollRelayMs: 200,
};

export interface TestHub extends OpenedCluster {
  readonly id: string;
  readonly proxy: PostgresProxy;
  readonly pool: Database;
  readonly lines: readonly LogLine[];
  /** Reasons for which the hub was to end. */
  readonly broken: readonly Error[];
  /** Signals that its listeners heard, but for RESYNC and HUBS. */
  readonly heard: Signal[];
  /** Number of resyncs. */
  readonly resyncs: () => number;
  /** Ends it as a crash does: without a word to the others. */
  crash(): Promise<void>;
}

export type TestHubOptions = Partial<Pick<ClusterOptions, 'timings' | 'version' | 'generation' | 'clock'>>;

export class TestHubs {
  readonly database: TestDatabase;
  /** Running tasks, as the store has them. */
  readonly claimed = new Map<string, ClaimedTask>();
  readonly #ends: (() => Promise<unknown>)[] = [];

  private constructor(database: TestDatabase) {
    this.database = database;
  }

  static async open(): Promise<TestHubs> {
    return new TestHubs(await migratedDatabase());
  }

  /** Starts a hub, whose connections go through a proxy. */
  async start(id: string, options: TestHubOptions = {}, prepare?: (proxy: PostgresProxy) => void) {
    const proxy = await PostgresProxy.listen(this.database.server.port);
    prepare?.(proxy);
    const { log, lines } = memoryLog();
    const pool = openPool({ url: proxy.through(this.database.url), log });
    const broken: Error[] = [];
    const release = once(async () => {
      proxy.accept(false);
      proxy.cut();
      await pool.close();
      await proxy.close();
    });
    this.#ends.push(release);
    const cluster = await openCluster(pool, {
      ...systemRuntime,
      hubId: id,
      incarnation: systemRuntime.newId(),
      version: '1',
      generation: 1,
      log,
      timings: FAST,
      claimedTasks: async (taskIds) => taskIds.flatMap((taskId) => this.claimed.get(taskId) ?? []),
      onBroken: (why) => void broken.push(why),
      ...options,
    });
    const close = once(() => cluster.close());
    this.#ends.push(close);
    const heard: Signal[] = [];
    let resyncs = 0;
    cluster.signals.hear({ ...recording(heard), RESYNC: () => void resyncs++ });
    const hub: TestHub = {
      ...cluster,
      ...{ id, proxy, pool, lines, broken, heard, close },
      resyncs: () => resyncs,
      crash: async () => {
        proxy.accept(false);
        proxy.cut();
        await close();
      },
    };
    return hub;
  }

  async end(): Promise<void> {
    for (const end of this.#ends.reverse()) await end();
    await this.database.drop();
  }
}

const KINDS = {
  ...{
    WAITS: 1,
    RETURNED: 1,
    WITHDRAWN: 1,
    ASSIGNED: 1,
    OCCUPIED: 1,
    ENDED: 1,
    CHANGED: 1,
    CANCELED: 1,
    FREED: 1,
    JOINED: 1,
  },
  ...{ READY: 1, INSTANCE: 1, LEFT: 1, REPLACED: 1, EXCLUDED: 1, DRAINS: 1, PREPARATION: 1, CUT_OFF: 1 },
} satisfies Record<Exclude<Signal['kind'], 'RESYNC' | 'HUBS'>, 1>;

function recording(heard: Signal[]): SignalListener {
  return Object.fromEntries(
    Object.keys(KINDS).map((kind) => [kind, (signal: Signal) => void heard.push(signal)]),
  );
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

export type TestAgent = Partial<Omit<JoiningAgent, 'id' | 'instances'>> & {
  readonly instanceIds?: readonly string[];
};

/** An agent as it joins, with an instance. */
export function testAgent(
  id: string,
  { instanceIds = [`${id}-sim`], ...rest }: TestAgent = {},
): JoiningAgent {
  return {
    id,
    nodeId: `node of ${id}`,
    joinNumber: null,
    version: '1',
    revision: 'abc',
    address: '10.0.0.7',
    clockOffsetMs: null,
    seenAtMs: 5,
    instances: instanceIds.map(
      (instanceId): StartedInstance => ({
        ...{ id: instanceId, version: '9.1', revision: '4711', labels: ['gears'] },
        ...{ status: 'UP', upForMs: 1000, startedAtMs: 4 },
      }),
    ),
    ...rest,
  };
}

/** Lets an agent join a hub, which tells that to the others; resolves with its epoch. */
export async function joinAgent(
  { presence, signals }: Pick<TestHub, 'presence' | 'signals'>,
  id: string,
  rest: TestAgent = {},
): Promise<number> {
  const agent = testAgent(id, rest);
  const joined = await presence.join(agent);
  if (joined === undefined || 'code' in joined) throw new Error(joined?.message);
  signals.tell({ kind: 'JOINED', agent, running: [] });
  return joined.epoch;
}
