/** The composition root: the one file that knows every part of the hub. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Service } from '@workbench-hub/shared/runtime/service';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { serveAgents } from './agent-link/endpoint.js';
import { transferHandler } from './agent-link/transfer.js';
import type { HubConfig } from './config.js';
import { Agents } from './engine/agents.js';
import { Attempts } from './engine/attempts.js';
import { Instances } from './engine/instances.js';
import { Leases } from './engine/leases.js';
import { Results } from './engine/results.js';
import { Scheduler } from './engine/scheduler.js';
import { Sweeper } from './engine/sweeper.js';
import { TaskOutput } from './engine/task-output.js';
import { Tasks } from './engine/tasks.js';
import { openContentStore } from './files/content-store.js';
import { diskSpace } from './files/disk-space.js';
import { actuatorEndpoints } from './http/actuator/actuator-endpoints.js';
import { createApp } from './http/app.js';
import { openApiDocument } from './http/openapi.js';
import { nodeEndpoints } from './http/v2/node-endpoints.js';
import { taskEndpoints } from './http/v2/task-endpoints.js';
import { webServer } from './http/web-server.js';
import { agentToken } from './security/agent-token.js';
import { openSqliteStore } from './store/sqlite/store.js';

/** What a test replaces. */
export interface HubOverrides {
  readonly runtime?: Runtime;
}

export interface Hub extends Service {
  /** Where it listens, once it has started: `http://127.0.0.1:8080`. */
  readonly address: string;
}

/** Requests under way may go on for so long when the hub stops. */
const STOP_GRACE_MS = 5000;

/** A side sends a heartbeat six times within the time after which silence counts as death. */
const HEARTBEATS_PER_SILENCE = 6;

export function createHub(
  config: HubConfig,
  log: Logger,
  { runtime = systemRuntime }: HubOverrides = {},
): Hub {
  let stop: (() => Promise<void>) | undefined;
  let address = '';

  const start = async (): Promise<void> => {
    await mkdir(config.dataDir, { recursive: true });
    const token = await agentToken(config.agents.token, config.dataDir);
    const store = openSqliteStore(join(config.dataDir, 'hub.sqlite'), runtime.timers, log);
    const files = await openContentStore(join(config.dataDir, 'files'), store.smallFiles, runtime);

    const { queue, archive } = store;
    const { clock, timers } = runtime;
    const instances = new Instances(clock);
    instances.remember(await store.agents.all());
    const results = new Results(timers);
    const output = new TaskOutput();
    const onWaiting = (requirementKey: string) => scheduler.announce(requirementKey);
    const attempts = new Attempts({
      queue,
      archive,
      results,
      output,
      clock,
      log,
      onWaiting,
      limits: config.tasks,
    });
    const leases = new Leases({ queue, attempts, timers, log, leaseTimeoutMs: config.agents.leaseTimeout });
    const silenceLimitMs = config.agents.unreachableAfter;
    const heartbeatIntervalMs = Math.ceil(silenceLimitMs / HEARTBEATS_PER_SILENCE);
    const agents = new Agents({
      queue,
      store: store.agents,
      files,
      instances,
      attempts,
      leases,
      output,
      runtime,
      log,
      hubVersion: buildInfo.version,
      heartbeatIntervalMs,
      silenceLimitMs,
      onCapacity: () => scheduler.wake(),
    });
    const scheduler = new Scheduler({
      queue,
      instances,
      runtime,
      log,
      assign: (task) => agents.assign(task),
      giveBack: (task) => {
        queue
          .release([{ ref: task.ref, loss: 'RETURN' }])
          .then(() => queue.waitingGroups())
          .then((groups) => groups.forEach(onWaiting))
          .catch((error: unknown) => log.error({ err: error, ...task.ref }, 'a task could not be put back'));
      },
    });
    const tasks = new Tasks({
      queue,
      archive,
      files,
      results,
      output,
      agents,
      runtime,
      onWaiting,
      defaultVersion: config.tasks.defaultVersion,
    });
    const sweeper = new Sweeper({
      queue,
      archive,
      files,
      agentStore: store.agents,
      instances,
      runtime,
      log,
      keepEndedForMs: config.tasks.keepEndedFor,
      forgetAgentsAfterMs: config.agents.forgetAfter,
    });

    let ready = false;
    const installation = fileURLToPath(new URL('..', import.meta.url));
    const endpoints = [
      ...actuatorEndpoints({
        instances,
        diskSpace: () => diskSpace(config.health.diskSpacePath ?? installation),
        thresholdBytes: config.health.diskSpaceThreshold,
        downStatus: config.health.downStatus,
        build: buildInfo,
        isReady: () => ready,
      }),
      ...taskEndpoints(tasks, files),
      ...nodeEndpoints(instances),
    ];
    const app = createApp({
      endpoints,
      openApiDocument: openApiDocument(endpoints, buildInfo),
      maxBodyBytes: config.limits.requestBody,
      runtime,
      log,
    });
    const web = webServer({
      ...config.server,
      timers,
      fetch: app.fetch,
      first: transferHandler({ files, token, log }),
    });
    serveAgents(web.server, { agents, token, runtime, log, heartbeatIntervalMs, silenceLimitMs });

    stop = async () => {
      ready = false;
      const closed = web.close(STOP_GRACE_MS);
      await scheduler.stop();
      agents.closeAll('the hub stops');
      results.releaseAll();
      await closed;
      leases.stop();
      await sweeper.stop();
      store.close();
    };
    try {
      address = await web.listen();
    } catch (error) {
      store.close();
      throw error;
    }
    await leases.start();
    await scheduler.start();
    sweeper.start();
    ready = true;
    log.info({ address, dataDir: config.dataDir, ...buildInfo }, 'the hub listens');
  };

  return {
    name: 'hub',
    start,
    stop: async () => stop?.(),
    get address() {
      return address;
    },
  };
}
