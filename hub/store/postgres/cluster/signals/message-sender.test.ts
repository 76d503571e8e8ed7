import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { DatabaseFault } from '../../connection/database-fault.js';
import type { Database } from '../../connection/pool.js';
import { CLUSTER_TIMINGS } from '../common/timings.js';
import { MessageSender } from './message-sender.js';

const silent = () => undefined;

it('does not wait for its next try when it closes', async () => {
  const runtime = manualRuntime();
  let tries = 0;
  const rows = async () => {
    tries++;
    throw new DatabaseFault('UNREACHABLE', new Error('away'), { location: 'db', isOutcomeUnknown: false });
  };
  const sender = new MessageSender({
    ...{ hubId: 'own', incarnation: 'first', clock: runtime.clock, timers: runtime.timers },
    database: { rows } as unknown as Database,
    timings: CLUSTER_TIMINGS,
    log: { warn: silent, error: silent } as unknown as Logger,
  });
  const mark = sender.mark();
  await runtime.advance(1);
  expect(tries).toBe(1);
  await sender.close();
  expect(await mark).toBeNull();
  expect(tries).toBe(2);
});
