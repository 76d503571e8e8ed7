import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { Database } from '../../connection/pool.js';
import { CLUSTER_TIMINGS } from '../common/timings.js';
import { ControlConnection } from './control-connection.js';

it('hears what other hubs say, on its latest connection only', async () => {
  const runtime = manualRuntime();
  const listeners: ((payload: string) => void)[] = [];
  const ends: (() => void)[] = [];
  const connect = async () => ({
    listen: async (_: string, listener: (payload: string) => void) => void listeners.push(listener),
    close: async () => undefined,
    ended: new Promise<void>((resolve) => ends.push(resolve)),
  });
  const heard: string[] = [];
  const control = new ControlConnection({
    ...{ timers: runtime.timers, timings: CLUSTER_TIMINGS, channel: 'hubs' },
    database: { connect } as unknown as Database,
    log: { warn: () => undefined } as unknown as Logger,
  });
  await control.open({
    heard: (payload) => void heard.push(payload),
    reopened: () => void heard.push('reopened'),
  });
  listeners[0]?.('first');
  ends[0]?.();
  await runtime.advance(1);
  listeners[0]?.('late');
  listeners[1]?.('second');
  expect(heard).toEqual(['first', 'reopened', 'second']);
  control.close();
});

it('leaves no timer when it is closed while it waits to open again', async () => {
  const runtime = manualRuntime();
  let end = () => {};
  const first = {
    listen: async () => undefined,
    close: async () => undefined,
    ended: new Promise<void>((resolve) => {
      end = resolve;
    }),
  };
  const connections = [first];
  const connect = async () => {
    const connection = connections.shift();
    if (connection === undefined) throw new Error('the server does not respond');
    return connection;
  };
  const control = new ControlConnection({
    ...{ timers: runtime.timers, timings: CLUSTER_TIMINGS, channel: 'hubs' },
    database: { connect } as unknown as Database,
    log: { warn: () => undefined } as unknown as Logger,
  });
  await control.open({ heard: () => undefined, reopened: () => undefined });
  end();
  await runtime.advance(1);
  expect(runtime.pendingTimers).toBe(1);
  control.close();
  await runtime.advance(0);
  expect(runtime.pendingTimers).toBe(0);
});
