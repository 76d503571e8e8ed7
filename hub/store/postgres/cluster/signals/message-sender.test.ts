import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { DatabaseFault } from '../../connection/database-fault.js';
import type { Database } from '../../connection/pool.js';
import { CLUSTER_TIMINGS } from '../common/timings.js';
import { MessageSender } from './message-sender.js';
import { messageOf } from './messages.js';

const silent = () => undefined;

/** A sender over a database that runs its statements by `rows`. */
function senderOver(rows: (statement: unknown, values: readonly unknown[]) => Promise<unknown>) {
  const runtime = manualRuntime();
  const sender = new MessageSender({
    ...{ hubId: 'own', incarnation: 'first', clock: runtime.clock, timers: runtime.timers },
    database: { rows } as unknown as Database,
    timings: CLUSTER_TIMINGS,
    log: { warn: silent, error: silent } as unknown as Logger,
  });
  return { sender, runtime };
}

it('does not wait for its next try when it closes', async () => {
  let tries = 0;
  const { sender, runtime } = senderOver(async () => {
    tries++;
    throw new DatabaseFault('UNREACHABLE', new Error('away'), { location: 'db', isOutcomeUnknown: false });
  });
  const mark = sender.mark();
  await runtime.advance(1);
  expect(tries).toBe(1);
  await sender.close();
  expect(await mark).toBeNull();
  expect(tries).toBe(2);
});

it('sends more messages than one statement takes by several, each once and in their order', async () => {
  const statements: string[][] = [];
  const { sender, runtime } = senderOver(async (_, [payloads]) => {
    statements.push(payloads as string[]);
  });
  for (let at = 1; at <= 450; at++) sender.send({ mailTo: `hub-${at}` });
  const mark = sender.mark();
  await runtime.advance(1);
  expect(statements.map((payloads) => payloads.length)).toEqual([200, 200, 51]);
  const sent = statements.flat().map((payload) => messageOf(payload));
  expect(sent.map((message) => message?.number)).toEqual(sent.map((_, at) => at + 1));
  expect(sent.slice(0, -1).map((message) => message?.content.mailTo)).toEqual(
    sent.slice(0, -1).map((_, at) => `hub-${at + 1}`),
  );
  expect(await mark).toBe(451);
});
