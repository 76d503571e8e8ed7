import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { DatabaseFault } from '../../connection/database-fault.js';
import type { Database } from '../../connection/pool.js';
import { CLUSTER_TIMINGS } from '../common/timings.js';
import { Outbox } from './outbox.js';

const silent = () => undefined;

it('does not wait for its next try when it closes', async () => {
  const runtime = manualRuntime();
  let tries = 0;
  const rows = async () => {
    tries++;
    throw new DatabaseFault('UNREACHABLE', new Error('away'), { location: 'db', isOutcomeUnknown: false });
  };
  const outbox = new Outbox({
    ...{ hubId: 'own', incarnation: 'first', clock: runtime.clock, timers: runtime.timers },
    database: { rows } as unknown as Database,
    timings: CLUSTER_TIMINGS,
    log: { warn: silent, error: silent } as unknown as Logger,
  });
  const mark = outbox.mark();
  await runtime.advance(1);
  expect(tries).toBe(1);
  await outbox.close();
  expect(await mark).toBeNull();
  expect(tries).toBe(2);
});
