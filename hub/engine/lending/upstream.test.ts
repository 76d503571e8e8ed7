import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { Hub, HubConnection, HubListener } from '@workbench-hub/shared/joining/ports/hub';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { Upstream, type UpstreamPorts } from './upstream.js';

const SIM = { type: 'SIMULATE_WORK', durationS: 1 } as const;

/** An upstream that joins at once, and acknowledges nothing. */
function silentHub() {
  const sent: AttemptReport[] = [];
  const closed: string[] = [];
  const listeners: HubListener[] = [];
  const hub: Hub = {
    addresses: ['ws://hq'],
    nodeId: 'site',
    join: (_, listener) =>
      new Promise((resolve) => {
        const ended = new AbortController();
        const connection: Partial<HubConnection> = {
          ended: ended.signal,
          inlineBlobBytes: 0,
          isOutputStorageOn: false,
          isCongested: () => false,
          sendInstance: () => undefined,
          sendReport: (report) => void sent.push(report),
          close: async (reason) => {
            closed.push(reason);
            ended.abort();
            resolve(reason);
          },
        };
        listener.introduce();
        listeners.push(listener);
        listener.onJoined(connection as HubConnection);
      }),
  };
  return { hub, sent, closed, assign: (number: number) => listeners.at(-1)?.onAssign(assignment(number)) };
}

const assignment = (number: number) => ({
  ref: { taskId: `task-${number}`, attempt: 1, instanceId: 'berlin:press' },
  timeLimitMs: null,
  job: SIM,
});

it('an upstream that assigns without end and acknowledges nothing is left, and takes no more memory', async () => {
  const runtime = manualRuntime();
  const { hub, sent, closed, assign } = silentHub();
  const instances = {
    list: () => [],
    find: () => undefined,
    idleInstance: () => undefined,
    agents: () => [],
  };
  const lend = {
    labels: [],
    instances: [],
    max: null,
    takeBackMs: null,
    isAlways: false,
    hours: [],
    hasHosts: true,
  };
  const errors: string[] = [];
  const log = {
    child: () => log,
    info: () => undefined,
    warn: () => undefined,
    error: (_: unknown, message: string) => void errors.push(message),
  };
  const ports = { instances, runtime, log, ownHub: { id: 'site', baseUrl: null }, isPaused: () => false };
  const settings = { name: 'hq', agentId: 'berlin', prefix: 'berlin:', lend };
  const upstream = new Upstream(settings, hub, ports as unknown as UpstreamPorts);
  await upstream.start([]);
  await runtime.advance(0);
  for (let number = 0; number < 5000; number++) assign(number);
  await runtime.advance(1);
  expect(sent).toHaveLength(1000);
  expect(sent[0]).toMatchObject({ taskId: 'task-0', outcome: 'RETURNED' });
  expect(closed).toEqual(['a flood of assignments']);
  expect(errors).toEqual([expect.stringContaining('assigns more than this hub lends')]);
  await upstream.stop();
});
