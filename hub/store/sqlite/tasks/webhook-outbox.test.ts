import { openLog } from '@workbench-hub/shared/runtime/logger';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import { newTaskWith } from '../../../core/fixtures/task.js';
import type { NotifyAddress } from '../../../core/task.js';
import { openSimulatedStore, type SimulatedStore } from '../fixtures/simulated-store.js';

const { log } = await openLog({ name: 'test', level: 'silent', file: null, rotation: null });
const RECEIVER = 'https://ci.example.org';
const NOTIFY = { url: `${RECEIVER}/hook`, receiver: RECEIVER };

let store: SimulatedStore;
/** Ends each sync that waits; they end at once unless the disk is slow. */
let syncs: (() => void)[];
let isSlow: boolean;
/** Number of next commits that fail. */
let failures: number;

beforeEach(() => {
  syncs = [];
  isSlow = false;
  failures = 0;
  const disk = {
    sync: () => (isSlow ? new Promise<void>((resolve) => syncs.push(resolve)) : Promise.resolve()),
    refusal: () => (failures-- > 0 ? ('SQLITE_FULL' as const) : undefined),
    onCommit: () => undefined,
    onSyncFailed: () => undefined,
  };
  store = openSimulatedStore(null, disk, systemRuntime.timers, log);
});

async function created(notify: NotifyAddress | null = NOTIFY): Promise<string> {
  const id = systemRuntime.newId();
  await store.queue.insert([newTaskWith({ id, notify })]);
  return id;
}

const cancel = (...ids: string[]) => store.queue.cancel(ids, ['WAITING'], 5);
const claim = () => store.webhooks.claim({ receiver: RECEIVER, dueUntilMs: 9, leaseUntilMs: 10, limit: 9 });
const committed = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('a delivery', () => {
  it('cannot be claimed before its end is durable', async () => {
    const id = await created();
    let told = 0;
    store.webhooks.watch(() => told++);
    isSlow = true;
    const canceled = cancel(id);
    await committed();
    expect(store.tasks()).toMatchObject([{ status: 'CANCELED' }]);
    expect([await store.webhooks.waiting(), await claim(), told]).toEqual([[], [], 0]);
    for (const end of syncs.splice(0)) end();
    await canceled;
    expect([await store.webhooks.waiting(), told]).toEqual([
      [{ receiver: RECEIVER, deliveries: 1, nextAtMs: 5 }],
      1,
    ]);
    expect(await claim()).toHaveLength(1);
  });

  it('is counted once, also when its transaction failed before', async () => {
    const [first, second] = [await created(), await created()];
    store.webhooks.subscribe([], 1);
    failures = 1;
    const both = [cancel(first), cancel(second)];
    await Promise.all(both);
    expect(await store.webhooks.waiting()).toMatchObject([{ deliveries: 1 }]);
    expect(await store.webhooks.takeRefused()).toEqual([{ receiver: RECEIVER, deliveries: 1 }]);
    failures = 2;
    expect(await Promise.allSettled([store.webhooks.giveUp(RECEIVER, 9, 9, 'down')])).toMatchObject([
      { status: 'rejected' },
    ]);
    expect(await store.webhooks.waiting()).toMatchObject([{ deliveries: 1 }]);
  });
});

it('does nothing while nobody is to be told', async () => {
  const id = await created(null);
  for (const table of ['task_notify', 'webhook_delivery']) store.tamper(`DROP TABLE ${table}`);
  expect(await cancel(id)).toEqual([true]);
});
