import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { DatabaseFault } from '../../connection/database-fault.js';
import type { Database, Statement } from '../../connection/pool.js';
import type { AgentHolders } from '../common/agent-holders.js';
import type { StatementRetries } from '../common/statement-retries.js';
import { ClusterRelay } from './cluster-relay.js';
import { REPLY, REQUESTS, type RequestRow } from './relay-statements.js';

const REQUEST: RequestRow = {
  ...{ id: 'late', agent_id: 'a', from_hub: 'other', left_ms: 0 },
  request: JSON.stringify({ kind: 'taskOutput', taskId: 't', known: null }),
};

it('knows a request without a reply until its row is gone, and no longer', async () => {
  const runtime = manualRuntime();
  const known: unknown[] = [];
  const asked: string[] = [];
  const rows = async ({ name }: Statement, values: readonly unknown[] = []): Promise<object[]> => {
    if (name === REPLY.name)
      throw new DatabaseFault('REFUSED', new Error('no'), { location: 'db', isOutcomeUnknown: false });
    if (name !== REQUESTS.name) return [];
    const ids = values[1] as readonly string[];
    known.push(ids);
    return [REQUEST, { ...REQUEST, id: 'refused', left_ms: 5000 }].filter(({ id }) => !ids.includes(id));
  };
  const relay = new ClusterRelay({
    ...{ database: { rows } as unknown as Database, clock: runtime.clock, timers: runtime.timers },
    retries: { run: (work: () => Promise<unknown>) => work() } as unknown as StatementRetries,
    holders: { ownId: 'own' } as Partial<AgentHolders> as AgentHolders,
    ...{ tell: () => undefined, incarnation: 'first', lapseMs: 15_000, pollMs: 1000 },
    log: { warn: () => undefined, error: () => undefined },
  });
  relay.serve(async (_, request) => {
    asked.push(request.kind);
    return { error: null, text: null };
  });
  const look = async () => {
    relay.look();
    await runtime.advance(1);
    return known.at(-1);
  };
  await look();
  expect(await look()).toEqual(['late', 'refused']);
  await runtime.advance(60_000);
  expect(await look()).toEqual(['late', 'refused']);
  expect(asked).toEqual(['taskOutput']);
  await runtime.advance(70_000);
  expect(await look()).toEqual([]);
});
